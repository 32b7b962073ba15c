// Gradient of weights, the register block:
//   dw[m, c, tap] += sum over pixels of x[c, pixel * stride + tap] * dy[m, pixel]
// Lanes are the output channels m of a block. Per pixel the tile loads one vector of dy and
// broadcasts kElements floats of x, which are consecutive channels and taps, for kElements FMA.
#include <array>
#include <utility>

#include "shoal/engine/cpu/conv_loops/conv_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/conv_loops/weights_tile.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kLanes = HWY_LANES(float);

// Accumulators, with a pixel of dy and one element beside them: 18 of 32 registers, or 14 of 16.
constexpr int kMost =
    HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON ? 16 : 12;

// This many independent accumulators hide the latency of FMA. Tiles with fewer elements keep two
// sums each, which alternate between pixels.
constexpr int kBusy = 8;

template <int kElements, int kTurns>
HWY_INLINE void add_pixel(const float* HWY_RESTRICT x, const float* HWY_RESTRICT dy, int turn,
                          V (&sum)[kTurns][kElements]) {
  const D d;
  const V gradient = hn::LoadU(d, dy);
#pragma GCC unroll 16
  for (int i = 0; i < kElements; ++i) {
    sum[turn][i] = hn::MulAdd(hn::Set(d, x[i]), gradient, sum[turn][i]);
  }
}

template <int kElements>
void sum_tile(const WeightsTile& tile) {
  constexpr int kTurns = kElements < kBusy ? 2 : 1;
  const D d;
  V sum[kTurns][kElements];
  for (auto& turn : sum) {
    for (V& v : turn) v = hn::Zero(d);
  }
  for (int64_t n = 0; n < tile.images; ++n) {
    for (int64_t row = 0; row < tile.rows; ++row) {
      const float* HWY_RESTRICT x = tile.x + n * tile.x_image + row * tile.x_row;
      const float* HWY_RESTRICT dy = tile.dy + n * tile.dy_image + row * tile.dy_row;
      int64_t i = 0;
      for (; i + kTurns <= tile.pixels; i += kTurns) {
#pragma GCC unroll 2
        for (int turn = 0; turn < kTurns; ++turn) {
          add_pixel<kElements, kTurns>(x, dy, turn, sum);
          x += tile.x_pixel;
          dy += kLanes;
        }
      }
      if (i < tile.pixels) add_pixel<kElements, kTurns>(x, dy, 0, sum);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kElements; ++i) {
    float* to = tile.sums + i * kLanes;
    V total = hn::Add(hn::LoadU(d, to), sum[0][i]);
    if constexpr (kTurns > 1) total = hn::Add(total, sum[1][i]);
    hn::StoreU(total, d, to);
  }
}

template <int... kIndex>
WeightsTileFunction function_of(int64_t elements, std::integer_sequence<int, kIndex...>) {
  static constexpr std::array<WeightsTileFunction, sizeof...(kIndex)> kFunctions = {
      sum_tile<kIndex + 1>...};
  return kFunctions[static_cast<size_t>(elements - 1)];
}

WeightsTileFunction weights_tile_function_here(int64_t elements) {
  return function_of(elements, std::make_integer_sequence<int, kMost>());
}

int64_t most_elements_here() { return kMost; }

void add_products_here(const float* x, int64_t step, const float* dy, int64_t pixels, float* sum) {
  constexpr int64_t kSums = 4;
  const D d;
  V total[kSums] = {hn::LoadU(d, sum), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  int64_t i = 0;
  for (; i + kSums <= pixels; i += kSums) {
#pragma GCC unroll 4
    for (int64_t k = 0; k < kSums; ++k) {
      total[k] = hn::MulAdd(hn::LoadU(d, x + (i + k) * step), hn::LoadU(d, dy + (i + k) * kLanes),
                            total[k]);
    }
  }
  for (; i < pixels; ++i) {
    total[0] = hn::MulAdd(hn::LoadU(d, x + i * step), hn::LoadU(d, dy + i * kLanes), total[0]);
  }
  hn::StoreU(hn::Add(hn::Add(total[0], total[1]), hn::Add(total[2], total[3])), d, sum);
}

void add_pixels_here(const float* dy, int64_t pixels, float* sum) {
  constexpr int64_t kSums = 4;
  const D d;
  V total[kSums] = {hn::LoadU(d, sum), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  int64_t i = 0;
  for (; i + kSums <= pixels; i += kSums) {
#pragma GCC unroll 4
    for (int64_t k = 0; k < kSums; ++k) {
      total[k] = hn::Add(total[k], hn::LoadU(d, dy + (i + k) * kLanes));
    }
  }
  for (; i < pixels; ++i) total[0] = hn::Add(total[0], hn::LoadU(d, dy + i * kLanes));
  hn::StoreU(hn::Add(hn::Add(total[0], total[1]), hn::Add(total[2], total[3])), d, sum);
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(weights_tile_function_here);
HWY_EXPORT(most_elements_here);
HWY_EXPORT(add_products_here);
HWY_EXPORT(add_pixels_here);

WeightsTileFunction weights_tile_function(int64_t elements) {
  return HWY_DYNAMIC_DISPATCH(weights_tile_function_here)(elements);
}
int64_t most_elements() { return HWY_DYNAMIC_DISPATCH(most_elements_here)(); }
void add_products(const float* x, int64_t step, const float* dy, int64_t pixels, float* sum) {
  HWY_DYNAMIC_DISPATCH(add_products_here)(x, step, dy, pixels, sum);
}
void add_pixels(const float* dy, int64_t pixels, float* sum) {
  HWY_DYNAMIC_DISPATCH(add_pixels_here)(dy, pixels, sum);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
