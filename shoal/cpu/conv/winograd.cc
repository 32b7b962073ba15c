// The transforms of F(m x m, 3 x 3):
//   Y = A^T [(G g G^T) . (B^T d B)] A
// with d the input tile, g the filter and . the product of elements, which becomes a matrix product
// over channels (winograd_conv.cc). The matrices follow from m + 1 points and infinity: A^T has the
// powers of the points, G evaluates the filter at them, and B^T has the coefficients of
// interpolation. The saving is 9 m^2 / (m + 2)^2: 2.25, 4 and 5.06 for m = 2, 4 and 6. Coefficients
// of A^T reach 1, 8 and 32, so that rounding errors grow with m. A two-dimensional transform is the
// one-dimensional one of all columns, then of all rows; lanes are channels.
#include "shoal/cpu/conv/winograd.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/cpu/conv/winograd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/cpu/conv/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kLanes = HWY_LANES(float);

HWY_INLINE V times(float a, V x) { return hn::Mul(hn::Set(D(), a), x); }
HWY_INLINE V add(float a, V x, V y) { return hn::MulAdd(hn::Set(D(), a), x, y); }  // a x + y

// One-dimensional transforms: input() is B^T, filter() is G, output() is A^T. The matrix rows of a
// point and of its negative share their even and odd parts, which halves the multiplications.
template <int m>
struct Points;

template <>
struct Points<2> {  // 0, 1, -1, infinity
  static HWY_INLINE void input(const V (&x)[4], V (&v)[4]) {
    v[0] = hn::Sub(x[0], x[2]);
    v[1] = hn::Add(x[1], x[2]);
    v[2] = hn::Sub(x[2], x[1]);
    v[3] = hn::Sub(x[3], x[1]);
  }
  static HWY_INLINE void filter(const V (&g)[3], V (&u)[4]) {
    const V even = times(0.5f, hn::Add(g[0], g[2])), odd = times(0.5f, g[1]);
    u[0] = g[0];
    u[1] = hn::Add(even, odd);
    u[2] = hn::Sub(even, odd);
    u[3] = g[2];
  }
  static HWY_INLINE void output(const V (&z)[4], V (&y)[2]) {
    y[0] = hn::Add(hn::Add(z[0], z[1]), z[2]);
    y[1] = hn::Add(hn::Sub(z[1], z[2]), z[3]);
  }
};

template <>
struct Points<4> {  // 0, 1, -1, 2, -2, infinity
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
  static HWY_INLINE void filter(const V (&g)[3], V (&u)[6]) {
    const V even1 = times(-1.0f / 6, hn::Add(g[0], g[2])), odd1 = times(-1.0f / 6, g[1]);
    const V even2 = add(1.0f / 24, g[0], times(1.0f / 6, g[2])), odd2 = times(1.0f / 12, g[1]);
    u[0] = times(0.25f, g[0]);
    u[1] = hn::Add(even1, odd1);
    u[2] = hn::Sub(even1, odd1);
    u[3] = hn::Add(even2, odd2);
    u[4] = hn::Sub(even2, odd2);
    u[5] = g[2];
  }
  static HWY_INLINE void output(const V (&z)[6], V (&y)[4]) {
    const V even1 = hn::Add(z[1], z[2]), odd1 = hn::Sub(z[1], z[2]);
    const V even2 = hn::Add(z[3], z[4]), odd2 = hn::Sub(z[3], z[4]);
    y[0] = hn::Add(hn::Add(z[0], even1), even2);
    y[1] = add(2, odd2, odd1);
    y[2] = add(4, even2, even1);
    y[3] = hn::Add(add(8, odd2, odd1), z[5]);
  }
};

template <>
struct Points<6> {  // 0, 1, -1, 2, -2, 1/2, -1/2, infinity
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
  static HWY_INLINE void filter(const V (&g)[3], V (&u)[8]) {
    const V even1 = times(-2.0f / 9, hn::Add(g[0], g[2])), odd1 = times(-2.0f / 9, g[1]);
    const V even2 = add(1.0f / 90, g[0], times(2.0f / 45, g[2])), odd2 = times(1.0f / 45, g[1]);
    const V even3 = add(32.0f / 45, g[0], times(8.0f / 45, g[2])), odd3 = times(16.0f / 45, g[1]);
    u[0] = g[0];
    u[1] = hn::Add(even1, odd1);
    u[2] = hn::Sub(even1, odd1);
    u[3] = hn::Add(even2, odd2);
    u[4] = hn::Sub(even2, odd2);
    u[5] = hn::Add(even3, odd3);
    u[6] = hn::Sub(even3, odd3);
    u[7] = g[2];
  }
  static HWY_INLINE void output(const V (&z)[8], V (&y)[6]) {
    const V even1 = hn::Add(z[1], z[2]), odd1 = hn::Sub(z[1], z[2]);
    const V even2 = hn::Add(z[3], z[4]), odd2 = hn::Sub(z[3], z[4]);
    const V even3 = hn::Add(z[5], z[6]), odd3 = hn::Sub(z[5], z[6]);
    y[0] = hn::Add(hn::Add(z[0], even1), hn::Add(even2, even3));
    y[1] = add(2, odd2, add(0.5f, odd3, odd1));
    y[2] = add(4, even2, add(0.25f, even3, even1));
    y[3] = add(8, odd2, add(0.125f, odd3, odd1));
    y[4] = add(16, even2, add(0.0625f, even3, even1));
    y[5] = hn::Add(add(32, odd2, add(0.03125f, odd3, odd1)), z[7]);
  }
};

// Matrix of vectors between the transform of columns and that of rows. It is too large for
// registers (up to 64 vectors) and stays in the first-level cache.
template <int kRows, int kColumns>
struct Between {
  alignas(64) float data[kRows][kColumns][kLanes];
};

template <int m>
HWY_INLINE void load_column(const WinogradInput& input, int column, V (&x)[m + 2]) {
  const D d;
  const bool inside = column >= input.column_begin && column < input.column_end;
  for (int r = 0; r < m + 2; ++r) {
    const bool there = inside && r >= input.row_begin && r < input.row_end;
    x[r] = there ? hn::LoadU(d, input.x + (input.offset + r * input.row_stride + column * kLanes))
                 : hn::Zero(d);
  }
}

template <int m>
void transform_input(const WinogradInput& input, float* HWY_RESTRICT v, int64_t stride) {
  constexpr int kEdge = m + 2;
  const D d;
  // Most tiles lie inside the image and need no test per pixel.
  const bool whole = input.row_begin == 0 && input.row_end == kEdge && input.column_begin == 0 &&
                     input.column_end == kEdge;
  Between<kEdge, kEdge> between;
  for (int c = 0; c < kEdge; ++c) {
    V x[kEdge], t[kEdge];
    if (whole) {
      for (int r = 0; r < kEdge; ++r) {
        x[r] = hn::LoadU(d, input.x + (input.offset + r * input.row_stride + c * kLanes));
      }
    } else {
      load_column<m>(input, c, x);
    }
    Points<m>::input(x, t);
    for (int r = 0; r < kEdge; ++r) hn::Store(t[r], d, between.data[r][c]);
  }
  for (int r = 0; r < kEdge; ++r) {
    V x[kEdge], t[kEdge];
    for (int c = 0; c < kEdge; ++c) x[c] = hn::Load(d, between.data[r][c]);
    Points<m>::input(x, t);
    for (int c = 0; c < kEdge; ++c) hn::StoreU(t[c], d, v + (r * kEdge + c) * stride);
  }
}

template <int m>
void transform_output(const float* HWY_RESTRICT z, int64_t stride, const WinogradOutput& output) {
  constexpr int kEdge = m + 2;
  const D d;
  Between<m, kEdge> between;
  for (int c = 0; c < kEdge; ++c) {
    V x[kEdge], t[m];
    for (int r = 0; r < kEdge; ++r) x[r] = hn::LoadU(d, z + (r * kEdge + c) * stride);
    Points<m>::output(x, t);
    for (int r = 0; r < m; ++r) hn::Store(t[r], d, between.data[r][c]);
  }
  const V bias = hn::LoadU(d, output.bias);
  const Finisher finish(output.finish, 0);
  // Tiles at the right and lower edge compute m x m pixels, of which fewer exist.
  for (int r = 0; r < output.rows; ++r) {
    V x[kEdge], t[m];
    for (int c = 0; c < kEdge; ++c) x[c] = hn::Load(d, between.data[r][c]);
    Points<m>::output(x, t);
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

template <int m>
void transform_filters(const float* HWY_RESTRICT g, float* HWY_RESTRICT u, int64_t stride) {
  constexpr int kEdge = m + 2;
  const D d;
  V half[kEdge][3];
  for (int c = 0; c < 3; ++c) {
    V x[3], t[kEdge];
    for (int r = 0; r < 3; ++r) x[r] = hn::LoadU(d, g + (r * 3 + c) * kLanes);
    Points<m>::filter(x, t);
    for (int r = 0; r < kEdge; ++r) half[r][c] = t[r];
  }
  for (int r = 0; r < kEdge; ++r) {
    V t[kEdge];
    Points<m>::filter(half[r], t);
    for (int c = 0; c < kEdge; ++c) hn::StoreU(t[c], d, u + (r * kEdge + c) * stride);
  }
}

void winograd_input_here(int m, const WinogradInput& input, float* v, int64_t stride) {
  if (m == 2) return transform_input<2>(input, v, stride);
  if (m == 4) return transform_input<4>(input, v, stride);
  transform_input<6>(input, v, stride);
}

void winograd_output_here(int m, const float* z, int64_t stride, const WinogradOutput& output) {
  if (m == 2) return transform_output<2>(z, stride, output);
  if (m == 4) return transform_output<4>(z, stride, output);
  transform_output<6>(z, stride, output);
}

void winograd_filters_here(int m, const float* g, float* u, int64_t stride) {
  if (m == 2) return transform_filters<2>(g, u, stride);
  if (m == 4) return transform_filters<4>(g, u, stride);
  transform_filters<6>(g, u, stride);
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(winograd_input_here);
HWY_EXPORT(winograd_output_here);
HWY_EXPORT(winograd_filters_here);

void winograd_input(int m, const WinogradInput& input, float* v, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(winograd_input_here)(m, input, v, stride);
}
void winograd_output(int m, const float* z, int64_t stride, const WinogradOutput& output) {
  HWY_DYNAMIC_DISPATCH(winograd_output_here)(m, z, stride, output);
}
void winograd_filters(int m, const float* g, float* u, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(winograd_filters_here)(m, g, u, stride);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
