#include "shoal/shrink/branches/channel_shares.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace shoal::branch {
namespace {

// The units of a group, such that a branch's share of them lies side by side.
std::vector<size_t> in_order(const compress::Group& group, const BranchOptions& options) {
  std::vector<size_t> units(group.size());
  std::iota(units.begin(), units.end(), group.begin);
  if (options.worth.empty()) return units;
  std::ranges::stable_sort(units, std::greater(), [&](size_t unit) { return options.worth[unit]; });
  std::vector<size_t> dealt;
  const size_t branches = options.widths.size();
  for (size_t first = 0; first < branches; ++first) {
    for (size_t i = first; i < units.size(); i += branches) dealt.push_back(units[i]);
  }
  return dealt;
}

}  // namespace

std::vector<size_t> units_without(const compress::Groups& groups, const BranchOptions& options,
                                  size_t branch) {
  const auto first = options.widths.begin();
  const double all = std::accumulate(first, options.widths.end(), 0.0);
  const double before = std::accumulate(first, first + static_cast<ptrdiff_t>(branch), 0.0);
  std::vector<size_t> units;
  for (const compress::Group& group : groups.groups) {
    const std::vector<size_t> order = in_order(group, options);
    const auto count = static_cast<double>(group.size());
    const double narrow = std::max(1.0, std::floor(count * options.widths[branch] / all));
    const double factor = options.factors.empty() ? 1 : options.factors[branch];
    const double fat = factor * narrow * (100 + options.fatten) / 100;
    const double rounded = options.round_down ? std::floor(fat) : std::round(fat);
    const size_t width = std::min(group.size(), static_cast<size_t>(std::max(1.0, rounded)));
    const auto begin = static_cast<size_t>(std::floor(count * before / all));
    for (size_t i = width; i < group.size(); ++i) {
      units.push_back(order[(begin + i) % group.size()]);
    }
  }
  return units;
}

}  // namespace shoal::branch
