// im2col for one panel. Row k of the panel is one tap of one input channel; its columns are
// consecutive outputs. A run of outputs in one row of the image is a contiguous (stride 1) or
// every-other (stride 2) piece of one line, with zeros at both ends for padding. The cost is 8
// bytes of traffic per element of the panel, which the product uses once per output channel.
#include <algorithm>

#include "shoal/engine/cpu/conv_loops/conv_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/conv_loops/gather_columns.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;

constexpr int64_t kLanes = HWY_LANES(float);

// These three write n floats, and garbage up to the end of the last vector. A panel is filled from
// left to right, so the next writer corrects it.

HWY_INLINE void fill_zero(float* to, int64_t n) {
  const D d;
  for (int64_t i = 0; i < n; i += kLanes) hn::StoreU(hn::Zero(d), d, to + i);
}

HWY_INLINE void copy(const float* from, const float* end, float* to, int64_t n) {
  const D d;
  if (end - from < n + kLanes) {  // whole vectors would read beyond the tensor
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
    return;
  }
  for (int64_t i = 0; i < n; i += kLanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
}

HWY_INLINE void copy_every(int64_t stride, const float* from, const float* end, float* to,
                           int64_t n) {
#if HWY_TARGET != HWY_SCALAR
  const D d;
  if (stride == 2 && end - from >= 2 * (n + kLanes)) {
    for (int64_t i = 0; i < n; i += kLanes) {
      hn::Vec<D> even, odd;
      hn::LoadInterleaved2(d, from + 2 * i, even, odd);
      hn::StoreU(even, d, to + i);
    }
    return;
  }
#endif
  (void)end;
  for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
}

// One run of one row: outputs for which the tap lies left of the image, in it, right of it.
HWY_INLINE void gather_run(const ops::WindowAxis& axis, int64_t tap, ops::Range inside,
                           const OutputRun& run, const float* line, const float* end, float* to) {
  const int64_t begin = std::clamp<int64_t>(inside.begin - run.column, 0, run.length);
  const int64_t stop = std::clamp<int64_t>(inside.end - run.column, begin, run.length);
  if (begin > 0) fill_zero(to, begin);
  if (begin < stop) {
    const float* from = line + axis.position(run.column + begin, tap);
    if (axis.stride == 1) {
      copy(from, end, to + begin, stop - begin);
    } else {
      copy_every(axis.stride, from, end, to + begin, stop - begin);
    }
  }
  if (stop < run.length) fill_zero(to + stop, run.length - stop);
}

void gather_here(const ImageGeometry& geometry, std::span<const float> x,
                 std::span<const OutputRun> runs, int64_t k, int64_t k_end, float* panel) {
  const auto& [depths, rows, columns] = geometry.window.axes;
  const int64_t width = panel_size().columns;
  const float* end = x.data() + x.size();
  // Taps count up like digits below, which saves four divisions per row.
  int64_t tap = k % columns.kernel, row_tap = k / columns.kernel % rows.kernel;
  int64_t depth_tap = k / (columns.kernel * rows.kernel) % depths.kernel;
  int64_t channel = k / (columns.kernel * rows.kernel * depths.kernel);
  for (; k < k_end; ++k, panel += width) {
    float* to = panel;
    for (const OutputRun& run : runs) {
      const int64_t depth = depths.position(run.depth, depth_tap);
      const int64_t row = rows.position(run.row, row_tap);
      if (depth < 0 || depth >= depths.input || row < 0 || row >= rows.input) {
        fill_zero(to, run.length);
      } else {
        const int64_t line = ((channel * depths.input + depth) * rows.input + row) * columns.input;
        gather_run(columns, tap, geometry.columns[static_cast<size_t>(tap)], run, x.data() + line,
                   end, to);
      }
      to += run.length;
    }
    if (to < panel + width) fill_zero(to, panel + width - to);
    if (++tap < columns.kernel) continue;
    tap = 0;
    if (++row_tap < rows.kernel) continue;
    row_tap = 0;
    if (++depth_tap < depths.kernel) continue;
    depth_tap = 0;
    ++channel;
  }
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(gather_here);

void gather(const ImageGeometry& geometry, std::span<const float> x,
            std::span<const OutputRun> runs, int64_t k, int64_t k_end, float* panel) {
  HWY_DYNAMIC_DISPATCH(gather_here)(geometry, x, runs, k, k_end, panel);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
