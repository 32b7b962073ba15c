// Changes: where a plane has changed, as one rectangle of pixels in each of its tiles.
//
// A mask of tiles alone grows by a whole tile with each 3x3 convolution, which reads one pixel
// beyond: if the lower half of ResNet-18's image changed, it computes 93 % where 74 % depend on
// that half. A rectangle in each tile grows by that pixel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/engine/cpu/rectangle.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/window.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::delta {

// TileMask: which tiles of a plane have changed.
//
// The plane of a value is its axes 2 and 3: rows and columns of [n, c, h, w] and of the blocked
// layout [n, c / b, h, w, b]. A value of fewer axes is one pixel.

// A plane cut into tiles; those at its end may be smaller.
struct Grid {
  int64_t height = 1, width = 1;            // pixels
  int64_t tile_height = 1, tile_width = 1;  // pixels

  int64_t rows() const { return (height + tile_height - 1) / tile_height; }
  int64_t columns() const { return (width + tile_width - 1) / tile_width; }
  int64_t pixels() const { return height * width; }
  cpu::Rectangle tile(int64_t row, int64_t column) const;

  friend bool operator==(const Grid&, const Grid&) = default;
};

// The plane of a value as one tile per pixel.
Grid plane_of(const Shape& shape);

// The same as tiles of a multiple of `granule` rows and columns, of at most `most` unless a granule
// is more. Tiles of small planes are small: late layers have few pixels and many channels.
Grid tiles_of(const Shape& shape, int64_t most, int64_t granule);

// A value.
class TileMask {
 public:
  explicit TileMask(const Grid& grid = {});

  const Grid& grid() const { return grid_; }
  bool at(int64_t row, int64_t column) const { return set_[index(row, column)] != 0; }
  void set(int64_t row, int64_t column, bool on = true) { set_[index(row, column)] = on ? 1 : 0; }
  void fill(bool on);

  bool any() const;
  int64_t pixels() const;  // in tiles that are set
  double share() const {
    return static_cast<double>(pixels()) / static_cast<double>(grid_.pixels());
  }
  // All set tiles, as the disjoint rectangles that a scan by rows finds.
  std::vector<cpu::Rectangle> rectangles() const;

 private:
  size_t index(int64_t row, int64_t column) const {
    return static_cast<size_t>(row * grid_.columns() + column);
  }

  Grid grid_;
  std::vector<uint8_t> set_;  // by rows
};

// Reach: which pixels of a node's output read a pixel of its inputs, as the operator's record says
// (Operator::split). What has changed in an output follows from what has changed in the inputs:
//   changed(pixel) = OR over all inputs, and over the pixels of each that it reads
// This is DeepMon's rule [Huynh 2017]; padding never changes. Rows and columns are independent, so
// each has its own table. Of one input: a pixel in row r and column c of it is read by rows[r] x
// columns[c] of the output at most. Both are empty for an input that never changes.
struct Reach {
  std::vector<ops::Range> rows, columns;
};

// One per input of the node. What an operator that cannot be split reads is everything.
std::vector<Reach> reach_of(const Graph& graph, const Node& node);

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
  // Adds these pixels, in any tiles.
  void add(const cpu::Rectangle& pixels);
  // Adds the tiles of a mask of the same grid.
  void add(const TileMask& mask);

  // Lets all rectangles begin and end at multiples of the granule, or at the end of the plane.
  // REQUIRES: tiles are multiples of it.
  void widen(int64_t granule);

  bool any() const;
  int64_t pixels() const;

  // Exactly the changed pixels, in few disjoint rectangles.
  std::vector<cpu::Rectangle> rectangles() const { return cover(0); }
  // All changed pixels. Rectangles of neighbouring tiles are joined if that adds at most this share
  // of pixels.
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

int64_t pixels_of(std::span<const cpu::Rectangle> rectangles);

// Adds to `output` the pixels that read one of these of an input.
void spread(std::span<const cpu::Rectangle> input, const Reach& reach, Changes& output);

// Pixels of a value, for copying and comparing: lines of a plane are contiguous, and there is one
// plane for each image and each channel or block of channels.

// Whether an element of the rectangle differs by more than `most`, or is not a number. Elements
// that are not floats differ if their bytes do. REQUIRES: both have the same type.
bool differs(const Tensor& a, const Tensor& b, const cpu::Rectangle& where, float most);

// The bounding box of the differing pixels; empty if none differ.
cpu::Rectangle difference(const Tensor& a, const Tensor& b, const cpu::Rectangle& where,
                          float most);

// Copies the rectangle. REQUIRES: both have the same type.
void copy_pixels(const Tensor& from, const cpu::Rectangle& where, Tensor& to);

// The square root of the mean square of all floats; 0 for other elements.
float root_mean_square(const Tensor& tensor);

}  // namespace shoal::delta
