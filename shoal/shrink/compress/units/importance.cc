// Worth by magnitude, after Fang et al., "DepGraph" (2023): the squares of all slices that go
// together are added up. The number of units to remove is found by bisection, because work only
// falls.
#include "shoal/shrink/compress/units/importance.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "shoal/shrink/compress/analysis/product.h"
#include "shoal/shrink/compress/units/remove.h"

namespace shoal::compress {
namespace {

// For each axis and index of a tensor, the sum over its slice of the products with another tensor's
// elements.
std::vector<std::vector<double>> products_of(const Tensor& tensor, const Tensor& other) {
  const Shape& shape = tensor.shape();
  std::vector<std::vector<double>> sums;
  for (int64_t dim : shape) sums.emplace_back(static_cast<size_t>(dim));
  visit<Floats>(tensor.dtype(), [&]<class T>() {
    const std::span<const T> elements = tensor.data<T>(), factors = other.data<T>();
    for (size_t axis = 0; axis < sums.size(); ++axis) {
      const auto inner = static_cast<size_t>(shape.count(axis + 1, shape.rank()));
      for (size_t begin = 0, run = 0; begin < elements.size(); begin += inner, ++run) {
        double sum = 0;
        for (size_t i = begin; i < begin + inner; ++i) {
          sum += static_cast<double>(elements[i]) * static_cast<double>(factors[i]);
        }
        sums[axis][run % sums[axis].size()] += sum;
      }
    }
  });
  return sums;
}

// Adds up, for every unit, what `of_slice` makes of the products of its weights' slices with those
// of `factors`, which gives a tensor of the same type; null: the weights do not count.
std::vector<double> sums_of_units(const Graph& graph, const Groups& groups,
                                  const std::function<const Tensor*(const Value&)>& factors,
                                  double (*of_slice)(double)) {
  std::vector<double> sums(groups.units.size());
  const std::vector<bool> learned = learned_values(graph);
  std::vector<std::vector<std::vector<double>>> products(graph.value_count());
  for (size_t unit = 0; unit < sums.size(); ++unit) {
    for (const Cell& cell : groups.units[unit].cells) {
      const auto value = static_cast<size_t>(cell.value);
      if (!learned[value]) continue;
      const Tensor* other = factors(graph[cell.value]);
      if (other == nullptr) continue;
      if (products[value].empty()) {
        products[value] = products_of(*graph[cell.value].constant, *other);
      }
      sums[unit] += of_slice(products[value][cell.axis][static_cast<size_t>(cell.index)]);
    }
  }
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

Result<size_t> units_for(const Graph& graph, const Groups& groups, std::span<const size_t> units,
                         const Size& before, const Target& target) {
  size_t low = 0, high = units.size();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    SHOAL_ASSIGN(const Size now, size_without(graph, groups, units.first(middle)));
    if (meets(now, before, target)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

struct Cost {
  const char* name;
  int64_t Size::*of;
  double Target::*most;
};

constexpr Cost kCosts[] = {{"multiply-accumulates", &Size::macs, &Target::macs},
                           {"parameters", &Size::parameters, &Target::parameters},
                           {"bytes", &Size::bytes, &Target::bytes}};

// The target of this cost alone.
Target alone(const Target& target, const Cost& cost) {
  Target only;
  only.*cost.most = target.*cost.most;
  return only;
}

// The share of the costs that a step saves, of those that do not meet the target before it. A step
// that saves nothing of them is a long way round, and where only units count, all steps are alike.
double saving(const Size& now, const Size& then, const Size& before, const Target& target) {
  constexpr double kLeast = 1e-12;
  if (target.units < 1) return 1;
  double share = 0;
  for (const Cost& cost : kCosts) {
    if (meets(now, before, alone(target, cost))) continue;
    share +=
        static_cast<double>(now.*cost.of - then.*cost.of) / static_cast<double>(before.*cost.of);
  }
  return std::max(share, kLeast);
}

// Why a network of this size, the least there is, does not meet the target.
Status too_large(const Size& least, const Size& before, const Target& target) {
  for (const Cost& cost : kCosts) {
    if (meets(least, before, alone(target, cost))) continue;
    const double share = static_cast<double>(least.*cost.of) / static_cast<double>(before.*cost.of);
    return Status(Code::kUnsupported,
                  "at least " + percent(share) + " of the " + cost.name + " must stay");
  }
  return {};
}

}  // namespace

std::vector<double> magnitudes(const Graph& graph, const Groups& groups) {
  std::vector<double> worth = sums_of_units(
      graph, groups, [](const Value& weights) { return &*weights.constant; },
      [](double squares) { return squares; });
  for (const Group& group : groups.groups) {
    const auto units = std::span(worth).subspan(group.begin, group.size());
    const double sum = std::accumulate(units.begin(), units.end(), 0.0);
    if (!(sum > 0)) continue;
    for (double& unit : units) unit *= static_cast<double>(units.size()) / sum;
  }
  return worth;
}

// Layers do not cancel each other out: each slice is squared by itself.
std::vector<double> taylor(const Graph& graph, const Groups& groups,
                           const std::map<std::string, Tensor>& gradients) {
  const auto gradient_of = [&](const Value& weights) {
    const auto position = gradients.find(weights.name);
    return position == gradients.end() ? nullptr : &position->second;
  };
  return sums_of_units(graph, groups, gradient_of, [](double change) { return change * change; });
}

// Units of a group have equally many indices of the same axes, so one of them stands for all.
Result<std::vector<double>> per_saving(const Graph& graph, const Groups& groups,
                                       std::span<const double> worth, const Target& target,
                                       std::span<const size_t> gone) {
  std::vector<double> result(worth.begin(), worth.end());
  for (size_t unit : gone) result[unit] = -std::numeric_limits<double>::infinity();
  SHOAL_ASSIGN(const Size before, size_without(graph, groups, {}));
  SHOAL_ASSIGN(const Size now, size_without(graph, groups, gone));
  std::vector<size_t> more(gone.begin(), gone.end());
  more.emplace_back();
  for (const Group& group : groups.groups) {
    std::vector<size_t> left;
    for (size_t unit = group.begin; unit < group.end; ++unit) {
      if (std::ranges::find(gone, unit) == gone.end()) left.push_back(unit);
    }
    if (left.size() < 2) continue;  // the last one stays
    more.back() = left[0];
    SHOAL_ASSIGN(const Size then, size_without(graph, groups, more));
    const double factor = static_cast<double>(group.size()) / static_cast<double>(left.size()) /
                          saving(now, then, before, target);
    for (size_t unit : left) result[unit] *= factor;
  }
  return result;
}

std::vector<double> random_worth(const Groups& groups, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<double> worth(groups.units.size());
  for (double& unit : worth) unit = static_cast<double>(rng());
  return worth;
}

Result<std::vector<size_t>> choose(const Graph& graph, const Groups& groups,
                                   std::span<const double> worth, const Target& target) {
  SHOAL_TRY(check(target));
  std::vector<size_t> units = removable(groups, worth);
  const auto all = static_cast<double>(groups.units.size());
  const auto fewest = static_cast<size_t>(std::ceil(all - target.units * all - 1e-9));
  if (fewest > units.size()) {
    return Status(Code::kUnsupported, "one unit of each group must stay, which is " +
                                          percent((all - static_cast<double>(units.size())) / all) +
                                          " of them");
  }
  SHOAL_ASSIGN(const Size before, size_without(graph, groups, {}));
  SHOAL_ASSIGN(const size_t enough, units_for(graph, groups, units, before, target));
  SHOAL_ASSIGN(const Size least, size_without(graph, groups, units));
  SHOAL_TRY(too_large(least, before, target));
  units.resize(std::max(fewest, enough));
  return units;
}

}  // namespace shoal::compress
