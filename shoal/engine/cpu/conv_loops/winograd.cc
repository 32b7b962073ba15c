// The transforms of F(m x m, r x r):
//   Y = A^T [(G g G^T) . (B^T d B)] A
// with d the input tile, g the filter and . the product of elements, which becomes a matrix product
// over channels (winograd_conv.cc). The matrices follow from m + r - 2 points and infinity: A^T has
// the powers of the points, G evaluates the filter at them, and B^T has the coefficients of
// interpolation, so that windows of 3 and of 5 share it where their tiles are equally large. The
// saving is r^2 m^2 / (m + r - 1)^2: 2.25, 4 and 5.06 for r = 3 and m = 2, 4 and 6; 2.78 and 6.25
// for r = 5 and m = 2 and 4. Powers of the points reach 32, so that rounding errors grow with the
// tile. A two-dimensional transform is the one-dimensional one of all columns, then of all rows;
// lanes are channels.
#include <algorithm>

#include "shoal/engine/cpu/conv_loops/conv_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/conv_loops/winograd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/conv_loops/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kLanes = HWY_LANES(float);

HWY_INLINE V times(float a, V x) { return hn::Mul(hn::Set(D(), a), x); }
HWY_INLINE V add(float a, V x, V y) { return hn::MulAdd(hn::Set(D(), a), x, y); }  // a x + y

// A point p > 0 and its negative. The rows of G of both have the factor `scale`.
struct Pair {
  float point, scale;
};

constexpr float power(float x, int exponent) {
  float product = 1;
  for (int i = 0; i < exponent; ++i) product *= x;
  return product;
}

// The points of a tile, and B^T in one dimension. The rows of a point and of its negative share
// their even and odd parts, which halves the multiplications. The first point is 0, with the factor
// kZero in G, and the last one infinity.
template <int edge>
struct Points;

template <>
struct Points<4> {
  static constexpr float kZero = 1;
  static constexpr Pair kPairs[] = {{1, 0.5f}};
  static HWY_INLINE void input(const V (&x)[4], V (&v)[4]) {
    v[0] = hn::Sub(x[0], x[2]);
    v[1] = hn::Add(x[1], x[2]);
    v[2] = hn::Sub(x[2], x[1]);
    v[3] = hn::Sub(x[3], x[1]);
  }
};

template <>
struct Points<6> {
  static constexpr float kZero = 0.25f;
  static constexpr Pair kPairs[] = {{1, -1.0f / 6}, {2, 1.0f / 24}};
  static HWY_INLINE void input(const V (&x)[6], V (&v)[6]) {
    const V even1 = add(-4, x[2], x[4]), odd1 = add(-4, x[1], x[3]);
    const V even2 = hn::Sub(x[4], x[2]), odd2 = times(2, hn::Sub(x[3], x[1]));
    v[0] = add(4, x[0], add(-5, x[2], x[4]));
    v[1] = hn::Add(even1, odd1);
    v[2] = hn::Sub(even1, odd1);
    v[3] = hn::Add(even2, odd2);
    v[4] = hn::Sub(even2, odd2);
    v[5] = add(4, x[1], add(-5, x[3], x[5]));
  }
};

template <>
struct Points<8> {
  static constexpr float kZero = 1;
  static constexpr Pair kPairs[] = {{1, -2.0f / 9}, {2, 1.0f / 90}, {0.5f, 32.0f / 45}};
  static HWY_INLINE void input(const V (&x)[8], V (&v)[8]) {
    const V even1 = hn::Add(add(-4.25f, x[4], x[2]), x[6]);
    const V odd1 = hn::Add(add(-4.25f, x[3], x[1]), x[5]);
    const V even2 = add(0.25f, x[2], add(-1.25f, x[4], x[6]));
    const V odd2 = add(0.5f, x[1], add(-2.5f, x[3], times(2, x[5])));
    const V even3 = add(4, x[2], add(-5, x[4], x[6]));
    const V odd3 = add(2, x[1], add(-2.5f, x[3], times(0.5f, x[5])));
    v[0] = add(5.25f, hn::Sub(x[4], x[2]), hn::Sub(x[0], x[6]));
    v[1] = hn::Add(even1, odd1);
    v[2] = hn::Sub(even1, odd1);
    v[3] = hn::Add(even2, odd2);
    v[4] = hn::Sub(even2, odd2);
    v[5] = hn::Add(even3, odd3);
    v[6] = hn::Sub(even3, odd3);
    v[7] = add(5.25f, hn::Sub(x[3], x[5]), hn::Sub(x[7], x[1]));
  }
};

// G in one dimension: the filter, as a polynomial, at each point.
template <int edge, int r>
HWY_INLINE void filter_at_points(const V (&g)[r], V (&u)[edge]) {
  using P = Points<edge>;
  u[0] = times(P::kZero, g[0]);
  for (int i = 0; i < edge / 2 - 1; ++i) {
    const auto [point, scale] = P::kPairs[i];
    V even = times(scale, g[0]), odd = times(scale * point, g[1]);
    for (int k = 2; k < r; k += 2) even = add(scale * power(point, k), g[k], even);
    for (int k = 3; k < r; k += 2) odd = add(scale * power(point, k), g[k], odd);
    u[1 + 2 * i] = hn::Add(even, odd);
    u[2 + 2 * i] = hn::Sub(even, odd);
  }
  u[edge - 1] = g[r - 1];
}

// A^T in one dimension. Loops are unrolled, so that z and y stay in registers.
template <int edge, int m>
HWY_INLINE void output_of_points(const V (&z)[edge], V (&y)[m]) {
  constexpr int kPairs = edge / 2 - 1;
  V even[kPairs], odd[kPairs];
#pragma GCC unroll 3
  for (int i = 0; i < kPairs; ++i) {
    even[i] = hn::Add(z[1 + 2 * i], z[2 + 2 * i]);
    odd[i] = hn::Sub(z[1 + 2 * i], z[2 + 2 * i]);
  }
#pragma GCC unroll 6
  for (int k = 0; k < m; ++k) {
    const V(&parts)[kPairs] = k % 2 == 0 ? even : odd;
    y[k] = parts[0];  // whose point is 1
#pragma GCC unroll 3
    for (int i = 1; i < kPairs; ++i) {
      y[k] = add(power(Points<edge>::kPairs[i].point, k), parts[i], y[k]);
    }
  }
  y[0] = hn::Add(y[0], z[0]);
  y[m - 1] = hn::Add(y[m - 1], z[edge - 1]);
}

// Matrix of vectors between the transform of columns and that of rows. It is too large for
// registers (up to 64 vectors) and stays in the first-level cache.
template <int kRows, int kColumns>
struct Between {
  alignas(64) float data[kRows][kColumns][kLanes];
};

template <int edge>
HWY_INLINE void load_column(const WinogradInput& input, int column, V (&x)[edge]) {
  const D d;
  const bool inside = column >= input.column_begin && column < input.column_end;
  for (int r = 0; r < edge; ++r) {
    const bool there = inside && r >= input.row_begin && r < input.row_end;
    x[r] = there ? hn::LoadU(d, input.x + (input.offset + r * input.row_stride + column * kLanes))
                 : hn::Zero(d);
  }
}

template <int edge>
void transform_input(const WinogradInput& input, float* HWY_RESTRICT v, int64_t stride) {
  const D d;
  // Most tiles lie inside the image and need no test per pixel.
  const bool whole = input.row_begin == 0 && input.row_end == edge && input.column_begin == 0 &&
                     input.column_end == edge;
  Between<edge, edge> between;
  for (int c = 0; c < edge; ++c) {
    V x[edge], t[edge];
    if (whole) {
      for (int r = 0; r < edge; ++r) {
        x[r] = hn::LoadU(d, input.x + (input.offset + r * input.row_stride + c * kLanes));
      }
    } else {
      load_column<edge>(input, c, x);
    }
    Points<edge>::input(x, t);
    for (int r = 0; r < edge; ++r) hn::Store(t[r], d, between.data[r][c]);
  }
  for (int r = 0; r < edge; ++r) {
    V x[edge], t[edge];
    for (int c = 0; c < edge; ++c) x[c] = hn::Load(d, between.data[r][c]);
    Points<edge>::input(x, t);
    for (int c = 0; c < edge; ++c) hn::StoreU(t[c], d, v + (r * edge + c) * stride);
  }
}

template <int edge, int m>
void transform_output(const float* HWY_RESTRICT z, int64_t stride, const WinogradOutput& output) {
  const D d;
  Between<m, edge> between;
  for (int c = 0; c < edge; ++c) {
    V x[edge], t[m];
    for (int r = 0; r < edge; ++r) x[r] = hn::LoadU(d, z + (r * edge + c) * stride);
    output_of_points<edge, m>(x, t);
    for (int r = 0; r < m; ++r) hn::Store(t[r], d, between.data[r][c]);
  }
  const V bias = hn::LoadU(d, output.bias);
  const Finisher finish(output.finish, 0);
  // Tiles at the right and lower edge compute m x m pixels, though fewer exist.
  for (int r = 0; r < output.rows; ++r) {
    V x[edge], t[m];
    for (int c = 0; c < edge; ++c) x[c] = hn::Load(d, between.data[r][c]);
    output_of_points<edge, m>(x, t);
    const int64_t at = r * output.row_stride;
#pragma GCC unroll 6
    for (int c = 0; c < m; ++c) {
      if (c >= output.columns) break;
      V y = hn::Add(t[c], bias);
      if (output.addend != nullptr) {
        y = hn::Add(y, hn::LoadU(d, output.addend + at + c * kLanes));
      }
      hn::StoreU(finish(y), d, output.y + at + c * kLanes);
    }
  }
}

template <int edge, int r>
void transform_filters(const float* HWY_RESTRICT g, float* HWY_RESTRICT u, int64_t stride) {
  const D d;
  V half[edge][r];
  for (int c = 0; c < r; ++c) {
    V x[r], t[edge];
    for (int k = 0; k < r; ++k) x[k] = hn::LoadU(d, g + (k * r + c) * kLanes);
    filter_at_points<edge, r>(x, t);
    for (int k = 0; k < edge; ++k) half[k][c] = t[k];
  }
  for (int k = 0; k < edge; ++k) {
    V t[edge];
    filter_at_points<edge, r>(half[k], t);
    for (int c = 0; c < edge; ++c) hn::StoreU(t[c], d, u + (k * edge + c) * stride);
  }
}

void winograd_input_here(const WinogradSize& size, const WinogradInput& input, float* v,
                         int64_t stride) {
  if (size.edge() == 4) return transform_input<4>(input, v, stride);
  if (size.edge() == 6) return transform_input<6>(input, v, stride);
  transform_input<8>(input, v, stride);
}

void winograd_output_here(const WinogradSize& size, const float* z, int64_t stride,
                          const WinogradOutput& output) {
  if (size.edge() == 4) return transform_output<4, 2>(z, stride, output);
  if (size.r == 3) {
    if (size.m == 4) return transform_output<6, 4>(z, stride, output);
    return transform_output<8, 6>(z, stride, output);
  }
  if (size.m == 2) return transform_output<6, 2>(z, stride, output);
  transform_output<8, 4>(z, stride, output);
}

void winograd_filters_here(const WinogradSize& size, const float* g, float* u, int64_t stride) {
  if (size.edge() == 4) return transform_filters<4, 3>(g, u, stride);
  if (size.r == 3) {
    if (size.m == 4) return transform_filters<6, 3>(g, u, stride);
    return transform_filters<8, 3>(g, u, stride);
  }
  if (size.m == 2) return transform_filters<6, 5>(g, u, stride);
  transform_filters<8, 5>(g, u, stride);
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(winograd_input_here);
HWY_EXPORT(winograd_output_here);
HWY_EXPORT(winograd_filters_here);

void winograd_input(const WinogradSize& size, const WinogradInput& input, float* v,
                    int64_t stride) {
  HWY_DYNAMIC_DISPATCH(winograd_input_here)(size, input, v, stride);
}
void winograd_output(const WinogradSize& size, const float* z, int64_t stride,
                     const WinogradOutput& output) {
  HWY_DYNAMIC_DISPATCH(winograd_output_here)(size, z, stride, output);
}
void winograd_filters(const WinogradSize& size, const float* g, float* u, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(winograd_filters_here)(size, g, u, stride);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
