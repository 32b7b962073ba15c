// The smallest T with sum_i floor(T / s_i) >= total is found by giving the micro-batches away one
// after the other, each to the worker that would be done with it first: no other choice ends
// earlier. All but the last few are given at once, in proportion to speed.
#include "shoal/train/distributed/schedule/shares.h"

#include <algorithm>
#include <cmath>

#include "shoal/base/status.h"

namespace shoal::learn {

std::vector<int64_t> shares_of(std::span<const double> seconds, int64_t total) {
  SHOAL_CHECK(!seconds.empty() && total >= 0);
  double speed = 0;
  for (double s : seconds) speed += 1 / s;
  std::vector<int64_t> shares;
  int64_t left = total;
  for (double s : seconds) {
    // Rounded down: nobody has more than in the best split, which takes at least total / speed.
    shares.push_back(static_cast<int64_t>(std::floor(static_cast<double>(total) / (s * speed))));
    left -= shares.back();
  }
  for (; left > 0; --left) {
    size_t best = 0;
    for (size_t i = 1; i < seconds.size(); ++i) {
      const auto end = [&](size_t k) { return static_cast<double>(shares[k] + 1) * seconds[k]; };
      if (end(i) < end(best)) best = i;
    }
    ++shares[best];
  }
  return shares;
}

}  // namespace shoal::learn
