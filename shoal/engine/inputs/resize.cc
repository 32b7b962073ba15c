// Resizing as convolution with a triangle filter, one axis after the other: O(pixels * taps) each.
//
//   out[i] = sum_k w_k in[k] / sum_k w_k,   w_k = max(0, 1 - |k + 1/2 - c| / r)
//   c = (i + 1/2) * from / to,   r = max(from / to, 1)
//
// For from <= to that is bilinear interpolation with half-pixel centres. Weights are integers,
// shares of 2^22, and sums are rounded to bytes after each axis, half a step up: every byte is that
// of Pillow's resize, with which published accuracies were measured.
#include <algorithm>
#include <cmath>

#include "shoal/engine/inputs/image.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/inputs/resize.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef SHOAL_DATA_RESIZE_TAPS
#define SHOAL_DATA_RESIZE_TAPS
namespace shoal {
namespace {

constexpr int kOneBits = 22;  // 255 of them fit an int32_t
constexpr int32_t kOne = 1 << kOneBits;

// The source pixels that each output pixel is made of: `count` from first[i] on, with their shares
// of kOne. Those that need fewer have shares of 0 at either end, so that loops have one length.
struct Taps {
  int64_t count = 0;
  std::vector<int64_t> first = {};
  std::vector<int32_t> weights = {};  // `count` for each
};

// A triangle as wide as a source pixel, or as an output pixel if that is wider: when shrinking,
// no source pixel is skipped.
Taps triangle_taps(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double radius = std::max(scale, 1.0);
  Taps taps{.count = std::min(from, static_cast<int64_t>(std::ceil(2 * radius)) + 1)};
  taps.weights.resize(static_cast<size_t>(to * taps.count));
  std::vector<double> shares;
  for (int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto begin = std::max<int64_t>(0, static_cast<int64_t>(centre - radius + 0.5));
    const auto end = std::min<int64_t>(from, static_cast<int64_t>(centre + radius + 0.5));
    shares.clear();
    double sum = 0;
    for (int64_t k = begin; k < end; ++k) {
      const double distance = std::abs((static_cast<double>(k) + 0.5 - centre) * (1 / radius));
      shares.push_back(std::max(0.0, 1 - distance));
      sum += shares.back();
    }
    taps.first.push_back(std::min(begin, from - taps.count));
    int32_t* weight = taps.weights.data() + i * taps.count + (begin - taps.first.back());
    for (const double share : shares) *weight++ = static_cast<int32_t>(share / sum * kOne + 0.5);
  }
  return taps;
}

// Of a sum that began with kOne / 2; clamped because weights are rounded, too.
inline uint8_t to_byte(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kOneBits, 0, 255));
}

}  // namespace
}  // namespace shoal
#endif  // SHOAL_DATA_RESIZE_TAPS

HWY_BEFORE_NAMESPACE();
namespace shoal::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A row of `channels` in another width.
void resize_row(const uint8_t* from, uint8_t* to, const Taps& columns, int64_t channels) {
  const int32_t* weights = columns.weights.data();
  for (const int64_t first : columns.first) {
    for (int64_t k = 0; k < channels; ++k) {
      const uint8_t* const pixel = from + first * channels + k;
      int32_t sum = kOne / 2;
      for (int64_t t = 0; t < columns.count; ++t) sum += weights[t] * pixel[t * channels];
      *to++ = to_byte(sum);
    }
    weights += columns.count;
  }
}

// The same for three channels, as if they were four: reads and writes a byte beyond the row.
void resize_wide_row(const uint8_t* from, uint8_t* to, const Taps& columns) {
  const hn::CappedTag<int32_t, 4> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const int32_t* weights = columns.weights.data();
  for (const int64_t first : columns.first) {
    const uint8_t* pixel = from + first * 3;
    auto sum = hn::Set(d, kOne / 2);
    for (int64_t t = 0; t < columns.count; ++t, pixel += 3) {
      sum =
          hn::Add(sum, hn::Mul(hn::PromoteTo(d, hn::LoadU(bytes, pixel)), hn::Set(d, *weights++)));
    }
    hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<kOneBits>(sum)), bytes, to);
    to += 3;
  }
}

void resize_rows_here(const uint8_t* from, uint8_t* to, int64_t rows, int64_t width,
                      const Taps& columns, int64_t channels) {
  const auto line = static_cast<int64_t>(columns.first.size()) * channels;
  const bool wide = channels == 3 && hn::Lanes(hn::CappedTag<int32_t, 4>()) == 4;
  for (int64_t y = 0; y < rows; ++y, from += width * channels, to += line) {
    if (wide && y + 1 < rows) {  // what is beyond the row is the next one, which comes later
      resize_wide_row(from, to, columns);
    } else {
      resize_row(from, to, columns, channels);
    }
  }
}

// One row of `size` bytes, from those from `lines` on.
void mix_rows_here(const uint8_t* lines, const int32_t* weights, int64_t count, int64_t size,
                   uint8_t* to) {
  const hn::ScalableTag<int32_t> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    auto sum = hn::Set(d, kOne / 2);
    for (int64_t t = 0; t < count; ++t) {
      const auto line = hn::PromoteTo(d, hn::LoadU(bytes, lines + t * size + i));
      sum = hn::Add(sum, hn::Mul(line, hn::Set(d, weights[t])));
    }
    hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<kOneBits>(sum)), bytes, to + i);
  }
  for (; i < size; ++i) {
    int32_t sum = kOne / 2;
    for (int64_t t = 0; t < count; ++t) sum += weights[t] * lines[t * size + i];
    to[i] = to_byte(sum);
  }
}

}  // namespace
}  // namespace shoal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal {
namespace {

HWY_EXPORT(resize_rows_here);
HWY_EXPORT(mix_rows_here);

}  // namespace

Tensor resize_image(const Tensor& image, int64_t height, int64_t width) {
  const int64_t h = image.shape()[0], w = image.shape()[1], c = image.shape()[2];
  const Taps columns = triangle_taps(w, width), rows = triangle_taps(h, height);
  Tensor wide = Tensor::uninitialized({DType::kU8, {h, width, c}});
  Tensor result = Tensor::uninitialized({DType::kU8, {height, width, c}});
  HWY_DYNAMIC_DISPATCH(resize_rows_here)
  (image.data<uint8_t>().data(), wide.data<uint8_t>().data(), h, w, columns, c);
  for (int64_t i = 0; i < height; ++i) {
    const int64_t first = rows.first[static_cast<size_t>(i)];
    HWY_DYNAMIC_DISPATCH(mix_rows_here)
    (wide.data<uint8_t>().data() + first * width * c, rows.weights.data() + i * rows.count,
     rows.count, width * c, result.data<uint8_t>().data() + i * width * c);
  }
  return result;
}

}  // namespace shoal
#endif  // HWY_ONCE
