// The register block of matrix products. multiply_tile keeps kR x kW vector accumulators in
// registers and does one rank-1 update per step of k: load kW vectors of the right panel, broadcast
// kR elements of the left one, kR * kW FMA. At 8 x 3 that is 24 FMA for 11 loads, so the FMA units
// are the limit, not loads.
//
// Bias and addend initialise the accumulators, and clamps are applied before the only store: the
// epilogue needs no separate pass. Tiles of all smaller sizes are instantiated too, so that edges
// compute no rows and no vectors that do not exist.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "shoal/engine/cpu/product/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/product/product_tiles.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/elementwise/clamp-inl.h"
#include "shoal/engine/cpu/product/panels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

// Rows that lie a multiple of a page apart map to the same sets of a first-level cache. x86 caches
// have eight ways or more, which is enough for R rows; those of small ARM cores have two to four.
bool wants_panels_here(const Matrix& left) {
  constexpr int64_t kPage = 4096 / sizeof(float);
  constexpr bool kFewWays = HWY_ARCH_ARM != 0;
  return left.column_stride != 1 || (kFewWays && left.row_stride % kPage == 0);
}

// One tile of y as the innermost loop sees it. Its width is a whole number of vectors.
struct Tile {
  float* y;
  int64_t y_stride;
  const float* row_bias;
  const float* column_bias;
  const float* addend;
};

// Role of a pass over one part of k: the first does not read y, the last clamps.
struct Finish {
  bool first, last;
  float low, high;

  bool clamps() const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return last && (low > -kInfinity || high < kInfinity);
  }
};

// Calls f(row, vector) for every vector of a tile.
template <int kR, int kW, class F>
HWY_INLINE void for_each_vector(const F& f) {
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kW; ++v) f(r, v);
  }
}

// Initial accumulators: y of the pass before, or everything that is added, so that the store has
// nothing left to decide.
template <int kR, int kW>
HWY_INLINE void start(D d, V (&sum)[kR][kW], const Tile& tile, const Finish& finish) {
  auto at = [&](int r, int v) { return r * tile.y_stride + v * kLanes; };
  if (!finish.first) {
    for_each_vector<kR, kW>([&](int r, int v) { sum[r][v] = hn::LoadU(d, tile.y + at(r, v)); });
    return;
  }
  for_each_vector<kR, kW>([&](int r, int v) { sum[r][v] = hn::Zero(d); });
  if (tile.column_bias != nullptr) {
    for_each_vector<kR, kW>(
        [&](int r, int v) { sum[r][v] = hn::LoadU(d, tile.column_bias + v * kLanes); });
  }
  if (tile.row_bias != nullptr) {
    for_each_vector<kR, kW>(
        [&](int r, int v) { sum[r][v] = hn::Add(sum[r][v], hn::Set(d, tile.row_bias[r])); });
  }
  if (tile.addend != nullptr) {
    for_each_vector<kR, kW>([&](int r, int v) {
      sum[r][v] = hn::Add(sum[r][v], hn::LoadU(d, tile.addend + at(r, v)));
    });
  }
}

// tile (+)= left * right over k elements, kR rows and kW vectors of the panels.
template <int kR, int kW>
HWY_NOINLINE void multiply_tile(const LeftPanels& panel, const float* HWY_RESTRICT right, int64_t k,
                                const Tile& tile, const Finish& finish) {
  const D d;
  V sum[kR][kW];
  start<kR, kW>(d, sum, tile, finish);
  const float* HWY_RESTRICT left = panel.data;
  const int64_t row = panel.row, step = panel.step;
  for (int64_t p = 0; p < k; ++p, left += step, right += kColumns) {
    V column[kW];
    for (int v = 0; v < kW; ++v) column[v] = hn::Load(d, right + v * kLanes);
    for (int r = 0; r < kR; ++r) {
      const V factor = hn::Set(d, left[r * row]);
      for (int v = 0; v < kW; ++v) sum[r][v] = hn::MulAdd(factor, column[v], sum[r][v]);
    }
  }
  if (finish.clamps()) {
    const V low = hn::Set(d, finish.low), high = hn::Set(d, finish.high);
    for_each_vector<kR, kW>(
        [&](int r, int v) { sum[r][v] = at_most(high, at_least(low, sum[r][v])); });
  }
  for_each_vector<kR, kW>(
      [&](int r, int v) { hn::StoreU(sum[r][v], d, tile.y + r * tile.y_stride + v * kLanes); });
}

using TileFunction = void (*)(const LeftPanels&, const float*, int64_t, const Tile&, const Finish&);

template <int... kIndex>
constexpr std::array<TileFunction, sizeof...(kIndex)> tiles_of_all_sizes(
    std::integer_sequence<int, kIndex...>) {
  return {multiply_tile<kIndex / kVectors + 1, kIndex % kVectors + 1>...};
}

TileFunction tile_of(int64_t rows, int64_t vectors) {
  static constexpr auto kTiles =
      tiles_of_all_sizes(std::make_integer_sequence<int, kRows * kVectors>());
  return kTiles[static_cast<size_t>((rows - 1) * kVectors + vectors - 1)];
}

void copy_rows(const float* from, int64_t from_stride, float* to, int64_t to_stride, int64_t rows,
               int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(to + r * to_stride, from + r * from_stride,
                static_cast<size_t>(columns) * sizeof(float));
  }
}

// Tile that ends inside a vector: computed in a buffer; the part that exists is copied.
// Bias and addend are copied first, because reading beyond their ends is not allowed. Lanes beyond
// the edge hold garbage that no sum reads.
void multiply_edge(TileFunction multiply, const LeftPanels& left, const float* right, int64_t k,
                   int64_t rows, int64_t columns, const Tile& tile, const Finish& finish) {
  HWY_ALIGN float y[kRows * kColumns], addend[kRows * kColumns], column_bias[kColumns];
  Tile beside{y, kColumns, tile.row_bias, nullptr, nullptr};
  if (!finish.first) copy_rows(tile.y, tile.y_stride, y, kColumns, rows, columns);
  if (finish.first && tile.column_bias != nullptr) {
    copy_rows(tile.column_bias, 0, column_bias, 0, 1, columns);
    beside.column_bias = column_bias;
  }
  if (finish.first && tile.addend != nullptr) {
    copy_rows(tile.addend, tile.y_stride, addend, kColumns, rows, columns);
    beside.addend = addend;
  }
  multiply(left, right, k, beside, finish);
  copy_rows(y, kColumns, tile.y, tile.y_stride, rows, columns);
}

// The tile of the product whose first element is (i, j).
Tile tile_at(const Product& product, int64_t i, int64_t j) {
  const int64_t at = i * product.y_stride + j;
  auto offset = [](const float* p, int64_t n) { return p == nullptr ? nullptr : p + n; };
  return {product.y + at, product.y_stride, offset(product.row_bias, i),
          offset(product.column_bias, j), offset(product.addend, at)};
}

void multiply_block_here(const Product& product, const Block& block, const LeftPanels& left,
                         const RightPanels& right) {
  const Finish finish{block.k == 0, block.k_end == product.k, product.activation.low,
                      product.activation.high};
  const int64_t k = block.k_end - block.k;
  const int64_t row_panels = (block.i_end - block.i + kRows - 1) / kRows;
  const int64_t column_panels = (block.j_end - block.j + kColumns - 1) / kColumns;
  auto multiply_one = [&](int64_t row_panel, int64_t column_panel) {
    const int64_t i = block.i + row_panel * kRows, j = block.j + column_panel * kColumns;
    const int64_t rows = std::min<int64_t>(kRows, block.i_end - i);
    const int64_t columns = std::min<int64_t>(kColumns, block.j_end - j);
    const TileFunction multiply = tile_of(rows, (columns + kLanes - 1) / kLanes);
    const Tile tile = tile_at(product, i, j);
    LeftPanels panel = left;
    panel.data += row_panel * left.stride;
    const float* columns_of_panel = right.data + column_panel * right.stride;
    if (columns % kLanes == 0) {
      multiply(panel, columns_of_panel, k, tile, finish);
    } else {
      multiply_edge(multiply, panel, columns_of_panel, k, rows, columns, tile, finish);
    }
  };
  // The factor that was packed ahead may come from memory and is read once per block, in the outer
  // loop. The other one is small enough to stay in the second-level cache for the inner loop.
  if (product.packed_left != nullptr) {
    for (int64_t r = 0; r < row_panels; ++r) {
      for (int64_t c = 0; c < column_panels; ++c) multiply_one(r, c);
    }
  } else {
    for (int64_t c = 0; c < column_panels; ++c) {
      for (int64_t r = 0; r < row_panels; ++r) multiply_one(r, c);
    }
  }
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(wants_panels_here);
HWY_EXPORT(multiply_block_here);

bool wants_panels(const Matrix& left) { return HWY_DYNAMIC_DISPATCH(wants_panels_here)(left); }

void multiply_block(const Product& product, const Block& block, const LeftPanels& left,
                    const RightPanels& right) {
  HWY_DYNAMIC_DISPATCH(multiply_block_here)(product, block, left, right);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
