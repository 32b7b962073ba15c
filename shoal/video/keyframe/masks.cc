#include "shoal/video/keyframe/masks.h"

#include <algorithm>
#include <cstdlib>

#include "shoal/base/round_up.h"
#include "shoal/base/status.h"

namespace shoal::keyframe {
namespace {

using cpu::Rectangle;
using delta::Grid;
using delta::TileMask;

// The tiles, as row or column numbers, that a range of pixels overlaps.
ops::Range tiles_of(const ops::Range& pixels, int64_t tile) {
  return {pixels.begin / tile, ceil_div(pixels.end, tile)};
}

ops::Range clipped(const ops::Range& range, int64_t margin, int64_t extent) {
  return {std::clamp(range.begin - margin, int64_t{0}, extent),
          std::clamp(range.end + margin, int64_t{0}, extent)};
}

// Where a range of a side of `from` pixels lies on one of `to`, rounded outwards.
ops::Range scaled(const ops::Range& range, int64_t from, int64_t to) {
  return {range.begin * to / from, ceil_div(range.end * to, from)};
}

// Sets tiles for which is_set(rectangle of pixels).
template <class F>
TileMask made(const Grid& grid, const F& is_set) {
  TileMask mask(grid);
  for (int64_t row = 0; row < grid.rows(); ++row) {
    for (int64_t column = 0; column < grid.columns(); ++column) {
      mask.set(row, column, is_set(grid.tile(row, column)));
    }
  }
  return mask;
}

}  // namespace

int64_t margin_after(int64_t frames) { return 64 + 8 * frames; }

TileMask box_mask(const Grid& grid, std::span<const Rectangle> boxes, int64_t margin) {
  TileMask mask(grid);
  for (const Rectangle& box : boxes) {
    const Rectangle in{clipped(box.rows, margin, grid.height),
                       clipped(box.columns, margin, grid.width)};
    if (in.rows.begin >= in.rows.end || in.columns.begin >= in.columns.end) continue;
    const ops::Range rows = tiles_of(in.rows, grid.tile_height);
    const ops::Range columns = tiles_of(in.columns, grid.tile_width);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      for (int64_t column = columns.begin; column < columns.end; ++column) mask.set(row, column);
    }
  }
  return mask;
}

TileMask brightness_mask(const Grid& grid, const Plane& then, const Plane& now, int threshold) {
  for (const Plane* plane : {&then, &now}) {
    SHOAL_CHECK(plane->height == grid.height && plane->width == grid.width);
  }
  return made(grid, [&](const Rectangle& tile) {
    for (int64_t y = tile.rows.begin; y < tile.rows.end; ++y) {
      const uint8_t *const a = then.row(y), *const b = now.row(y);
      for (int64_t x = tile.columns.begin; x < tile.columns.end; ++x) {
        if (std::abs(int{a[x]} - int{b[x]}) >= threshold) return true;
      }
    }
    return false;
  });
}

TileMask both(const TileMask& a, const TileMask& b) {
  SHOAL_CHECK(a.grid() == b.grid());
  TileMask mask = a;
  for (int64_t row = 0; row < a.grid().rows(); ++row) {
    for (int64_t column = 0; column < a.grid().columns(); ++column) {
      if (!b.at(row, column)) mask.set(row, column, false);
    }
  }
  return mask;
}

TileMask regridded(const TileMask& mask, const Grid& grid) {
  const Grid& old = mask.grid();
  return made(grid, [&](const Rectangle& tile) {
    const ops::Range rows = tiles_of(scaled(tile.rows, grid.height, old.height), old.tile_height);
    const ops::Range columns =
        tiles_of(scaled(tile.columns, grid.width, old.width), old.tile_width);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      for (int64_t column = columns.begin; column < columns.end; ++column) {
        if (mask.at(row, column)) return true;
      }
    }
    return false;
  });
}

}  // namespace shoal::keyframe
