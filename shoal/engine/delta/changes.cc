#include "shoal/engine/delta/changes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "shoal/base/round_up.h"

namespace shoal::delta {

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
