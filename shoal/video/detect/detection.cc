#include "shoal/video/detect/detection.h"

#include <algorithm>

namespace shoal::detect {

float overlap(const Box& a, const Box& b) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0 && height > 0)) return 0;
  const float both = width * height;
  return both / (a.width() * a.height() + b.width() * b.height() - both);
}

std::vector<Detection> suppress(std::vector<Detection> all, const Suppression& suppression) {
  std::erase_if(all, [&](const Detection& detection) {
    return !(detection.score >= suppression.least_score);
  });
  std::ranges::stable_sort(all, std::greater<>(), &Detection::score);
  all.resize(std::min(all.size(), suppression.candidates));
  std::vector<Detection> kept;
  for (const Detection& one : all) {
    const bool covered = std::ranges::any_of(kept, [&](const Detection& better) {
      return better.label == one.label && overlap(better.box, one.box) > suppression.most_overlap;
    });
    if (covered) continue;
    kept.push_back(one);
    if (kept.size() == suppression.most) break;
  }
  return kept;
}

}  // namespace shoal::detect
