#include "shoal/engine/delta/reach.h"

#include <algorithm>
#include <optional>
#include <span>

#include "shoal/engine/delta/tile_mask.h"

namespace shoal::delta {
namespace {

using ops::Range;

constexpr size_t kRowAxis = 2, kColumnAxis = 3;

bool is_variable(const Graph& graph, ValueId id) {
  return id != kNoValue && !graph[id].constant.has_value();
}

// The positions of an axis that lie in a region of a value.
Range positions_in(const Region& region, size_t axis) {
  if (region.shape().count() == 0) return {};
  if (region.begin.rank() <= kColumnAxis) return {0, 1};
  return {region.begin[axis], region.end[axis]};
}

// The regions that a row or column of the output reads. Nothing if the node cannot be split there.
std::optional<std::vector<Region>> regions_of(const Node& node, std::span<const Operand> operands,
                                              const Shape& shape, size_t axis, int64_t position) {
  if (node.op->split == nullptr || shape.count() == 0) return std::nullopt;
  Region region = Region::whole(shape);
  if (shape.rank() > kColumnAxis) {
    region.begin[axis] = position;
    region.end[axis] = position + 1;
  }
  const auto part = node.op->split(node, operands, region);
  if (!part) return std::nullopt;
  return part->inputs;
}

void add_reader(int64_t reader, const Range& read, std::vector<Range>& readers) {
  for (int64_t i = read.begin; i < read.end; ++i) {
    Range& one = readers[static_cast<size_t>(i)];
    one = one.count() == 0 ? Range{reader, reader + 1}
                           : Range{std::min(one.begin, reader), std::max(one.end, reader + 1)};
  }
}

}  // namespace

std::vector<Reach> reach_of(const Graph& graph, const Node& node) {
  const auto operands = graph.operands(node.inputs);
  const Shape& shape = graph[node.outputs[0]].type.shape;
  const auto plane = [&](ValueId id) { return plane_of(graph[id].type.shape); };
  std::vector<Reach> reach(node.inputs.size());
  for (size_t i = 0; i < reach.size(); ++i) {
    if (!is_variable(graph, node.inputs[i])) continue;
    const Grid from = plane(node.inputs[i]);
    reach[i].rows.resize(static_cast<size_t>(from.height));
    reach[i].columns.resize(static_cast<size_t>(from.width));
  }
  const auto add_axis = [&](size_t axis, int64_t extent, std::vector<Range> Reach::*readers) {
    for (int64_t position = 0; position < extent; ++position) {
      const auto regions = regions_of(node, operands, shape, axis, position);
      for (size_t i = 0; i < reach.size(); ++i) {
        std::vector<Range>& all = reach[i].*readers;
        const Range whole{0, std::ssize(all)};
        if (!all.empty()) {
          add_reader(position, regions ? positions_in((*regions)[i], axis) : whole, all);
        }
      }
    }
  };
  const Grid to = plane(node.outputs[0]);
  add_axis(kRowAxis, to.height, &Reach::rows);
  add_axis(kColumnAxis, to.width, &Reach::columns);
  return reach;
}

}  // namespace shoal::delta
