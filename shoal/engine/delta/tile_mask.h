// TileMask: which tiles of a plane have changed.
//
// The plane of a value is its axes 2 and 3: rows and columns of [n, c, h, w] and of the blocked
// layout [n, c / b, h, w, b]. A value of fewer axes is one pixel, which changes as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shoal/engine/cpu/rectangle.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::delta {

// A plane that is cut into tiles; those at its end may be smaller.
struct Grid {
  int64_t height = 1, width = 1;            // pixels
  int64_t tile_height = 1, tile_width = 1;  // pixels

  int64_t rows() const { return (height + tile_height - 1) / tile_height; }
  int64_t columns() const { return (width + tile_width - 1) / tile_width; }
  int64_t pixels() const { return height * width; }
  // The pixels of a tile.
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
  // All tiles that are set, in as few disjoint rectangles as a scan by rows finds.
  std::vector<cpu::Rectangle> rectangles() const;

 private:
  size_t index(int64_t row, int64_t column) const {
    return static_cast<size_t>(row * grid_.columns() + column);
  }

  Grid grid_;
  std::vector<uint8_t> set_;  // by rows
};

}  // namespace shoal::delta
