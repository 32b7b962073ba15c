// The units of a group have equally many indices of the same axes. So the k-th index of a unit on
// an axis replaces the k-th of another, in every constant that both have slices of. Values between
// nodes are permuted by that alone.
#include "shoal/shrink/compress/units/nest.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "shoal/model/passes/rewriter.h"

namespace shoal::compress {
namespace {

using Indices = std::vector<std::vector<int64_t>>;  // per axis, where each index comes from

Indices unchanged(const Shape& shape) {
  Indices indices;
  for (int64_t dim : shape) {
    indices.emplace_back(static_cast<size_t>(dim));
    std::iota(indices.back().begin(), indices.back().end(), int64_t{0});
  }
  return indices;
}

std::vector<size_t> order_of(const Group& group, std::span<const double> worth) {
  std::vector<size_t> order(group.size());
  std::iota(order.begin(), order.end(), group.begin);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return worth[a] > worth[b]; });
  return order;
}

std::map<ValueId, Indices> permutations(const Graph& graph, const Groups& groups,
                                        std::span<const double> worth) {
  std::map<ValueId, Indices> all;
  for (const Group& group : groups.groups) {
    const std::vector<size_t> order = order_of(group, worth);
    for (size_t place = 0; place < order.size(); ++place) {
      const auto& to = groups.units[group.begin + place].cells;
      const auto& from = groups.units[order[place]].cells;
      for (size_t k = 0; k < to.size(); ++k) {
        if (to[k] == from[k] || !graph[to[k].value].constant) continue;
        auto known = all.find(to[k].value);
        if (known == all.end()) {
          known = all.emplace(to[k].value, unchanged(graph[to[k].value].type.shape)).first;
        }
        known->second[to[k].axis][static_cast<size_t>(to[k].index)] = from[k].index;
      }
    }
  }
  return all;
}

}  // namespace

std::string group_name(const Graph& graph, const Groups& groups, const Group& group) {
  std::tuple<std::string, size_t, int64_t> first;
  bool found = false;
  for (size_t unit = group.begin; unit < group.end; ++unit) {
    for (const Cell& cell : groups.units[unit].cells) {
      if (!graph[cell.value].constant) continue;
      std::tuple here(graph[cell.value].name, cell.axis, cell.index);
      if (!found || here < first) first = std::move(here);
      found = true;
    }
  }
  if (!found) return {};
  const auto& [name, axis, index] = first;
  return name + ":" + std::to_string(axis) + ":" + std::to_string(index);
}

Result<Graph> nested(const Graph& graph, const Groups& groups, std::span<const double> worth) {
  SHOAL_CHECK(worth.size() == groups.units.size());
  std::map<ValueId, Indices> permuted = permutations(graph, groups, worth);
  passes::Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    for (ValueId id : node.inputs) {
      const auto position = permuted.find(id);
      if (position == permuted.end()) continue;
      rewriter.replace(id, rewriter.to().add_constant(graph[id].name,
                                                      take(*graph[id].constant, position->second)));
      permuted.erase(position);
    }
    SHOAL_TRY(rewriter.copy(node));
  }
  return rewriter.finish();
}

Result<std::vector<size_t>> units_beyond(const Graph& graph, const Groups& groups,
                                         const Widths& widths) {
  std::vector<size_t> units;
  size_t found = 0;
  for (const Group& group : groups.groups) {
    const auto width = widths.find(group_name(graph, groups, group));
    if (width == widths.end()) continue;
    ++found;
    if (width->second == 0 || width->second > group.size()) {
      return invalid(width->first + " has " + std::to_string(group.size()) + " units, not " +
                     std::to_string(width->second));
    }
    for (size_t i = group.begin + width->second; i < group.end; ++i) units.push_back(i);
  }
  if (found < widths.size()) return invalid("widths are of groups that the network does not have");
  return units;
}

Result<Widths> widths_without(const Graph& graph, const Groups& groups,
                              std::span<const size_t> units) {
  Widths widths;
  for (const Group& group : groups.groups) {
    const auto lost = static_cast<size_t>(std::ranges::count_if(
        units, [&](size_t unit) { return unit >= group.begin && unit < group.end; }));
    if (lost == 0) continue;
    const std::string name = group_name(graph, groups, group);
    if (name.empty()) return Status(Code::kUnsupported, "a group of units has no weights");
    widths[name] = group.size() - lost;
  }
  return widths;
}

}  // namespace shoal::compress
