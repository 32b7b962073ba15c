// Masks for spatially sparse inference: where in an image a network is to compute (SSI [Mao 2019]).
// The masks are those of delta inference (delta/tile_mask.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/engine/cpu/rectangle.h"
#include "shoal/engine/delta/tile_mask.h"
#include "shoal/video/keyframe/flow.h"

namespace shoal::keyframe {

// By how many pixels boxes of objects grow: more, the longer ago they were found. The source gives
// 64, the ratio of the first map of features to the last, and says only that it grows.
int64_t margin_after(int64_t frames);

// Feedback mask: the tiles that a box, enlarged on each side and clipped to the plane, overlaps.
// Boxes may begin and end anywhere.
delta::TileMask box_mask(const delta::Grid& grid, std::span<const cpu::Rectangle> boxes,
                         int64_t margin);

// Brightness mask: the tiles with a pixel that differs by `threshold` levels or more. REQUIRES:
// both planes have the size of the grid.
delta::TileMask brightness_mask(const delta::Grid& grid, const Plane& then, const Plane& now,
                                int threshold);

// Tiles that both masks have. REQUIRES: they have the same grid.
delta::TileMask both(const delta::TileMask& a, const delta::TileMask& b);

// The mask on another grid of the same image, most often that of a smaller plane: a tile is set if
// one that overlaps it is (max-pooling).
delta::TileMask regridded(const delta::TileMask& mask, const delta::Grid& grid);

}  // namespace shoal::keyframe
