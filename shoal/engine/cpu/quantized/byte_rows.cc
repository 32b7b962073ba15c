// Maximum and sum of bytes, one pixel of a block at a time. The flip makes signed bytes unsigned in
// the same order, so that one comparison serves both types.
#include <algorithm>

#include "shoal/engine/cpu/quantized/byte_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/quantized/byte_rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/quantized/requantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

using ops::Range;
using ops::WindowAxis;

HWY_INLINE const uint8_t* line_of(const ByteRows& rows, int64_t row, int64_t tap) {
  return rows.x + rows.rows->position(row, tap) * rows.columns->input * kLanes;
}

void max_bytes_here(const ByteRows& rows) {
  const DB d;
  const auto flip = hn::Set(d, rows.flip);
  const WindowAxis& axis = *rows.columns;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const Range row_taps = rows.rows->taps(row);
    for (int64_t o = 0; o < axis.output; ++o) {
      const Range taps = axis.taps(o);
      auto best = hn::Zero(d);  // the lowest, after the flip
      for (int64_t kh = row_taps.begin; kh < row_taps.end; ++kh) {
        const uint8_t* x = line_of(rows, row, kh);
        for (int64_t kw = taps.begin; kw < taps.end; ++kw) {
          const auto pixel = hn::LoadU(d, x + axis.position(o, kw) * kLanes);
          best = hn::Max(best, hn::Xor(pixel, flip));
        }
      }
      hn::StoreU(hn::Xor(best, flip), d, rows.y + (row * axis.output + o) * kLanes);
    }
  }
}

void sum_bytes_here(const uint8_t* x, uint8_t flip, int32_t zero_point, int64_t pixels,
                    int32_t* sums) {
  const DB db;
  const DI di;
  VI sum = hn::Zero(di);
  for (int64_t i = 0; i < pixels; ++i, x += kLanes) {
    const auto bytes = hn::Xor(hn::LoadU(db, x), hn::Set(db, flip));
    sum = hn::Add(sum, hn::Sub(hn::PromoteTo(di, bytes), hn::Set(di, zero_point)));
  }
  hn::StoreU(sum, di, sums);
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(max_bytes_here);
HWY_EXPORT(sum_bytes_here);

void max_bytes(const ByteRows& rows) { HWY_DYNAMIC_DISPATCH(max_bytes_here)(rows); }

void sum_bytes(const uint8_t* x, uint8_t flip, int32_t zero_point, int64_t pixels, int32_t* sums) {
  HWY_DYNAMIC_DISPATCH(sum_bytes_here)(x, flip, zero_point, pixels, sums);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
