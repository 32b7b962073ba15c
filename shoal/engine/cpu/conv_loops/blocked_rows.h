// Windows that slide over one block of channels (NCHWc, blocked.h) with every channel by itself, as
// in depthwise convolutions and pools. One pixel is one vector, so strides and borders need no
// shuffles.
#pragma once

#include <cstdint>

#include "shoal/engine/cpu/conv_loops/finish.h"
#include "shoal/engine/cpu/elementwise/function.h"
#include "shoal/engine/cpu/rectangle.h"
#include "shoal/model/ops/window.h"

namespace shoal::cpu {

// A rectangle of one block of one image.
struct BlockedRows {
  const ops::WindowAxis* rows = nullptr;
  const ops::WindowAxis* columns = nullptr;
  const float* x = nullptr;  // the whole block: [rows][columns][b]
  float* y = nullptr;        // the whole block
  Rectangle where = {};      // of y, that is computed
};

// Filter of one block, and the epilogue: y = pass(finish(sum + bias + addend)).
struct BlockedFilter {
  const float* w = nullptr;       // [taps][b]
  const float* bias = nullptr;    // [b]
  const float* addend = nullptr;  // laid out as y; null: none
  Finish finish;
  Function pass;
};

// Thread-safe for disjoint rectangles. REQUIRES: b is block_size().
void convolve_rows(const BlockedRows& rows, const BlockedFilter& filter);
// Pools use `line`, which holds a line of the image and belongs to the caller.
void max_rows(const BlockedRows& rows, float* line);  // a NaN wins
void sum_rows(const BlockedRows& rows, float* line);

}  // namespace shoal::cpu
