#include "shoal/video/keyframe/warp.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace shoal::keyframe {
namespace {

// Where a pixel comes from: four pixels of the plane and their weights, 0 for those outside.
struct Source {
  std::array<int64_t, 4> at = {};
  std::array<float, 4> weight = {};
};

Source source_of(int64_t y, int64_t x, const Vector& by, int64_t height, int64_t width) {
  // Nothing is left of a pixel that comes from further outside; sums stay small enough to round.
  const auto limit = static_cast<float>(height + width);
  const float from_y = static_cast<float>(y) + std::clamp(by.y, -limit, limit);
  const float from_x = static_cast<float>(x) + std::clamp(by.x, -limit, limit);
  const float top = std::floor(from_y), left = std::floor(from_x);
  const float down = from_y - top, right = from_x - left;
  Source source;
  for (size_t i = 0; i < 4; ++i) {
    const bool lower = i >= 2, further = i % 2 == 1;
    const int64_t row = static_cast<int64_t>(top) + (lower ? 1 : 0);
    const int64_t column = static_cast<int64_t>(left) + (further ? 1 : 0);
    if (row < 0 || row >= height || column < 0 || column >= width) continue;
    source.at[i] = row * width + column;
    source.weight[i] = (lower ? down : 1 - down) * (further ? right : 1 - right);
  }
  return source;
}

bool is_one_pixel(const Source& source) { return source.weight[0] == 1; }

}  // namespace

Tensor warp(const Tensor& features, const PlaneFlow& flow) {
  const Shape& shape = features.shape();
  SHOAL_CHECK(features.dtype() == DType::kF32 && (shape.rank() == 4 || shape.rank() == 5));
  SHOAL_CHECK(shape[2] == flow.height && shape[3] == flow.width);
  const int64_t pixels = flow.height * flow.width, inner = shape.count(4, shape.rank());
  std::vector<Source> sources;
  sources.reserve(static_cast<size_t>(pixels));
  for (int64_t y = 0; y < flow.height; ++y) {
    for (int64_t x = 0; x < flow.width; ++x) {
      const Vector& by = flow.vectors[static_cast<size_t>(y * flow.width + x)];
      sources.push_back(source_of(y, x, by, flow.height, flow.width));
    }
  }
  Tensor warped = Tensor::uninitialized(features.type());
  const float* from = features.data<float>().data();
  float* to = warped.data<float>().data();
  for (int64_t plane = 0; plane < shape.count(0, 2); ++plane, from += pixels * inner) {
    for (const Source& source : sources) {
      const float* const first = from + source.at[0] * inner;
      if (is_one_pixel(source)) {
        to = std::copy_n(first, inner, to);
        continue;
      }
      const float *const b = from + source.at[1] * inner, *const c = from + source.at[2] * inner,
                         *const d = from + source.at[3] * inner;
      const auto& weight = source.weight;
      for (int64_t i = 0; i < inner; ++i) {
        *to++ = weight[0] * first[i] + weight[1] * b[i] + weight[2] * c[i] + weight[3] * d[i];
      }
    }
  }
  return warped;
}

Tensor warp(const Tensor& features, const Flow& flow) {
  return warp(features, resample(flow, features.shape()[2], features.shape()[3]));
}

}  // namespace shoal::keyframe
