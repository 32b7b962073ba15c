// AsyncKeys: which key frame each frame is answered from, while features of the next one are still
// computed (ADFF [Mao 2019]).
//
// Every frame is answered from the last key frame whose features are complete, so no frame waits
// for features but the first. One key frame is computed at a time; of those that come meanwhile the
// newest waits. With T the time of features and t that of a frame, features are D = ceil(T / t)
// frames late, and with a key frame every n >= D frames the furthest one is n - 1 + D frames away.
// Decides only: events in, actions out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace shoal::keyframe {

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
  // Features of the frame that was started are complete, or will never be: then it is no reference.
  // The frame to start now, if one waits.
  std::optional<size_t> on_features(bool complete = true);

  // The key frame that is computed now.
  std::optional<size_t> computing() const { return computing_; }

 private:
  std::optional<size_t> published_, computing_, waiting_;
};

}  // namespace shoal::keyframe
