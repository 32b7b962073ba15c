#include "shoal/video/keyframe/async_keys.h"

#include <utility>

#include "shoal/base/round_up.h"
#include "shoal/base/status.h"

namespace shoal::keyframe {

int64_t feature_delay(int64_t features_us, int64_t frame_us) {
  return ceil_div(features_us, frame_us);
}

// A stream without a reference begins with a key frame.
AsyncKeys::Decision AsyncKeys::on_frame(size_t frame, bool is_key) {
  Decision decision{.start = false, .reference = published_};
  if (!is_key && published_) return decision;
  if (computing_) {
    waiting_ = frame;
  } else {
    computing_ = frame;
    decision.start = true;
  }
  return decision;
}

std::optional<size_t> AsyncKeys::on_features(bool complete) {
  SHOAL_CHECK(computing_.has_value());
  if (complete) published_ = computing_;
  computing_ = std::exchange(waiting_, std::nullopt);
  return computing_;
}

}  // namespace shoal::keyframe
