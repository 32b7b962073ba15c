// Packing: fills the panels of product.h. A factor that is contiguous along the panel is copied by
// vectors; one that is contiguous along k is transposed four by four in registers. Packing reads
// and writes 8 bytes per element, and each packed element of the right factor is used once per row
// of a block.
#include <algorithm>

#include "shoal/engine/cpu/product/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/product/product_pack.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/movement/transpose_block-inl.h"
#include "shoal/engine/cpu/product/panels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

PanelSize panel_size_here() { return {kRows, kColumns}; }

// to[p * width + c] = from[c * stride + p] for p in [0, k) and c in [0, count), and zeros for c in
// [count, width).
void interleave(const float* from, int64_t stride, int64_t count, int64_t k, int64_t width,
                float* to) {
  transpose_block(from, stride, count, k, to, width);
  for (int64_t p = 0; count < width && p < k; ++p) {
    std::fill(to + p * width + count, to + (p + 1) * width, 0.0f);
  }
}

void pack_rows_here(const Matrix& matrix, int64_t m, int64_t k, float* panels) {
  for (int64_t i = 0; i < m; i += kRows, panels += kRows * k) {
    const int64_t rows = std::min<int64_t>(kRows, m - i);
    const float* from = matrix.data + i * matrix.row_stride;
    if (matrix.column_stride == 1) {
      interleave(from, matrix.row_stride, rows, k, kRows, panels);
      continue;
    }
    for (int64_t p = 0; p < k; ++p, from += matrix.column_stride) {
      float* to = panels + p * kRows;
      for (int64_t r = 0; r < kRows; ++r) to[r] = r < rows ? from[r * matrix.row_stride] : 0;
    }
  }
}

// Row by row, because rows may lie pages apart: each row fills its place in all panels, so that the
// TLB sees one page of the source at a time. Zeros beyond column n keep sums of full vectors
// finite.
void pack_rows_of_columns(const Matrix& matrix, int64_t k, int64_t n, float* panels) {
  const D d;
  const int64_t whole = n / kColumns * kColumns;
  for (int64_t p = 0; p < k; ++p) {
    const float* from = matrix.data + p * matrix.row_stride;
    float* to = panels + p * kColumns;
    for (int64_t j = 0; j < whole; j += kColumns, to += kColumns * k) {
      for (int v = 0; v < kColumns; v += kLanes) hn::Store(hn::LoadU(d, from + j + v), d, to + v);
    }
    if (whole == n) continue;
    for (int64_t c = 0; c < kColumns; ++c) to[c] = whole + c < n ? from[whole + c] : 0;
  }
}

void pack_columns_here(const Matrix& matrix, int64_t k, int64_t n, float* panels) {
  if (matrix.column_stride == 1) return pack_rows_of_columns(matrix, k, n, panels);
  for (int64_t j = 0; j < n; j += kColumns, panels += kColumns * k) {
    const int64_t columns = std::min<int64_t>(kColumns, n - j);
    const float* from = matrix.data + j * matrix.column_stride;
    if (matrix.row_stride == 1) {
      interleave(from, matrix.column_stride, columns, k, kColumns, panels);
      continue;
    }
    for (int64_t p = 0; p < k; ++p, from += matrix.row_stride) {
      float* to = panels + p * kColumns;
      for (int64_t c = 0; c < kColumns; ++c)
        to[c] = c < columns ? from[c * matrix.column_stride] : 0;
    }
  }
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(panel_size_here);
HWY_EXPORT(pack_rows_here);
HWY_EXPORT(pack_columns_here);

PanelSize panel_size() { return HWY_DYNAMIC_DISPATCH(panel_size_here)(); }

void pack_rows(const Matrix& matrix, int64_t m, int64_t k, float* panels) {
  HWY_DYNAMIC_DISPATCH(pack_rows_here)(matrix, m, k, panels);
}

void pack_columns(const Matrix& matrix, int64_t k, int64_t n, float* panels) {
  HWY_DYNAMIC_DISPATCH(pack_columns_here)(matrix, k, n, panels);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
