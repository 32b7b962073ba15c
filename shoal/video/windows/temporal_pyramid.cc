#include "shoal/video/windows/temporal_pyramid.h"

#include <algorithm>

namespace shoal::windows {

std::vector<float> temporal_pyramid(std::span<const Tensor> items, size_t levels) {
  SHOAL_CHECK(!items.empty() && levels > 0 && levels < 16);
  std::vector<float> maxima;
  for (size_t level = 0; level < levels; ++level) {
    const size_t ranges = size_t{1} << level;
    for (size_t r = 0; r < ranges; ++r) {
      const size_t begin = r * items.size() / ranges;
      const size_t end = std::max(begin + 1, (r + 1) * items.size() / ranges);
      const auto first = items[begin].data<float>();
      std::vector<float> most(first.begin(), first.end());
      for (size_t i = begin + 1; i < end; ++i) {
        const auto features = items[i].data<float>();
        SHOAL_CHECK(features.size() == most.size());
        for (size_t k = 0; k < most.size(); ++k) most[k] = std::max(most[k], features[k]);
      }
      maxima.insert(maxima.end(), most.begin(), most.end());
    }
  }
  return maxima;
}

}  // namespace shoal::windows
