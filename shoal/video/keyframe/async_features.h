// AsyncFeatures: features of key frames, computed on a thread of their own, while frames are
// answered from the last that are complete (async_keys.h decides).
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/threads/task_thread.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/video/keyframe/async_keys.h"
#include "shoal/video/keyframe/flow.h"

namespace shoal::keyframe {

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

  // The next frame, of a larger number than those before. The key frame to answer it from, which is
  // never newer: waits only if there is none, and the frame is then its own. Fails as `compute` did
  // since the last call.
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
