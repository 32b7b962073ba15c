#include "shoal/delta/reach.h"

#include <optional>

namespace shoal::delta {
namespace {

using ops::Range;

constexpr size_t kRowAxis = 2, kColumnAxis = 3;

bool is_variable(const Graph& graph, ValueId id) {
  return id != kNoValue && !graph[id].constant.has_value();
}

// The tiles of an axis that lie in a region of a value.
Range tiles_in(const Region& region, size_t axis, int64_t tile) {
  if (region.shape().count() == 0) return {};
  if (axis >= region.begin.rank() || region.begin.rank() <= kColumnAxis) return {0, 1};
  return {region.begin[axis] / tile, (region.end[axis] + tile - 1) / tile};
}

// The regions that a band of tiles of the output reads: all rows of a column, or all columns of a
// row. Nothing if the node cannot be split there.
std::optional<std::vector<Region>> regions_of(const Graph& graph, const Node& node, size_t axis,
                                              Range band) {
  const Shape& shape = graph[node.outputs[0]].type.shape;
  Region region = Region::whole(shape);
  if (axis < shape.rank() && shape.rank() > kColumnAxis) {
    region.begin[axis] = band.begin;
    region.end[axis] = band.end;
  }
  if (node.op->split == nullptr || shape.count() == 0) return std::nullopt;
  const auto tile = node.op->split(node, graph.operands(node.inputs), region);
  if (!tile) return std::nullopt;
  return tile->inputs;
}

std::vector<Range> ranges(size_t count, Range all) { return std::vector<Range>(count, all); }

}  // namespace

std::vector<Reach> reach_of(const Graph& graph, const Node& node, std::span<const Grid> inputs,
                            const Grid& output) {
  const auto rows = static_cast<size_t>(output.rows());
  const auto columns = static_cast<size_t>(output.columns());
  std::vector<Reach> reach(node.inputs.size());
  for (size_t i = 0; i < reach.size(); ++i) {
    if (!is_variable(graph, node.inputs[i])) continue;
    reach[i] = {ranges(rows, {0, inputs[i].rows()}), ranges(columns, {0, inputs[i].columns()})};
  }
  const auto restrict = [&](size_t axis, size_t index, Range band) {
    const auto regions = regions_of(graph, node, axis, band);
    if (!regions) return;
    for (size_t i = 0; i < reach.size(); ++i) {
      if (!is_variable(graph, node.inputs[i])) continue;
      if (axis == kRowAxis) {
        reach[i].rows[index] = tiles_in((*regions)[i], axis, inputs[i].tile_height);
      } else {
        reach[i].columns[index] = tiles_in((*regions)[i], axis, inputs[i].tile_width);
      }
    }
  };
  for (size_t r = 0; r < rows; ++r) {
    restrict(kRowAxis, r, output.tile(static_cast<int64_t>(r), 0).rows);
  }
  for (size_t c = 0; c < columns; ++c) {
    restrict(kColumnAxis, c, output.tile(0, static_cast<int64_t>(c)).columns);
  }
  return reach;
}

// By sums over all tiles above and to the left, so that a reach of any size takes one step.
void spread(const TileMask& input, const Reach& reach, TileMask& output) {
  if (reach.rows.empty() || !input.any()) return;
  const int64_t rows = input.grid().rows(), columns = input.grid().columns();
  std::vector<int32_t> sums(static_cast<size_t>((rows + 1) * (columns + 1)));
  const auto sum = [&](int64_t r, int64_t c) -> int32_t& {
    return sums[static_cast<size_t>(r * (columns + 1) + c)];
  };
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      sum(r + 1, c + 1) = sum(r, c + 1) + sum(r + 1, c) - sum(r, c) + (input.at(r, c) ? 1 : 0);
    }
  }
  for (size_t r = 0; r < reach.rows.size(); ++r) {
    const auto [top, bottom] = reach.rows[r];
    for (size_t c = 0; c < reach.columns.size(); ++c) {
      const auto [left, right] = reach.columns[c];
      if (sum(bottom, right) - sum(top, right) - sum(bottom, left) + sum(top, left) > 0) {
        output.set(static_cast<int64_t>(r), static_cast<int64_t>(c));
      }
    }
  }
}

}  // namespace shoal::delta
