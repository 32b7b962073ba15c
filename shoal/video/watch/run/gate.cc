#include "shoal/video/watch/run/gate.h"

#include <cmath>
#include <utility>

#include "shoal/video/track/assignment.h"

namespace shoal::watch {

Agreement compare(const std::vector<detect::Detection>& a,
                  const std::vector<detect::Detection>& b) {
  constexpr float kLeastOverlap = 0.5F;
  track::Costs costs{.rows = a.size(), .columns = b.size()};
  for (const detect::Detection& detection : a) {
    for (const detect::Detection& other : b) {
      const bool same = detection.label == other.label &&
                        detect::overlap(detection.box, other.box) >= kLeastOverlap;
      costs.values.push_back(same ? -1 : 0);
    }
  }
  double same = 0;
  const std::vector<size_t> column_of = track::assign(costs, 1);
  for (size_t r = 0; r < a.size(); ++r) {
    if (column_of[r] != track::kUnassigned) same -= costs.at(r, column_of[r]);
  }
  return {same, static_cast<double>(a.size() + b.size()) - 2 * same};
}

std::vector<float> brightness(const Tensor& image, int64_t side) {
  const int64_t height = image.shape()[0], width = image.shape()[1];
  const int64_t columns = (width + side - 1) / side, rows = (height + side - 1) / side;
  const uint8_t* const pixels = image.data<uint8_t>().data();
  std::vector<uint32_t> sums(static_cast<size_t>(columns));
  std::vector<float> means;
  means.reserve(static_cast<size_t>(rows * columns));
  for (int64_t top = 0; top < height; top += side) {
    const int64_t lines = std::min(side, height - top);
    std::ranges::fill(sums, 0u);
    for (int64_t y = top; y < top + lines; ++y) {
      const uint8_t* at = pixels + y * width * 3;
      for (int64_t column = 0; column < columns; ++column) {
        uint32_t sum = 0;  // of all three: brightness times 3
        const uint8_t* const end = at + 3 * std::min(side, width - column * side);
        for (; at < end; ++at) sum += *at;
        sums[static_cast<size_t>(column)] += sum;
      }
    }
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t count = 3 * lines * std::min(side, width - column * side);
      means.push_back(static_cast<float>(sums[static_cast<size_t>(column)]) /
                      static_cast<float>(count));
    }
  }
  return means;
}

GateDecision Gate::decide(const Tensor& image, bool must_look) {
  std::vector<float> now = brightness(image, options_.side);
  GateDecision decision;
  if (image.shape()[0] == height_ && image.shape()[1] == width_) {
    std::vector<float> differences(now.size());
    for (size_t i = 0; i < now.size(); ++i) differences[i] = now[i] - seen_[i];
    std::vector<float> sorted = differences;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::ranges::nth_element(sorted, middle);
    const float light = *middle;
    const auto changed = std::ranges::count_if(differences, [&](float difference) {
      return std::abs(difference - light) > options_.threshold;
    });
    decision.changed = static_cast<double>(changed) / static_cast<double>(now.size());
    decision.look = must_look || decision.changed > share_ || without_ >= rest_ ||
                    doubtful_ >= options_.longest_doubt;
  }
  if (!decision.look) {
    ++without_;
    if (decision.changed > 0) ++doubtful_;
    return decision;
  }
  at_rest_ = decision.changed == 0;
  without_ = 0;
  skipped_ = std::exchange(doubtful_, 0);
  height_ = image.shape()[0];
  width_ = image.shape()[1];
  seen_ = std::move(now);
  return decision;
}

void Gate::learn(const Agreement& at_look) {
  constexpr double kKept = 0.99;  // of what is known, a frame later
  constexpr double kUpEmpty = 1.03, kDown = 0.8, kMost = 0.1;
  constexpr double kMargin = 0.005;
  const bool as_expected = at_look.f1() >= options_.agreement;
  rest_ = as_expected && at_rest_ ? std::min(2 * rest_, options_.longest) : first_rest();
  const bool empty = at_look.same + at_look.different == 0;
  if (!empty) {
    const auto skipped = static_cast<double>(skipped_);
    // What is different at the look came gradually.
    const double different = at_look.different / 2;
    estimated_ = std::pow(kKept, skipped + 1) * estimated_;
    estimated_ += skipped * Agreement{at_look.same + different / 2, different};
    estimated_.same += at_look.same + different;  // the look itself, with about as many boxes
  }
  if (estimated_.f1() < options_.agreement + kMargin) {
    share_ = std::max(share_ * kDown, options_.least_share);
  } else if (as_expected) {
    const double square = 1 / static_cast<double>(seen_.size());
    share_ = std::min(std::max(share_, square) * (empty ? kUpEmpty : options_.growth), kMost);
  }
}

}  // namespace shoal::watch
