#include "shoal/video/keyframe/key_schedule.h"

#include <algorithm>
#include <cmath>

namespace shoal::keyframe {

Status check(const KeyScheduleOptions& options) {
  if (options.least < 1 || options.least > options.most) {
    return invalid("the least interval between key frames is from 1 to the longest");
  }
  if (!(options.low >= 0) || !(options.low < options.high)) {
    return invalid("motion between key frames goes from one that is not negative to a larger one");
  }
  return {};
}

size_t interval_for(double motion, const KeyScheduleOptions& options) {
  const double t = std::clamp((motion - options.low) / (options.high - options.low), 0.0, 1.0);
  const auto most = static_cast<double>(options.most), least = static_cast<double>(options.least);
  return static_cast<size_t>(std::lround(most - t * (most - least)));
}

bool KeySchedule::next(const Motion& motion) {
  const bool is_key = since_key_ == 0 || since_key_ >= interval_for(motion.mean, options_) ||
                      motion.residual >= options_.cut_residual;
  since_key_ = is_key ? 1 : since_key_ + 1;
  return is_key;
}

void MotionSum::add(const Flow& flow) {
  if (sum_.height != flow.height || sum_.width != flow.width) {
    sum_ = flow;
    return;
  }
  for (size_t i = 0; i < sum_.vectors.size(); ++i) {
    sum_.vectors[i].x += flow.vectors[i].x;
    sum_.vectors[i].y += flow.vectors[i].y;
  }
  sum_.residual = flow.residual;
}

}  // namespace shoal::keyframe
