// Worth by magnitude, after Fang et al., "DepGraph" (2023): the squares of all slices that go
// together are added up, because they go together. Units are given up from the least on; how many
// is found by bisection, because work only falls with each of them.
#include "shoal/compress/importance.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "shoal/compress/remove.h"
#include "shoal/graph/parameter.h"

namespace shoal::compress {
namespace {

std::vector<bool> learned_values(const Graph& graph) {
  std::vector<bool> learned(graph.value_count());
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_parameter(graph, node, i)) learned[static_cast<size_t>(node.inputs[i])] = true;
    }
  }
  return learned;
}

// For each axis and index of a tensor, the sum of the squares of its slice.
std::vector<std::vector<double>> squares_of(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  std::vector<std::vector<double>> sums;
  for (int64_t dim : shape) sums.emplace_back(static_cast<size_t>(dim));
  visit<Floats>(tensor.dtype(), [&]<class T>() {
    const std::span<const T> elements = tensor.data<T>();
    for (size_t axis = 0; axis < sums.size(); ++axis) {
      const auto inner = static_cast<size_t>(shape.count(axis + 1, shape.rank()));
      for (size_t begin = 0, run = 0; begin < elements.size(); begin += inner, ++run) {
        double sum = 0;
        for (T x : elements.subspan(begin, inner)) {
          sum += static_cast<double>(x) * static_cast<double>(x);
        }
        sums[axis][run % sums[axis].size()] += sum;
      }
    }
  });
  return sums;
}

std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

// The units from the least on, without the last one of each group.
std::vector<size_t> removable(const Groups& groups, std::span<const double> worth) {
  std::vector<size_t> order(groups.units.size()), group_of(groups.units.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t unit) { return worth[unit]; });
  std::vector<size_t> left;
  for (size_t g = 0; g < groups.groups.size(); ++g) {
    left.push_back(groups.groups[g].size());
    for (size_t unit = groups.groups[g].begin; unit < groups.groups[g].end; ++unit) {
      group_of[unit] = g;
    }
  }
  std::erase_if(order, [&](size_t unit) {
    size_t& of_group = left[group_of[unit]];
    if (of_group == 1) return true;
    --of_group;
    return false;
  });
  return order;
}

// The least number of units, from the first on, without which the work is at most `most`.
Result<size_t> units_for_work(const Graph& graph, const Groups& groups,
                              std::span<const size_t> units, double most) {
  size_t low = 0, high = units.size();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    SHOAL_ASSIGN(const int64_t macs, macs_without(graph, groups, units.first(middle)));
    if (static_cast<double>(macs) <= most) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

std::vector<double> magnitudes(const Graph& graph, const Groups& groups) {
  std::vector<double> worth(groups.units.size());
  const std::vector<bool> learned = learned_values(graph);
  std::vector<std::vector<std::vector<double>>> squares(graph.value_count());
  for (size_t unit = 0; unit < worth.size(); ++unit) {
    for (const Cell& cell : groups.units[unit].cells) {
      const auto value = static_cast<size_t>(cell.value);
      if (!learned[value]) continue;
      if (squares[value].empty()) squares[value] = squares_of(*graph[cell.value].constant);
      worth[unit] += squares[value][cell.axis][static_cast<size_t>(cell.index)];
    }
  }
  for (const Group& group : groups.groups) {
    const auto units = std::span(worth).subspan(group.begin, group.size());
    const double sum = std::accumulate(units.begin(), units.end(), 0.0);
    if (!(sum > 0)) continue;
    for (double& unit : units) unit *= static_cast<double>(units.size()) / sum;
  }
  return worth;
}

std::vector<double> random_worth(const Groups& groups, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<double> worth(groups.units.size());
  for (double& unit : worth) unit = static_cast<double>(rng());
  return worth;
}

Result<std::vector<size_t>> choose(const Graph& graph, const Groups& groups,
                                   std::span<const double> worth, const Target& target) {
  for (double share : {target.units, target.macs}) {
    if (!(share > 0 && share <= 1)) return invalid("a target is a share in (0, 1]");
  }
  std::vector<size_t> units = removable(groups, worth);
  const auto all = static_cast<double>(groups.units.size());
  const auto fewest = static_cast<size_t>(std::ceil(all - target.units * all - 1e-9));
  if (fewest > units.size()) {
    return Status(Code::kUnsupported, "one unit of each group must stay, which is " +
                                          percent((all - static_cast<double>(units.size())) / all) +
                                          " of them");
  }
  SHOAL_ASSIGN(const int64_t macs, macs_without(graph, groups, {}));
  const double most = target.macs * static_cast<double>(macs);
  SHOAL_ASSIGN(const size_t enough, units_for_work(graph, groups, units, most));
  SHOAL_ASSIGN(const int64_t least, macs_without(graph, groups, units));
  if (static_cast<double>(least) > most) {
    return Status(Code::kUnsupported,
                  "at least " + percent(static_cast<double>(least) / static_cast<double>(macs)) +
                      " of the multiply-accumulates must stay");
  }
  units.resize(std::max(fewest, enough));
  return units;
}

}  // namespace shoal::compress
