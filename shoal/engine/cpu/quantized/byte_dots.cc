// Matrix products of bytes for a few rows: one byte is read per `rows` multiply-accumulates, so
// that memory is the limit. Four rows of b are read side by side, kRows rows of a meet each of
// their vectors, and lanes are added at the end. The sum of each row of b, for the zero point of a,
// is a product with ones, in the same pass. Sums wrap modulo 2^32, as in the reference.
//
// The dot product of ARM multiplies i8 by i8: sum of a b = sum of (a - 128) b + 128 sum of b.
#include <algorithm>

#include "shoal/engine/cpu/quantized/byte_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/quantized/byte_dots.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/quantized/requantize-inl.h"
// After the vectors' types.
#include "shoal/engine/cpu/quantized/byte_dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

// How products of two vectors of bytes are accumulated; lanes add up to the result in any order.
#if SHOAL_QUAD_DOT
struct Quads {
  using DBytes = hn::Repartition<uint8_t, DI>;
  static constexpr int64_t kBytes = HWY_LANES(uint8_t);
  static constexpr int32_t kOffset = QuadDot::kPixelOffset;  // subtracted from a

  static HWY_INLINE QuadDot::Pixel load_a(const uint8_t* a) {
    return QuadDot::pixel_of(hn::BitCast(DI(), hn::LoadU(DBytes(), a)));
  }
  static HWY_INLINE QuadDot::Weights load_b(const uint8_t* b, uint8_t flip) {
    const auto bytes = hn::Xor(hn::LoadU(DBytes(), b), hn::Set(DBytes(), flip));
    return QuadDot::weights_of(hn::BitCast(DI(), bytes));
  }
  static HWY_INLINE QuadDot::Pixel ones() {
    return QuadDot::pixel_of(hn::BitCast(DI(), hn::Set(DBytes(), 1 + kOffset)));
  }
  static HWY_INLINE void add(VI& sum, const QuadDot::Pixel& a, const QuadDot::Weights& b) {
    QuadDot::add(sum, a, b);
  }
};
#endif

#if HWY_TARGET == HWY_SCALAR
struct Pairs {
  static constexpr int64_t kBytes = 1;
  static constexpr int32_t kOffset = 0;

  static int32_t load_a(const uint8_t* a) { return *a; }
  static int32_t load_b(const uint8_t* b, uint8_t flip) { return static_cast<int8_t>(*b ^ flip); }
  static int32_t ones() { return 1; }
  static void add(VI& sum, int32_t a, int32_t b) { sum = hn::Add(sum, hn::Set(DI(), a * b)); }
};
#else
struct Pairs {
  static constexpr int64_t kBytes = HWY_LANES(int16_t);
  static constexpr int32_t kOffset = 0;
  using D16 = hn::Repartition<int16_t, DI>;
  using DU8 = hn::Rebind<uint8_t, D16>;  // as many as fit when widened to 16 bits
  using DI8 = hn::Rebind<int8_t, D16>;
  using V16 = hn::Vec<D16>;

  static HWY_INLINE V16 load_a(const uint8_t* a) {
    return hn::PromoteTo(D16(), hn::LoadU(DU8(), a));
  }
  static HWY_INLINE V16 load_b(const uint8_t* b, uint8_t flip) {
    const auto bytes = hn::Xor(hn::LoadU(DU8(), b), hn::Set(DU8(), flip));
    return hn::PromoteTo(D16(), hn::BitCast(DI8(), bytes));
  }
  static HWY_INLINE V16 ones() { return hn::Set(D16(), 1); }
  static HWY_INLINE void add(VI& sum, V16 a, V16 b) {
    VI other = hn::Zero(DI());
    sum = hn::ReorderWidenMulAccumulate(DI(), a, b, sum, other);
    sum = hn::Add(sum, other);
  }
};
#endif

template <class Dot, int kRows, int kColumns, bool kSums>
void multiply_tile(const ByteDots& dots, int64_t column) {
  const DI d;
  constexpr bool kAddsB = kSums || Dot::kOffset != 0;
  VI sum[kRows][kColumns], b_sum[kColumns];
  for (int c = 0; c < kColumns; ++c) {
    b_sum[c] = hn::Zero(d);
    for (int r = 0; r < kRows; ++r) sum[r][c] = hn::Zero(d);
  }
  const uint8_t* b = dots.b + column * dots.k;
  const auto add = [&](const auto& a_at, const auto& b_at) {
    decltype(Dot::ones()) a[kRows];
    for (int r = 0; r < kRows; ++r) a[r] = Dot::load_a(a_at(r));
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) {
      const auto w = Dot::load_b(b_at(c), dots.b_flip);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) Dot::add(sum[r][c], a[r], w);
      if constexpr (kAddsB) Dot::add(b_sum[c], Dot::ones(), w);
    }
  };
  int64_t k = 0;
  for (; k + Dot::kBytes <= dots.k; k += Dot::kBytes) {
    add([&](int r) { return dots.a + r * dots.k + k; }, [&](int c) { return b + c * dots.k + k; });
  }
  if (k < dots.k) {
    // The rest of k goes through buffers in which missing products are zero.
    uint8_t a_rest[kRows][Dot::kBytes], b_rest[kColumns][Dot::kBytes];
    for (auto& row : a_rest) {
      std::fill_n(row, Dot::kBytes, uint8_t{0});
      std::copy_n(dots.a + (&row - a_rest) * dots.k + k, dots.k - k, row);
    }
    for (auto& row : b_rest) {
      std::fill_n(row, Dot::kBytes, dots.b_flip);  // zero, once flipped
      std::copy_n(b + (&row - b_rest) * dots.k + k, dots.k - k, row);
    }
    add([&](int r) { return a_rest[r]; }, [&](int c) { return b_rest[c]; });
  }
  for (int c = 0; c < kColumns; ++c) {
    for (int r = 0; r < kRows; ++r) {
      if constexpr (Dot::kOffset != 0) {
        sum[r][c] = hn::Add(sum[r][c], hn::Mul(b_sum[c], hn::Set(d, Dot::kOffset)));
      }
      dots.sums[r * dots.sums_stride + column + c] = hn::GetLane(hn::SumOfLanes(d, sum[r][c]));
    }
    if constexpr (kSums) dots.b_sums[column + c] = hn::GetLane(hn::SumOfLanes(d, b_sum[c]));
  }
}

template <class Dot, int kRows, bool kSums>
void multiply_rows(const ByteDots& dots, int64_t begin, int64_t end) {
  constexpr int kColumns = 4;
  for (; begin + kColumns <= end; begin += kColumns) {
    multiply_tile<Dot, kRows, kColumns, kSums>(dots, begin);
  }
  for (; begin < end; ++begin) multiply_tile<Dot, kRows, 1, kSums>(dots, begin);
}

template <class Dot, bool kSums>
void multiply_any(const ByteDots& dots, int64_t begin, int64_t end) {
  if (dots.rows == 1) return multiply_rows<Dot, 1, kSums>(dots, begin, end);
  if (dots.rows == 2) return multiply_rows<Dot, 2, kSums>(dots, begin, end);
  if (dots.rows == 3) return multiply_rows<Dot, 3, kSums>(dots, begin, end);
  multiply_rows<Dot, 4, kSums>(dots, begin, end);
}

template <class Dot>
void multiply(const ByteDots& dots, int64_t begin, int64_t end) {
  if (dots.b_sums != nullptr) return multiply_any<Dot, true>(dots, begin, end);
  multiply_any<Dot, false>(dots, begin, end);
}

void multiply_here(const ByteDots& dots, int64_t begin, int64_t end) {
#if SHOAL_QUAD_DOT
  if (QuadDot::is_here()) return multiply<Quads>(dots, begin, end);
#endif
  multiply<Pairs>(dots, begin, end);
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(multiply_here);

void multiply_bytes(const ByteDots& dots, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(multiply_here)(dots, begin, end);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
