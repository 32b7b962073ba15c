#include "shoal/engine/delta/tile_mask.h"

#include <algorithm>

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

}  // namespace shoal::delta
