#include "shoal/video/detect/precision.h"

#include <algorithm>
#include <array>

namespace shoal::detect {
namespace {

float least_overlap(size_t step) { return 0.5F + 0.05F * static_cast<float>(step); }

}  // namespace

void Precision::add(const std::vector<Detection>& detections, const std::vector<Truth>& truth) {
  ++images_;
  std::map<int64_t, std::vector<Box>> truths;
  for (const Truth& one : truth) {
    truths[one.label].push_back(one.box);
    ++classes_[one.label].truths;
  }
  std::array<std::map<int64_t, std::vector<bool>>, kOverlaps> taken;
  for (size_t i = 0; i < std::min(detections.size(), kMost); ++i) {
    const Detection& detection = detections[i];
    const std::vector<Box>& boxes = truths[detection.label];
    Verdict verdict{detection.score, std::vector<bool>(kOverlaps, false)};
    for (size_t step = 0; step < kOverlaps; ++step) {
      std::vector<bool>& met = taken[step][detection.label];
      met.resize(boxes.size());
      float best = least_overlap(step);
      size_t which = boxes.size();
      for (size_t b = 0; b < boxes.size(); ++b) {
        const float shared = met[b] ? 0 : overlap(detection.box, boxes[b]);
        if (shared < best) continue;
        best = shared;
        which = b;
      }
      if (which == boxes.size()) continue;
      met[which] = true;
      verdict.right[step] = true;
    }
    classes_[detection.label].verdicts.push_back(std::move(verdict));
  }
}

double Precision::average_precision(int64_t label, size_t step) const {
  constexpr size_t kRecalls = 101;
  const auto known = classes_.find(label);
  if (known == classes_.end() || known->second.truths == 0) return 0;
  std::vector<const Verdict*> order;
  for (const Verdict& verdict : known->second.verdicts) order.push_back(&verdict);
  std::ranges::stable_sort(order, std::greater<>(), &Verdict::score);
  const auto truths = static_cast<double>(known->second.truths);
  std::vector<double> recall, precision;
  double right = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    right += order[i]->right[step] ? 1 : 0;
    recall.push_back(right / truths);
    precision.push_back(right / static_cast<double>(i + 1));
  }
  for (size_t i = precision.size(); i-- > 1;) {
    precision[i - 1] = std::max(precision[i - 1], precision[i]);
  }
  double sum = 0;
  for (size_t r = 0; r < kRecalls; ++r) {
    const double wanted = static_cast<double>(r) / (kRecalls - 1);
    const auto at = std::ranges::lower_bound(recall, wanted - 1e-9);
    if (at != recall.end()) sum += precision[static_cast<size_t>(at - recall.begin())];
  }
  return 100 * sum / kRecalls;
}

double Precision::mean(size_t first, size_t last) const {
  double sum = 0;
  size_t count = 0;
  for (const auto& [label, one] : classes_) {
    if (one.truths == 0) continue;
    for (size_t step = first; step < last; ++step) sum += average_precision(label, step);
    count += last - first;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

}  // namespace shoal::detect
