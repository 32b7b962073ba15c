#include "shoal/cpu/product_tiles.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/cpu/product_tiles.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// kRows * kVectors sums, kVectors columns and one element of the left factor are in registers at
// once: 28 of 32, or 16 of 16.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
constexpr int kRows = 8;
#else
constexpr int kRows = 4;
#endif
constexpr int kVectors = 3;
constexpr int kLanes = HWY_LANES(float);
constexpr int kColumns = kVectors * kLanes;
static_assert(kColumns <= kMaxPanelColumns && kLanes <= kPanelSlack);

PanelSize panel_size_here() { return {kRows, kColumns}; }

// One tile of y as the innermost loop sees it: a whole one, at least in width a whole vector.
struct Tile {
  float* y;
  int64_t y_stride;
  const float* row_bias;
  const float* column_bias;
  const float* addend;
};

// What a pass over one part of k does with y: the first does not read it, the last finishes it.
struct Finish {
  bool first, last;
  float scale, low, high;
};

template <int kWidth>
HWY_INLINE void store(D d, V (&sum)[kRows][kWidth], const Tile& tile, const Finish& finish) {
  const V scale = hn::Set(d, finish.scale);
  const V low = hn::Set(d, finish.low), high = hn::Set(d, finish.high);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kWidth; ++v) {
      const int64_t at = r * tile.y_stride + v * kLanes;
      V y = hn::Mul(sum[r][v], scale);
      if (!finish.first) y = hn::Add(y, hn::LoadU(d, tile.y + at));
      if (finish.last) {
        if (tile.row_bias != nullptr) y = hn::Add(y, hn::Set(d, tile.row_bias[r]));
        if (tile.column_bias != nullptr) {
          y = hn::Add(y, hn::LoadU(d, tile.column_bias + v * kLanes));
        }
        if (tile.addend != nullptr) y = hn::Add(y, hn::LoadU(d, tile.addend + at));
        y = hn::Min(high, hn::Max(low, y));  // in this order a NaN stays one
      }
      hn::StoreU(y, d, tile.y + at);
    }
  }
}

// tile (+)= left * right over k elements; left is a panel of kRows, right one of kColumns of which
// the first kWidth vectors count.
template <int kWidth>
HWY_NOINLINE void multiply_tile(const float* HWY_RESTRICT left, const float* HWY_RESTRICT right,
                                int64_t k, const Tile& tile, const Finish& finish) {
  const D d;
  V sum[kRows][kWidth];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kWidth; ++v) sum[r][v] = hn::Zero(d);
  }
  for (int64_t p = 0; p < k; ++p, left += kRows, right += kColumns) {
    V column[kWidth];
    for (int v = 0; v < kWidth; ++v) column[v] = hn::Load(d, right + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const V row = hn::Set(d, left[r]);
      for (int v = 0; v < kWidth; ++v) sum[r][v] = hn::MulAdd(row, column[v], sum[r][v]);
    }
  }
  store<kWidth>(d, sum, tile, finish);
}

void multiply_width(int vectors, const float* left, const float* right, int64_t k, const Tile& tile,
                    const Finish& finish) {
  static_assert(kVectors == 3);
  if (vectors == 3) return multiply_tile<3>(left, right, k, tile, finish);
  if (vectors == 2) return multiply_tile<2>(left, right, k, tile, finish);
  multiply_tile<1>(left, right, k, tile, finish);
}

void copy_rows(const float* from, int64_t from_stride, float* to, int64_t to_stride, int64_t rows,
               int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(to + r * to_stride, from + r * from_stride,
                static_cast<size_t>(columns) * sizeof(float));
  }
}

// At the lower and right edge: the tile is computed whole beside y, then the part that exists is
// copied. Bias and addend are copied too, for there is nothing to read beyond their ends.
void multiply_edge(const float* left, const float* right, int64_t k, int64_t rows, int64_t columns,
                   const Tile& tile, const Finish& finish) {
  HWY_ALIGN float y[kRows * kColumns] = {}, addend[kRows * kColumns] = {};
  HWY_ALIGN float column_bias[kColumns] = {}, row_bias[kRows] = {};
  Tile beside{y, kColumns, nullptr, nullptr, nullptr};
  if (!finish.first) copy_rows(tile.y, tile.y_stride, y, kColumns, rows, columns);
  if (finish.last && tile.row_bias != nullptr) {
    copy_rows(tile.row_bias, 0, row_bias, 0, 1, rows);
    beside.row_bias = row_bias;
  }
  if (finish.last && tile.column_bias != nullptr) {
    copy_rows(tile.column_bias, 0, column_bias, 0, 1, columns);
    beside.column_bias = column_bias;
  }
  if (finish.last && tile.addend != nullptr) {
    copy_rows(tile.addend, tile.y_stride, addend, kColumns, rows, columns);
    beside.addend = addend;
  }
  const int vectors = static_cast<int>((columns + kLanes - 1) / kLanes);
  multiply_width(vectors, left, right, k, beside, finish);
  copy_rows(y, kColumns, tile.y, tile.y_stride, rows, columns);
}

// The tile of the product whose first element is (i, j).
Tile tile_at(const Product& product, int64_t i, int64_t j) {
  const int64_t at = i * product.y_stride + j;
  auto offset = [](const float* p, int64_t n) { return p == nullptr ? nullptr : p + n; };
  return {product.y + at, product.y_stride, offset(product.row_bias, i),
          offset(product.column_bias, j), offset(product.addend, at)};
}

void multiply_block_here(const Product& product, const Block& block, const float* left,
                         int64_t left_stride, const float* right) {
  const Finish finish{block.k == 0, block.k_end == product.k, product.scale, product.activation.low,
                      product.activation.high};
  const int64_t k = block.k_end - block.k;
  for (int64_t i = block.i; i < block.i_end; i += kRows, left += left_stride) {
    const int64_t rows = std::min<int64_t>(kRows, block.i_end - i);
    const float* panel = right;
    for (int64_t j = block.j; j < block.j_end; j += kColumns, panel += k * kColumns) {
      const int64_t columns = std::min<int64_t>(kColumns, block.j_end - j);
      const Tile tile = tile_at(product, i, j);
      if (rows == kRows && columns % kLanes == 0) {
        multiply_width(static_cast<int>(columns / kLanes), left, panel, k, tile, finish);
      } else {
        multiply_edge(left, panel, k, rows, columns, tile, finish);
      }
    }
  }
}

void pack_rows_here(const Matrix& matrix, int64_t m, int64_t k, float* panels) {
  for (int64_t i = 0; i < m; i += kRows) {
    const int64_t rows = std::min<int64_t>(kRows, m - i);
    const float* from = matrix.data + i * matrix.row_stride;
    for (int64_t p = 0; p < k; ++p, panels += kRows, from += matrix.column_stride) {
      for (int64_t r = 0; r < rows; ++r) panels[r] = from[r * matrix.row_stride];
      for (int64_t r = rows; r < kRows; ++r) panels[r] = 0;
    }
  }
}

void pack_columns_here(const Matrix& matrix, int64_t k, int64_t n, float* panels) {
  for (int64_t j = 0; j < n; j += kColumns) {
    const int64_t columns = std::min<int64_t>(kColumns, n - j);
    const float* from = matrix.data + j * matrix.column_stride;
    for (int64_t p = 0; p < k; ++p, panels += kColumns, from += matrix.row_stride) {
      if (matrix.column_stride == 1) {
        for (int64_t c = 0; c < columns; ++c) panels[c] = from[c];
      } else {
        for (int64_t c = 0; c < columns; ++c) panels[c] = from[c * matrix.column_stride];
      }
      for (int64_t c = columns; c < kColumns; ++c) panels[c] = 0;
    }
  }
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(panel_size_here);
HWY_EXPORT(multiply_block_here);
HWY_EXPORT(pack_rows_here);
HWY_EXPORT(pack_columns_here);

PanelSize panel_size() { return HWY_DYNAMIC_DISPATCH(panel_size_here)(); }

void multiply_block(const Product& product, const Block& block, const float* left,
                    int64_t left_stride, const float* right) {
  HWY_DYNAMIC_DISPATCH(multiply_block_here)(product, block, left, left_stride, right);
}

void pack_rows(const Matrix& matrix, int64_t m, int64_t k, float* panels) {
  HWY_DYNAMIC_DISPATCH(pack_rows_here)(matrix, m, k, panels);
}

void pack_columns(const Matrix& matrix, int64_t k, int64_t n, float* panels) {
  HWY_DYNAMIC_DISPATCH(pack_columns_here)(matrix, k, n, panels);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
