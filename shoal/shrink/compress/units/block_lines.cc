#include "shoal/shrink/compress/units/block_lines.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "shoal/shrink/compress/analysis/product.h"

namespace shoal::compress {
namespace {

// Consecutive indices of one axis of a constant as a box. Cells are by value, axis and index.
void add_cell(const Graph& graph, const Cell& cell, Line& line) {
  if (!line.empty() && line.back().weights == cell.value &&
      line.back().box.end[cell.axis] == cell.index) {
    ++line.back().box.end[cell.axis];
    return;
  }
  Region box = Region::whole(graph[cell.value].type.shape);
  box.begin[cell.axis] = cell.index;
  box.end[cell.axis] = cell.index + 1;
  line.push_back({cell.value, box});
}

// Calls f(offset, length) for the runs of a box that lie in one piece in a tensor.
template <class F>
void for_each_run(const Shape& shape, const Region& box, const F& f) {
  const size_t rank = shape.rank();
  for (size_t d = 0; d < rank; ++d) {
    if (box.begin[d] >= box.end[d]) return;
  }
  // Axes after the first partial one, from behind, are whole: a run covers them.
  size_t split = rank;
  while (split > 0 && box.begin[split - 1] == 0 && box.end[split - 1] == shape[split - 1]) --split;
  const size_t axis = split == 0 ? 0 : split - 1;
  const int64_t inner = shape.count(axis + 1, rank);
  const int64_t first = rank == 0 ? 0 : box.begin[axis] * inner;
  const int64_t length = rank == 0 ? 1 : (box.end[axis] - box.begin[axis]) * inner;
  Shape at = box.begin;
  while (true) {
    int64_t offset = 0;
    for (size_t d = 0; d < axis; ++d) offset = offset * shape[d] + at[d];
    if (rank > 0) offset = offset * shape[axis] * inner + first;
    f(static_cast<size_t>(offset), static_cast<size_t>(length));
    size_t d = axis;
    while (d > 0 && ++at[d - 1] == box.end[d - 1]) {
      at[d - 1] = box.begin[d - 1];
      --d;
    }
    if (d == 0) return;
  }
}

double squares_in(const Tensor& weights, const Region& box) {
  double sum = 0;
  visit<Types<float, double>>(weights.dtype(), [&]<class T>() {
    const std::span<const T> w = weights.data<T>();
    for_each_run(weights.shape(), box, [&](size_t offset, size_t length) {
      for (T x : w.subspan(offset, length)) sum += static_cast<double>(x) * static_cast<double>(x);
    });
  });
  return sum;
}

// Where the blocks of an axis of a matrix begin, and the end of the last one.
using Bounds = std::set<int64_t>;

}  // namespace

std::vector<LineSet> unit_lines(const Graph& graph, const Groups& groups) {
  const std::vector<bool> learned = learned_values(graph);
  std::vector<LineSet> sets;
  for (const Group& group : groups.groups) {
    LineSet& lines = sets.emplace_back();
    for (size_t unit = group.begin; unit < group.end; ++unit) {
      Line& line = lines.emplace_back();
      for (const Cell& cell : groups.units[unit].cells) {
        if (learned[static_cast<size_t>(cell.value)]) add_cell(graph, cell, line);
      }
    }
  }
  return sets;
}

std::vector<Patch> find_blocks(const Graph& graph, const Groups& groups) {
  std::map<ValueId, std::vector<Bounds>> bounds;
  for (const LineSet& lines : unit_lines(graph, groups)) {
    for (const Line& line : lines) {
      for (const Patch& patch : line) {
        const Shape& shape = graph[patch.weights].type.shape;
        if (shape.rank() != 2) continue;
        std::vector<Bounds>& axes = bounds[patch.weights];
        if (axes.empty()) axes = {{0, shape[0]}, {0, shape[1]}};
        for (size_t axis = 0; axis < 2; ++axis) {
          if (patch.box.end[axis] - patch.box.begin[axis] == 1) continue;
          axes[axis].insert(patch.box.begin[axis]);
          axes[axis].insert(patch.box.end[axis]);
        }
      }
    }
  }
  std::vector<Patch> blocks;
  for (const auto& [weights, axes] : bounds) {
    for (auto row = axes[0].begin(); std::next(row) != axes[0].end(); ++row) {
      for (auto column = axes[1].begin(); std::next(column) != axes[1].end(); ++column) {
        blocks.push_back({weights, {{*row, *column}, {*std::next(row), *std::next(column)}}});
      }
    }
  }
  return blocks;
}

LineSet lines_of(const Patch& block, size_t axis) {
  LineSet lines;
  for (int64_t i = block.box.begin[axis]; i < block.box.end[axis]; ++i) {
    Patch line = block;
    line.box.begin[axis] = i;
    line.box.end[axis] = i + 1;
    lines.push_back({line});
  }
  return lines;
}

std::vector<double> norms_of(const Graph& graph, const LineSet& lines) {
  std::vector<double> norms;
  for (const Line& line : lines) {
    double squares = 0;
    for (const Patch& patch : line)
      squares += squares_in(*graph[patch.weights].constant, patch.box);
    norms.push_back(std::sqrt(squares));
  }
  return norms;
}

std::vector<BlockSparsity> sparsity_of(const Graph& graph, std::span<const Patch> blocks,
                                       double share) {
  constexpr size_t kAxes = 2;
  std::vector<BlockSparsity> result;
  std::map<ValueId, std::vector<double>> sums, counts;  // per axis
  std::vector<std::vector<double>> norms;
  for (const Patch& block : blocks) {
    sums[block.weights].resize(kAxes);
    counts[block.weights].resize(kAxes);
    for (size_t axis = 0; axis < kAxes; ++axis) {
      norms.push_back(norms_of(graph, lines_of(block, axis)));
      for (double n : norms.back()) sums[block.weights][axis] += n;
      counts[block.weights][axis] += static_cast<double>(norms.back().size());
    }
  }
  for (size_t b = 0; b < blocks.size(); ++b) {
    BlockSparsity& block = result.emplace_back(BlockSparsity{blocks[b]});
    for (size_t axis = 0; axis < kAxes; ++axis) {
      const std::vector<double>& of_block = norms[b * kAxes + axis];
      const double mean = sums[blocks[b].weights][axis] / counts[blocks[b].weights][axis];
      const auto below =
          std::ranges::count_if(of_block, [&](double n) { return n < share * mean; });
      (axis == 0 ? block.rows : block.columns) =
          static_cast<double>(below) / static_cast<double>(of_block.size());
    }
  }
  return result;
}

}  // namespace shoal::compress
