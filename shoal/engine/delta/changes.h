// Changes: where a plane has changed, as one rectangle of pixels in each of its tiles.
//
// A mask of tiles alone grows by a whole tile with each 3x3 convolution, which reads one pixel
// beyond: of ResNet-18 whose image changed in its lower half, it leaves 93 % to compute where 74 %
// depend on that half. A rectangle in each tile grows by that pixel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/engine/cpu/rectangle.h"
#include "shoal/engine/delta/reach.h"
#include "shoal/engine/delta/tile_mask.h"

namespace shoal::delta {

// A value.
class Changes {
 public:
  explicit Changes(const Grid& grid = {});

  const Grid& grid() const { return grid_; }
  // The pixels of a tile that changed; none: pixels() is 0.
  const cpu::Rectangle& at(int64_t row, int64_t column) const { return boxes_[index(row, column)]; }
  // REQUIRES: `box` lies in the tile.
  void set(int64_t row, int64_t column, const cpu::Rectangle& box);
  void fill(bool on);
  // Adds these pixels, wherever they are.
  void add(const cpu::Rectangle& pixels);
  // Adds the tiles of a mask of the same grid.
  void add(const TileMask& mask);

  // Lets all rectangles begin and end at multiples of the granule, or at the end of the plane.
  // REQUIRES: tiles are multiples of it.
  void widen(int64_t granule);

  bool any() const;
  int64_t pixels() const;

  // All of it and nothing else, in few disjoint rectangles.
  std::vector<cpu::Rectangle> rectangles() const { return cover(0); }
  // All of it. Rectangles of neighbouring tiles become one where that adds no more than this share
  // of them.
  std::vector<cpu::Rectangle> cover(double most_added) const;

 private:
  size_t index(int64_t row, int64_t column) const {
    return static_cast<size_t>(row * grid_.columns() + column);
  }

  Grid grid_;
  std::vector<cpu::Rectangle> boxes_;  // by rows
};

// Calls f(row of tiles, column of tiles, pixels) for the part of a rectangle in each tile.
template <class F>
void for_each_tile(const Grid& grid, const cpu::Rectangle& pixels, const F& f) {
  const auto common = [](const ops::Range& range, int64_t tile, int64_t side) {
    return ops::Range{std::max(range.begin, tile * side), std::min(range.end, (tile + 1) * side)};
  };
  const int64_t height = grid.tile_height, width = grid.tile_width;
  if (pixels.pixels() == 0) return;
  for (int64_t row = pixels.rows.begin / height; row * height < pixels.rows.end; ++row) {
    const ops::Range rows = common(pixels.rows, row, height);
    for (int64_t column = pixels.columns.begin / width; column * width < pixels.columns.end;
         ++column) {
      f(row, column, cpu::Rectangle{rows, common(pixels.columns, column, width)});
    }
  }
}

// The pixels of all rectangles together.
int64_t pixels_of(std::span<const cpu::Rectangle> rectangles);

// Adds to `output` the pixels that read one of these of an input.
void spread(std::span<const cpu::Rectangle> input, const Reach& reach, Changes& output);

}  // namespace shoal::delta
