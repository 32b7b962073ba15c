#include <algorithm>
#include <cmath>
#include <cstring>

#include "shoal/engine/delta/changes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/delta/plane.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::delta::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

bool floats_differ_here(const float* a, const float* b, int64_t count, float most) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto limit = hn::Set(d, most);
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    auto largest = hn::Zero(d), sum = hn::Zero(d);
    for (int64_t k = i; k < i + 4 * lanes; k += lanes) {
      const auto difference = hn::Abs(hn::Sub(hn::LoadU(d, a + k), hn::LoadU(d, b + k)));
      largest = hn::Max(largest, difference);
      sum = hn::Add(sum, difference);  // a NaN may be lost in the maximum, but not here
    }
    const auto is_close = hn::And(hn::Le(largest, limit), hn::Eq(sum, sum));
    if (!hn::AllTrue(d, is_close)) return true;
  }
  const hn::CappedTag<float, 8> d_short;  // a line of a tile of an image
  const auto few = static_cast<int64_t>(hn::Lanes(d_short));
  const auto short_limit = hn::Set(d_short, most);
  for (; i + few <= count; i += few) {
    const auto difference = hn::Abs(hn::Sub(hn::LoadU(d_short, a + i), hn::LoadU(d_short, b + i)));
    if (!hn::AllTrue(d_short, hn::Le(difference, short_limit))) return true;  // so is a NaN
  }
  for (; i < count; ++i) {
    if (!(std::abs(a[i] - b[i]) <= most)) return true;
  }
  return false;
}

}  // namespace
}  // namespace shoal::delta::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::delta {
namespace {

HWY_EXPORT(floats_differ_here);

// Calls f(first element, count of elements) for every line of the rectangle, until it returns true.
template <class F>
bool find_line(const Shape& shape, const cpu::Rectangle& where, const F& f) {
  const Grid plane = plane_of(shape);
  if (plane == Grid{}) return f(0, shape.count());
  const int64_t inner = shape.count(4, shape.rank()), planes = shape.count(0, 2);
  const int64_t line = plane.width * inner;
  // Lines as long as the plane follow one another without a gap.
  const bool is_wide = where.columns.count() == plane.width;
  const int64_t lines = is_wide ? 1 : where.rows.count();
  const int64_t count = where.columns.count() * inner * (is_wide ? where.rows.count() : 1);
  for (int64_t p = 0; p < planes; ++p) {
    int64_t at = (p * plane.height + where.rows.begin) * line + where.columns.begin * inner;
    for (int64_t i = 0; i < lines; ++i, at += line) {
      if (f(at, count)) return true;
    }
  }
  return false;
}

}  // namespace

bool differs(const Tensor& a, const Tensor& b, const cpu::Rectangle& where, float most) {
  const bool floats = a.dtype() == DType::kF32;
  const size_t size = size_of(a.dtype());
  return find_line(a.shape(), where, [&](int64_t at, int64_t count) {
    if (floats) {
      return HWY_DYNAMIC_DISPATCH(floats_differ_here)(a.data<float>().data() + at,
                                                      b.data<float>().data() + at, count, most);
    }
    const size_t first = static_cast<size_t>(at) * size;
    return std::memcmp(a.bytes().data() + first, b.bytes().data() + first,
                       static_cast<size_t>(count) * size) != 0;
  });
}

cpu::Rectangle difference(const Tensor& a, const Tensor& b, const cpu::Rectangle& where,
                          float most) {
  auto [rows, columns] = where;
  const auto is_same = [&](const ops::Range& some_rows, const ops::Range& some_columns) {
    return !differs(a, b, {some_rows, some_columns}, most);
  };
  if (is_same(rows, columns)) return {};
  while (is_same({rows.begin, rows.begin + 1}, columns)) ++rows.begin;
  while (is_same({rows.end - 1, rows.end}, columns)) --rows.end;
  while (is_same(rows, {columns.begin, columns.begin + 1})) ++columns.begin;
  while (is_same(rows, {columns.end - 1, columns.end})) --columns.end;
  return {rows, columns};
}

void copy_pixels(const Tensor& from, const cpu::Rectangle& where, Tensor& to) {
  const size_t size = size_of(from.dtype());
  find_line(from.shape(), where, [&](int64_t at, int64_t count) {
    const size_t first = static_cast<size_t>(at) * size;
    std::memcpy(to.bytes().data() + first, from.bytes().data() + first,
                static_cast<size_t>(count) * size);
    return false;
  });
}

float root_mean_square(const Tensor& tensor) {
  if (tensor.dtype() != DType::kF32 || tensor.count() == 0) return 0;
  double sum = 0;
  for (const float x : tensor.data<float>()) sum += static_cast<double>(x) * static_cast<double>(x);
  return static_cast<float>(std::sqrt(sum / static_cast<double>(tensor.count())));
}

}  // namespace shoal::delta
#endif  // HWY_ONCE
