// The last vector of a loop uses copies padded with zeros: groups are as short as a filter of 25
// weights. Zeros do not change sums; counts are corrected.
#include "shoal/train/distributed/codec/kernels.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/train/distributed/codec/kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::learn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DI = hn::RebindToSigned<D>;
using DU = hn::RebindToUnsigned<D>;
using VU = hn::Vec<DU>;
using Codes = hn::Rebind<uint8_t, D>;  // as many bytes as a vector has floats

constexpr size_t kLanes = HWY_LANES(float);

// All lanes of a vector, or the first ones only.
struct Full {};
struct Part {
  size_t count;
};

template <class Tag>
HWY_INLINE hn::Vec<Tag> load(Tag tag, const hn::TFromD<Tag>* from, Full) {
  return hn::LoadU(tag, from);
}
template <class Tag>
HWY_INLINE hn::Vec<Tag> load(Tag tag, const hn::TFromD<Tag>* from, Part part) {
  HWY_ALIGN hn::TFromD<Tag> copy[kLanes] = {};
  std::copy_n(from, part.count, copy);
  return hn::Load(tag, copy);
}
template <class Tag>
HWY_INLINE void store(hn::Vec<Tag> v, Tag tag, hn::TFromD<Tag>* to, Full) {
  hn::StoreU(v, tag, to);
}
template <class Tag>
HWY_INLINE void store(hn::Vec<Tag> v, Tag tag, hn::TFromD<Tag>* to, Part part) {
  HWY_ALIGN hn::TFromD<Tag> copy[kLanes];
  hn::Store(v, tag, copy);
  std::copy_n(copy, part.count, to);
}

// f(index of the first element, Full or Part) for each vector of n elements.
template <class F>
HWY_INLINE void for_vectors(size_t n, const F& f) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i, Full{});
  if (i < n) f(i, Part{n - i});
}

bool is_within_here(std::span<const float> x, float limit) {
  const D d;
  const V most = hn::Set(d, limit);
  auto all = hn::Eq(most, most);
  for_vectors(x.size(), [&](size_t i, auto part) HWY_ATTR {
    all = hn::And(all, hn::Le(hn::Abs(load(d, x.data() + i, part)), most));
  });
  return hn::AllTrue(d, all);
}

float max_abs_here(std::span<const float> x) {
  const D d;
  V most = hn::Zero(d);
  for_vectors(x.size(), [&](size_t i, auto part) HWY_ATTR {
    most = hn::Max(most, hn::Abs(load(d, x.data() + i, part)));
  });
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

float dot_here(std::span<const float> a, std::span<const float> b) {
  const D d;
  V sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  size_t i = 0;
  for (; i + 4 * kLanes <= a.size(); i += 4 * kLanes) {
    for (size_t k = 0; k < 4; ++k) {
      const size_t at = i + k * kLanes;
      sums[k] = hn::MulAdd(hn::LoadU(d, a.data() + at), hn::LoadU(d, b.data() + at), sums[k]);
    }
  }
  for_vectors(a.size() - i, [&](size_t j, auto part) HWY_ATTR {
    sums[0] = hn::MulAdd(load(d, a.data() + i + j, part), load(d, b.data() + i + j, part), sums[0]);
  });
  const V sum = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void add_scaled_here(std::span<float> y, float a, std::span<const float> x) {
  const D d;
  const V factor = hn::Set(d, a);
  for_vectors(y.size(), [&](size_t i, auto part) HWY_ATTR {
    const V product = hn::Mul(factor, load(d, x.data() + i, part));
    store(hn::Add(load(d, y.data() + i, part), product), d, y.data() + i, part);
  });
}

// Two steps at once: four vectors are read and written, not eight. Sums are those of single steps.
void hadamard_here(std::span<float> y, size_t apart) {
  const D d;
  size_t half = apart;
  for (; 4 * half <= y.size(); half *= 4) {
    for (size_t first = 0; first < y.size(); first += 4 * half) {
      for_vectors(half, [&](size_t i, auto part) HWY_ATTR {
        float* const at = y.data() + first + i;
        const V a = load(d, at, part), b = load(d, at + half, part);
        const V c = load(d, at + 2 * half, part), e = load(d, at + 3 * half, part);
        const V left = hn::Add(a, b), right = hn::Add(c, e);
        const V left_rest = hn::Sub(a, b), right_rest = hn::Sub(c, e);
        store(hn::Add(left, right), d, at, part);
        store(hn::Add(left_rest, right_rest), d, at + half, part);
        store(hn::Sub(left, right), d, at + 2 * half, part);
        store(hn::Sub(left_rest, right_rest), d, at + 3 * half, part);
      });
    }
  }
  if (half == y.size()) return;
  for_vectors(half, [&](size_t i, auto part) HWY_ATTR {
    float* const at = y.data() + i;
    const V a = load(d, at, part), b = load(d, at + half, part);
    store(hn::Add(a, b), d, at, part);
    store(hn::Sub(a, b), d, at + half, part);
  });
}

// Highway reads and writes up to eight bytes of bits, which a word has.
HWY_INLINE hn::Mask<D> mask_of(uint64_t bits) {
  return hn::LoadMaskBits(D(), reinterpret_cast<const uint8_t*>(&bits));
}

void turn_here(std::span<const float> x, const uint64_t* bits, float factor, std::span<float> y) {
  const D d;
  const V one = hn::Set(d, factor), zero = hn::Set(d, -factor);
  for (size_t i = 0; i < y.size(); i += 64) {
    for (size_t k = 0; k < 64; k += kLanes) {
      const V size = hn::IfThenElse(mask_of(bits[i / 64] >> k), one, zero);
      hn::StoreU(hn::Mul(hn::LoadU(d, x.data() + i + k), size), d, y.data() + i + k);
    }
  }
}

float to_signs_here(std::span<const float> x, uint64_t* bits) {
  const D d;
  V sums[2] = {hn::Zero(d), hn::Zero(d)};
  for (size_t i = 0; i < x.size(); i += 64) {
    uint64_t word = 0;
    for (size_t k = 0; k < 64; k += kLanes) {
      const V v = hn::LoadU(d, x.data() + i + k);
      V& sum = sums[k / kLanes % 2];
      sum = hn::Add(sum, hn::Abs(v));
      uint64_t part = 0;
      hn::StoreMaskBits(d, hn::Ge(v, hn::Zero(d)), reinterpret_cast<uint8_t*>(&part));
      word |= part << k;
    }
    bits[i / 64] = word;
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sums[0], sums[1])));
}

void from_signs_here(const uint64_t* bits, std::span<float> y) {
  const D d;
  const V one = hn::Set(d, 1.0f), zero = hn::Set(d, -1.0f);
  for (size_t i = 0; i < y.size(); i += 64) {
    for (size_t k = 0; k < 64; k += kLanes) {
      hn::StoreU(hn::IfThenElse(mask_of(bits[i / 64] >> k), one, zero), d, y.data() + i + k);
    }
  }
}

void to_f16_here(std::span<const float> x, uint16_t* y) {
  const D d;
  const hn::Rebind<uint16_t, D> bits;
  const hn::Rebind<hwy::float16_t, D> half;
  const V most = hn::Set(d, 65504.0f);
  for_vectors(x.size(), [&](size_t i, auto part) HWY_ATTR {
    const V v = hn::Min(hn::Max(load(d, x.data() + i, part), hn::Neg(most)), most);
    store(hn::BitCast(bits, hn::DemoteTo(half, v)), bits, y + i, part);
  });
}

void from_f16_here(const uint16_t* x, std::span<float> y) {
  const D d;
  const hn::Rebind<uint16_t, D> bits;
  const hn::Rebind<hwy::float16_t, D> half;
  for_vectors(y.size(), [&](size_t i, auto part) HWY_ATTR {
    const auto v = hn::BitCast(half, load(bits, x + i, part));
    store(hn::PromoteTo(d, v), d, y.data() + i, part);
  });
}

void to_i8_here(std::span<const float> x, float factor, int8_t* y) {
  const D d;
  const hn::Rebind<int8_t, D> bytes;
  for_vectors(x.size(), [&](size_t i, auto part) HWY_ATTR {
    const V v = hn::Mul(load(d, x.data() + i, part), hn::Set(d, factor));
    store(hn::DemoteTo(bytes, hn::NearestInt(v)), bytes, y + i, part);
  });
}

void from_i8_here(const int8_t* x, float factor, std::span<float> y) {
  const D d;
  const hn::Rebind<int8_t, D> bytes;
  for_vectors(y.size(), [&](size_t i, auto part) HWY_ATTR {
    const V v = hn::ConvertTo(d, hn::PromoteTo(DI(), load(bytes, x + i, part)));
    store(hn::Mul(v, hn::Set(d, factor)), d, y.data() + i, part);
  });
}

Sides add_and_split_here(std::span<const float> g, std::span<float> v, uint8_t* codes) {
  const D d;
  const DI integers;
  V positive = hn::Zero(d), negative = hn::Zero(d);
  auto count = hn::Zero(integers);
  for_vectors(v.size(), [&](size_t i, auto part) HWY_ATTR {
    const V sum = hn::Add(load(d, v.data() + i, part), load(d, g.data() + i, part));
    const auto is_positive = hn::Ge(sum, hn::Zero(d));
    const auto ones =
        hn::IfThenElseZero(hn::RebindMask(integers, is_positive), hn::Set(integers, 1));
    positive = hn::Add(positive, hn::IfThenElseZero(is_positive, sum));
    negative = hn::Add(negative, hn::IfThenZeroElse(is_positive, sum));
    count = hn::Add(count, ones);
    store(sum, d, v.data() + i, part);
    store(hn::DemoteTo(Codes(), ones), Codes(), codes + i, part);
  });
  const size_t filled_up = (kLanes - v.size() % kLanes) % kLanes;
  return {hn::GetLane(hn::SumOfLanes(d, positive)), hn::GetLane(hn::SumOfLanes(d, negative)),
          static_cast<size_t>(hn::GetLane(hn::SumOfLanes(integers, count))) - filled_up};
}

template <class P>
HWY_INLINE V level_of(const uint8_t* codes, V zero, V one, P part) {
  const DI integers;
  const auto code = hn::PromoteTo(integers, load(Codes(), codes, part));
  return hn::IfThenElse(hn::RebindMask(D(), hn::Eq(code, hn::Zero(integers))), zero, one);
}

void subtract_level_here(std::span<float> v, const uint8_t* codes, float zero, float one) {
  const D d;
  for_vectors(v.size(), [&](size_t i, auto part) HWY_ATTR {
    const V level = level_of(codes + i, hn::Set(d, zero), hn::Set(d, one), part);
    store(hn::Sub(load(d, v.data() + i, part), level), d, v.data() + i, part);
  });
}

void choose_level_here(const uint8_t* codes, float zero, float one, std::span<float> y) {
  const D d;
  for_vectors(y.size(), [&](size_t i, auto part) HWY_ATTR {
    store(level_of(codes + i, hn::Set(d, zero), hn::Set(d, one), part), d, y.data() + i, part);
  });
}

// A word in which every bit depends on every bit of x: shifts and odd factors, each a bijection.
HWY_INLINE VU mixed(VU x) {
  const DU u;
  x = hn::Mul(x, hn::Set(u, 0x9e3779b9u));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(u, 0x7feb352du));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(u, 0x846ca68bu));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

void round_randomly_here(std::span<const float> x, const Rounding& rounding, uint8_t* codes) {
  const D d;
  const DI integers;
  const DU u;
  const VU lanes = hn::Iota(u, 0);
  const uint32_t first = rounding.first;
  const VU key = hn::Set(u, rounding.key);
  const V factor = hn::Set(d, rounding.factor), unit = hn::Set(d, 1.0f / (1 << 24));
  const auto most = hn::Set(integers, static_cast<int32_t>(rounding.levels));
  const auto sign = hn::Set(integers, static_cast<int32_t>(rounding.levels + 1));
  for_vectors(x.size(), [&](size_t i, auto part) HWY_ATTR {
    const V v = load(d, x.data() + i, part);
    const VU index = hn::Add(lanes, hn::Set(u, first + static_cast<uint32_t>(i)));
    const VU random = mixed(hn::Xor(index, key));
    const V uniform =
        hn::Mul(hn::ConvertTo(d, hn::BitCast(integers, hn::ShiftRight<8>(random))), unit);
    const V moved = hn::Add(hn::Mul(hn::Abs(v), factor), uniform);
    const auto level = hn::Min(hn::ConvertTo(integers, moved), most);
    const auto is_negative = hn::RebindMask(integers, hn::Lt(v, hn::Zero(d)));
    const auto code = hn::Or(level, hn::IfThenElseZero(is_negative, sign));
    store(hn::DemoteTo(Codes(), code), Codes(), codes + i, part);
  });
}

void from_levels_here(const uint8_t* codes, float unit, uint32_t levels, std::span<float> y) {
  const D d;
  const DI integers;
  const auto mask = hn::Set(integers, static_cast<int32_t>(levels));
  for_vectors(y.size(), [&](size_t i, auto part) HWY_ATTR {
    const auto code = hn::PromoteTo(integers, load(Codes(), codes + i, part));
    const V size = hn::Mul(hn::ConvertTo(d, hn::And(code, mask)), hn::Set(d, unit));
    const auto is_negative = hn::RebindMask(d, hn::Gt(code, mask));
    store(hn::IfThenElse(is_negative, hn::Neg(size), size), d, y.data() + i, part);
  });
}

// Highway reads and writes up to eight bytes of bits at once: vectors end where fewer are left.
using Bytes = hn::ScalableTag<uint8_t>;
constexpr size_t kBytes = HWY_LANES(uint8_t);
HWY_INLINE size_t whole_vectors(size_t codes) {
  if (kBytes < 8 || codes < 64) return 0;
  return ((codes - 64) / kBytes + 1) * kBytes;
}

void pack_bits_here(std::span<const uint8_t> codes, int bit, uint8_t* to) {
  const Bytes bytes;
  const auto one = hn::Set(bytes, static_cast<uint8_t>(1 << bit));
  const size_t whole = whole_vectors(codes.size());
  for (size_t i = 0; i < whole; i += kBytes) {
    hn::StoreMaskBits(bytes, hn::TestBit(hn::LoadU(bytes, codes.data() + i), one), to + i / 8);
  }
  for (size_t i = whole; i < codes.size(); i += 8) {
    unsigned byte = 0;
    for (size_t k = 0; k < std::min<size_t>(8, codes.size() - i); ++k) {
      byte |= (codes[i + k] >> bit & 1u) << k;
    }
    to[i / 8] = static_cast<uint8_t>(byte);
  }
}

void unpack_bits_here(const uint8_t* from, int bit, std::span<uint8_t> codes) {
  const Bytes bytes;
  const auto one = hn::Set(bytes, static_cast<uint8_t>(1 << bit));
  const size_t whole = whole_vectors(codes.size());
  for (size_t i = 0; i < whole; i += kBytes) {
    auto code = hn::IfThenElseZero(hn::LoadMaskBits(bytes, from + i / 8), one);
    if (bit > 0) code = hn::Or(code, hn::LoadU(bytes, codes.data() + i));
    hn::StoreU(code, bytes, codes.data() + i);
  }
  for (size_t i = whole; i < codes.size(); ++i) {
    const unsigned lower = bit > 0 ? codes[i] : 0u;
    codes[i] = static_cast<uint8_t>(lower | (from[i / 8] >> (i % 8) & 1u) << bit);
  }
}

void accumulate_here(std::span<const float> g, float momentum, std::span<float> u,
                     std::span<float> v) {
  const D d;
  const V factor = hn::Set(d, momentum);
  for_vectors(g.size(), [&](size_t i, auto part) HWY_ATTR {
    const V sum = hn::MulAdd(factor, load(d, u.data() + i, part), load(d, g.data() + i, part));
    store(sum, d, u.data() + i, part);
    store(hn::Add(load(d, v.data() + i, part), sum), d, v.data() + i, part);
  });
}

// Few elements are above the threshold, so most vectors end at the test.
size_t collect_here(std::span<const float> v, float threshold, uint32_t* indices) {
  const D d;
  const DU u;
  const V least = hn::Set(d, threshold);
  const VU lanes = hn::Iota(u, 0);
  size_t found = 0, i = 0;
  for (; i + kLanes <= v.size(); i += kLanes) {
    const auto large = hn::Ge(hn::Abs(hn::LoadU(d, v.data() + i)), least);
    if (hn::AllFalse(d, large)) continue;
    const VU index = hn::Add(lanes, hn::Set(u, static_cast<uint32_t>(i)));
    found += hn::CompressStore(index, hn::RebindMask(u, large), u, indices + found);
  }
  for (; i < v.size(); ++i) {
    if (std::max(v[i], -v[i]) >= threshold) indices[found++] = static_cast<uint32_t>(i);
  }
  return found;
}

}  // namespace
}  // namespace shoal::learn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::learn {

HWY_EXPORT(is_within_here);
HWY_EXPORT(max_abs_here);
HWY_EXPORT(dot_here);
HWY_EXPORT(add_scaled_here);
HWY_EXPORT(hadamard_here);
HWY_EXPORT(turn_here);
HWY_EXPORT(to_signs_here);
HWY_EXPORT(from_signs_here);
HWY_EXPORT(to_f16_here);
HWY_EXPORT(from_f16_here);
HWY_EXPORT(to_i8_here);
HWY_EXPORT(from_i8_here);
HWY_EXPORT(add_and_split_here);
HWY_EXPORT(subtract_level_here);
HWY_EXPORT(choose_level_here);
HWY_EXPORT(round_randomly_here);
HWY_EXPORT(from_levels_here);
HWY_EXPORT(pack_bits_here);
HWY_EXPORT(unpack_bits_here);
HWY_EXPORT(accumulate_here);
HWY_EXPORT(collect_here);

bool is_within(std::span<const float> x, float limit) {
  return HWY_DYNAMIC_DISPATCH(is_within_here)(x, limit);
}
float max_abs(std::span<const float> x) { return HWY_DYNAMIC_DISPATCH(max_abs_here)(x); }
float dot(std::span<const float> a, std::span<const float> b) {
  return HWY_DYNAMIC_DISPATCH(dot_here)(a, b);
}
void add_scaled(std::span<float> y, float a, std::span<const float> x) {
  HWY_DYNAMIC_DISPATCH(add_scaled_here)(y, a, x);
}
void hadamard(std::span<float> y, size_t apart) { HWY_DYNAMIC_DISPATCH(hadamard_here)(y, apart); }
void turn(std::span<const float> x, const uint64_t* bits, float factor, std::span<float> y) {
  HWY_DYNAMIC_DISPATCH(turn_here)(x, bits, factor, y);
}
float to_signs(std::span<const float> x, uint64_t* bits) {
  return HWY_DYNAMIC_DISPATCH(to_signs_here)(x, bits);
}
void from_signs(const uint64_t* bits, std::span<float> y) {
  HWY_DYNAMIC_DISPATCH(from_signs_here)(bits, y);
}
void to_f16(std::span<const float> x, uint16_t* y) { HWY_DYNAMIC_DISPATCH(to_f16_here)(x, y); }
void from_f16(const uint16_t* x, std::span<float> y) { HWY_DYNAMIC_DISPATCH(from_f16_here)(x, y); }
void to_i8(std::span<const float> x, float factor, int8_t* y) {
  HWY_DYNAMIC_DISPATCH(to_i8_here)(x, factor, y);
}
void from_i8(const int8_t* x, float factor, std::span<float> y) {
  HWY_DYNAMIC_DISPATCH(from_i8_here)(x, factor, y);
}
Sides add_and_split(std::span<const float> g, std::span<float> v, uint8_t* codes) {
  return HWY_DYNAMIC_DISPATCH(add_and_split_here)(g, v, codes);
}
void subtract_level(std::span<float> v, const uint8_t* codes, float zero, float one) {
  HWY_DYNAMIC_DISPATCH(subtract_level_here)(v, codes, zero, one);
}
void choose_level(const uint8_t* codes, float zero, float one, std::span<float> y) {
  HWY_DYNAMIC_DISPATCH(choose_level_here)(codes, zero, one, y);
}
void round_randomly(std::span<const float> x, const Rounding& rounding, uint8_t* codes) {
  HWY_DYNAMIC_DISPATCH(round_randomly_here)(x, rounding, codes);
}
void from_levels(const uint8_t* codes, float unit, uint32_t levels, std::span<float> y) {
  HWY_DYNAMIC_DISPATCH(from_levels_here)(codes, unit, levels, y);
}
void pack_bits(std::span<const uint8_t> codes, int bit, uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(pack_bits_here)(codes, bit, to);
}
void unpack_bits(const uint8_t* from, int bit, std::span<uint8_t> codes) {
  HWY_DYNAMIC_DISPATCH(unpack_bits_here)(from, bit, codes);
}
void accumulate(std::span<const float> g, float momentum, std::span<float> u, std::span<float> v) {
  HWY_DYNAMIC_DISPATCH(accumulate_here)(g, momentum, u, v);
}
size_t collect(std::span<const float> v, float threshold, uint32_t* indices) {
  return HWY_DYNAMIC_DISPATCH(collect_here)(v, threshold, indices);
}

}  // namespace shoal::learn
#endif  // HWY_ONCE
