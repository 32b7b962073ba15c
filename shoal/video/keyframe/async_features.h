// AsyncFeatures: computes features of key frames on a thread of their own, while frames are
// answered from the last complete ones (AsyncKeys decides).
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/threads/task_thread.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/video/keyframe/flow.h"

namespace shoal::keyframe {

// AsyncKeys: the key frame from which each frame is answered, while features of the next are
// computed (ADFF [Mao 2019]).
//
// Every frame is answered from the last key frame with complete features; only the first waits. One
// key frame is computed at a time; the newest of the others waits. With T the time of features and
// t that of a frame, features are D = ceil(T / t) frames late, and with a key frame every n >= D
// frames at most n - 1 + D frames old. No threads or I/O.

// Frames by which features are late: D above. REQUIRES: frame_us > 0.
int64_t feature_delay(int64_t features_us, int64_t frame_us);

// A value. Thread-compatible.
class AsyncKeys {
 public:
  // What to do about a frame.
  struct Decision {
    bool start = false;                    // compute its features now
    std::optional<size_t> reference = {};  // answer from this key frame; none: wait for features
  };

  // The next frame, of a larger number than those before.
  Decision on_frame(size_t frame, bool is_key);
  // Features of the started frame are complete, or failed: then it is no reference. Returns the
  // frame to start now, if one waits.
  std::optional<size_t> on_features(bool complete = true);

  // The key frame that is computed now.
  std::optional<size_t> computing() const { return computing_; }

 private:
  std::optional<size_t> published_, computing_, waiting_;
};

// A frame as others are matched with it.
struct KeyImage {
  size_t frame = 0;
  GreyRange range = {};
  Luma luma = {};  // of that range
};

// A frame that others are answered from. Never changed once others see it.
struct Key {
  KeyImage image = {};
  std::vector<Tensor> features = {};
};

// What a network computes of its input.
using Compute = std::function<Result<std::vector<Tensor>>(const Tensor& input)>;

// One thread calls it; `compute` runs on another.
class AsyncFeatures {
 public:
  explicit AsyncFeatures(Compute compute);

  // The newest key frame whose features are complete; null: there is none.
  std::shared_ptr<const Key> latest() const;

  // The next frame, in order. Returns the key frame to answer it from, never a newer one: waits
  // only if there is none, and the frame is then its own. Fails as `compute` did since the last
  // call.
  Result<std::shared_ptr<const Key>> next(const KeyImage& image, bool is_key, const Tensor& input);

 private:
  // A frame whose features are to be computed.
  struct Wanted {
    KeyImage image = {};
    Tensor input = {};
  };

  void start();
  void run(const Wanted& wanted);

  const Compute compute_;
  mutable std::mutex mutex_;  // never held while features are computed
  std::condition_variable changed_;
  AsyncKeys keys_;
  std::optional<Wanted> wanted_;  // the one that waits
  std::shared_ptr<const Key> latest_;
  Status failure_;
  TaskThread thread_;  // last: it uses the rest
};

}  // namespace shoal::keyframe
