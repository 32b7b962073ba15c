#include "shoal/engine/delta/changes.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "shoal/base/round_up.h"

namespace shoal::delta {

using cpu::Rectangle;

namespace {

// Kernels like long rows: `least` is for those.
int64_t tile_of(int64_t extent, int64_t least, int64_t most, int64_t granule) {
  constexpr int64_t kTiles = 16;
  const int64_t tile = std::clamp(ceil_div(extent, kTiles), std::min(least, most), most);
  return std::max(tile / granule, int64_t{1}) * granule;
}

}  // namespace

Rectangle Grid::tile(int64_t row, int64_t column) const {
  return {{row * tile_height, std::min((row + 1) * tile_height, height)},
          {column * tile_width, std::min((column + 1) * tile_width, width)}};
}

Grid plane_of(const Shape& shape) {
  constexpr size_t kLeastRank = 4;
  const bool has_plane = shape.rank() >= kLeastRank && shape.count() > 0;
  return has_plane ? Grid{.height = shape[2], .width = shape[3]} : Grid{};
}

Grid tiles_of(const Shape& shape, int64_t most, int64_t granule) {
  Grid grid = plane_of(shape);
  grid.tile_height = tile_of(grid.height, 1, most, granule);
  grid.tile_width = tile_of(grid.width, 4, most, granule);
  return grid;
}

TileMask::TileMask(const Grid& grid)
    : grid_(grid), set_(static_cast<size_t>(grid.rows() * grid.columns())) {}

void TileMask::fill(bool on) { std::ranges::fill(set_, static_cast<uint8_t>(on ? 1 : 0)); }

bool TileMask::any() const { return std::ranges::find(set_, 1) != set_.end(); }

int64_t TileMask::pixels() const {
  int64_t pixels = 0;
  for (int64_t row = 0; row < grid_.rows(); ++row) {
    for (int64_t column = 0; column < grid_.columns(); ++column) {
      if (at(row, column)) pixels += grid_.tile(row, column).pixels();
    }
  }
  return pixels;
}

// A run of tiles in a row continues the rectangle above it that has the same columns.
std::vector<Rectangle> TileMask::rectangles() const {
  std::vector<Rectangle> done, open, next;
  for (int64_t row = 0; row < grid_.rows(); ++row) {
    next.clear();
    for (int64_t column = 0; column < grid_.columns(); ++column) {
      if (!at(row, column)) continue;
      Rectangle run = grid_.tile(row, column);
      while (column + 1 < grid_.columns() && at(row, column + 1)) ++column;
      run.columns.end = grid_.tile(row, column).columns.end;
      const auto above = std::ranges::find_if(open, [&](const Rectangle& one) {
        return one.columns.begin == run.columns.begin && one.columns.end == run.columns.end;
      });
      if (above != open.end()) {
        run.rows.begin = above->rows.begin;
        open.erase(above);
      }
      next.push_back(run);
    }
    done.insert(done.end(), open.begin(), open.end());
    std::swap(open, next);
  }
  done.insert(done.end(), open.begin(), open.end());
  return done;
}

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

// The regions that a row or column of the output reads. nullopt if the node cannot be split there.
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

using cpu::Rectangle;
using ops::Range;

namespace {

Range hull(const Range& a, const Range& b) {
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

Rectangle hull(const Rectangle& a, const Rectangle& b) {
  if (a.pixels() == 0) return b;
  return {hull(a.rows, b.rows), hull(a.columns, b.columns)};
}

// The positions of the output that read one of `from`.
Range readers_of(const Range& from, const std::vector<Range>& readers) {
  Range all;
  for (int64_t i = from.begin; i < from.end; ++i) {
    const Range& one = readers[static_cast<size_t>(i)];
    if (one.count() > 0) all = all.count() > 0 ? hull(all, one) : one;
  }
  return all;
}

}  // namespace

Changes::Changes(const Grid& grid)
    : grid_(grid), boxes_(static_cast<size_t>(grid.rows() * grid.columns())) {}

void Changes::set(int64_t row, int64_t column, const Rectangle& box) {
  boxes_[index(row, column)] = box;
}

void Changes::fill(bool on) {
  std::ranges::fill(boxes_, Rectangle{});
  if (on) add({{0, grid_.height}, {0, grid_.width}});
}

void Changes::add(const Rectangle& pixels) {
  for_each_tile(grid_, pixels, [&](int64_t row, int64_t column, const Rectangle& part) {
    Rectangle& box = boxes_[index(row, column)];
    box = hull(box, part);
  });
}

void Changes::add(const TileMask& mask) {
  for (const Rectangle& one : mask.rectangles()) add(one);
}

void Changes::widen(int64_t granule) {
  const auto widened = [&](const Range& range, int64_t extent) {
    return Range{range.begin / granule * granule, std::min(round_up(range.end, granule), extent)};
  };
  for (Rectangle& box : boxes_) {
    if (box.pixels() == 0) continue;
    box = {widened(box.rows, grid_.height), widened(box.columns, grid_.width)};
  }
}

bool Changes::any() const {
  return std::ranges::any_of(boxes_, [](const Rectangle& box) { return box.pixels() > 0; });
}

int64_t Changes::pixels() const { return pixels_of(boxes_); }

// Along a row of tiles, a rectangle takes in its neighbour while that adds little enough. What it
// has become continues the rectangle above it that has the same columns and ends where it begins.
std::vector<Rectangle> Changes::cover(double most_added) const {
  std::vector<Rectangle> done, open, next;
  const auto close = [&](const Rectangle& run) {
    const auto above = std::ranges::find_if(open, [&](const Rectangle& one) {
      return one.rows.end == run.rows.begin && one.columns.begin == run.columns.begin &&
             one.columns.end == run.columns.end;
    });
    next.push_back(run);
    if (above == open.end()) return;
    next.back().rows.begin = above->rows.begin;
    open.erase(above);
  };
  for (int64_t row = 0; row < grid_.rows(); ++row) {
    next.clear();
    std::optional<Rectangle> run;
    int64_t in_run = 0;  // pixels
    for (int64_t column = 0; column < grid_.columns(); ++column) {
      const Rectangle& one = at(row, column);
      if (one.pixels() == 0) {
        if (run) close(*std::exchange(run, std::nullopt));
        continue;
      }
      if (run) {
        const Rectangle both = hull(*run, one);
        const auto all = static_cast<double>(in_run + one.pixels());
        if (static_cast<double>(both.pixels()) <= (1 + most_added) * all) {
          run = both;
          in_run += one.pixels();
          continue;
        }
        close(*run);
      }
      run = one;
      in_run = one.pixels();
    }
    if (run) close(*run);
    done.insert(done.end(), open.begin(), open.end());
    std::swap(open, next);
  }
  done.insert(done.end(), open.begin(), open.end());
  return done;
}

int64_t pixels_of(std::span<const Rectangle> rectangles) {
  int64_t pixels = 0;
  for (const Rectangle& one : rectangles) pixels += one.pixels();
  return pixels;
}

void spread(std::span<const Rectangle> input, const Reach& reach, Changes& output) {
  for (const Rectangle& one : input) {
    output.add({readers_of(one.rows, reach.rows), readers_of(one.columns, reach.columns)});
  }
}

}  // namespace shoal::delta
