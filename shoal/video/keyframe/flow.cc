#include "shoal/video/keyframe/flow.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "shoal/base/round_up.h"

namespace shoal::keyframe {
namespace {

constexpr size_t kLevels = 3;  // of 1, 1/2 and 1/4 of the size

// In whole pixels of a level.
struct Step {
  int64_t x = 0, y = 0;

  friend bool operator==(const Step&, const Step&) = default;
};

int64_t length(const Step& a, const Step& b) { return std::abs(a.x - b.x) + std::abs(a.y - b.y); }

// Compilers know this loop: SIMD has an instruction for it.
template <int64_t kSide>
int32_t difference(const uint8_t* a, int64_t a_line, const uint8_t* b, int64_t b_line) {
  int32_t sum = 0;
  for (int64_t y = 0; y < kSide; ++y, a += a_line, b += b_line) {
    for (int64_t x = 0; x < kSide; ++x) sum += std::abs(int32_t{a[x]} - int32_t{b[x]});
  }
  return sum;
}

Plane halved(const Plane& plane) {
  Plane half{plane.height / 2, plane.width / 2, {}};
  half.pixels.resize(static_cast<size_t>(half.height * half.width));
  uint8_t* to = half.pixels.data();
  for (int64_t y = 0; y < half.height; ++y) {
    const uint8_t *const upper = plane.row(2 * y), *const lower = plane.row(2 * y + 1);
    for (int64_t x = 0; x < half.width; ++x) {
      const int sum = upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1];
      *to++ = static_cast<uint8_t>((sum + 2) / 4);
    }
  }
  return half;
}

Luma with_levels(Plane plane) {
  Luma luma;
  luma.levels.push_back(std::move(plane));
  while (luma.levels.size() < kLevels) luma.levels.push_back(halved(luma.levels.back()));
  return luma;
}

Status check_sides(int64_t height, int64_t width) {
  if (height >= kLeastSide && width >= kLeastSide) return {};
  return invalid("an image of " + std::to_string(width) + " x " + std::to_string(height) +
                 " is too small to see what moves in it");
}

// The vectors of all blocks at one level. A block is seen by a window: at whole size the block
// itself, at others a square of 8 pixels, which shows more than the block.
template <int64_t kWindow>
class Search {
 public:
  Search(const Plane& then, const Plane& now, int64_t block, int64_t rows, int64_t columns)
      : then_(then), now_(now), block_(block), rows_(rows), columns_(columns) {}

  // From the best of several guesses for each block, by these steps.
  template <class Guess>
  std::vector<Step> run(const Guess& guesses_of, std::span<const int64_t> steps) {
    found_.assign(static_cast<size_t>(rows_ * columns_), {});
    differences_ = 0;
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t column = 0; column < columns_; ++column) match(row, column, guesses_of, steps);
    }
    return std::move(found_);
  }

  // Sum of the absolute differences that were left, for each pixel of a window.
  double residual() const {
    return static_cast<double>(differences_) / static_cast<double>(rows_ * columns_) /
           static_cast<double>(kWindow * kWindow);
  }

 private:
  struct Match {
    Step step;
    int32_t difference = 0;
    int64_t cost = std::numeric_limits<int64_t>::max();
  };

  template <class Guess>
  void match(int64_t row, int64_t column, const Guess& guesses_of, std::span<const int64_t> steps) {
    const size_t at = static_cast<size_t>(row * columns_ + column);
    const int64_t centre = (block_ - kWindow) / 2;
    top_ = std::clamp(row * block_ + centre, int64_t{0}, now_.height - kWindow);
    left_ = std::clamp(column * block_ + centre, int64_t{0}, now_.width - kWindow);
    beside_ = column > 0 ? found_[at - 1] : Step{};
    above_ = row > 0 ? found_[at - static_cast<size_t>(columns_)] : Step{};
    Match best;
    for (const Step& one : {Step{}, beside_, above_}) consider(one, best);
    for (const Step& one : guesses_of(row, column)) consider(one, best);
    for (const int64_t step : steps) {
      const Step centre_of = best.step;
      for (int64_t i = 0; i < 9; ++i) {
        if (i == 4) continue;
        consider({centre_of.x + step * (i % 3 - 1), centre_of.y + step * (i / 3 - 1)}, best);
      }
    }
    found_[at] = best.step;
    differences_ += best.difference;
  }

  // Vectors that lead out of the image are none.
  void consider(const Step& step, Match& best) const {
    if (best.step == step && best.cost < std::numeric_limits<int64_t>::max()) return;
    const int64_t y = top_ + step.y, x = left_ + step.x;
    if (y < 0 || x < 0 || y > then_.height - kWindow || x > then_.width - kWindow) return;
    const int32_t sum =
        difference<kWindow>(now_.row(top_) + left_, now_.width, then_.row(y) + x, then_.width);
    // A vector of its own must gain half a level of grey in the mean, and for each pixel of the
    // whole image that it is longer, a level for 64 pixels: more than noise of a few levels gains.
    constexpr int64_t kOwn = kWindow * kWindow / 2;
    const int64_t price = kWindow * kWindow / 64 * (kBlock / block_);
    const int64_t odd = std::min({length(step, {}), length(step, beside_), length(step, above_)});
    const int64_t cost = sum + (odd > 0 ? kOwn + price * odd : 0);
    if (cost < best.cost) best = {step, sum, cost};
  }

  const Plane &then_, &now_;
  const int64_t block_, rows_, columns_;
  std::vector<Step> found_;
  int64_t differences_ = 0;
  int64_t top_ = 0, left_ = 0;
  Step beside_, above_;
};

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

Result<Luma> luma_of(const Tensor& image) {
  const Shape& shape = image.shape();
  if (image.dtype() != DType::kU8 || shape.rank() != 3 || shape[2] != 3) {
    return invalid("an image is u8 [h,w,3], not " + to_string(image.type()));
  }
  SHOAL_TRY(check_sides(shape[0], shape[1]));
  Plane plane{shape[0], shape[1], {}};
  plane.pixels.resize(static_cast<size_t>(shape[0] * shape[1]));
  const uint8_t* from = image.data<uint8_t>().data();
  for (uint8_t& to : plane.pixels) {  // ITU-R BT.601
    to = static_cast<uint8_t>((77 * from[0] + 150 * from[1] + 29 * from[2] + 128) >> 8);
    from += 3;
  }
  return with_levels(std::move(plane));
}

GreyRange range_of(const Tensor& input) {
  const auto [low, high] = std::ranges::minmax_element(input.data<float>());
  return {*low, *high};
}

Result<Luma> luma_of(const Tensor& input, const GreyRange& range) {
  const Shape& shape = input.shape();
  if (input.dtype() != DType::kF32 || shape.rank() != 4 || shape[0] != 1 || shape[1] < 1) {
    return invalid("what a network sees is f32 [1,c,h,w], not " + to_string(input.type()));
  }
  SHOAL_TRY(check_sides(shape[2], shape[3]));
  Plane plane{shape[2], shape[3], {}};
  const auto pixels = static_cast<size_t>(shape[2] * shape[3]);
  plane.pixels.resize(pixels);
  const auto channels = static_cast<size_t>(shape[1]);
  const float* const from = input.data<float>().data();
  const float span = range.white - range.black;
  const float scale = span > 0 ? 255 / (span * static_cast<float>(channels)) : 0;
  const float shift = 0.5F - range.black * scale * static_cast<float>(channels);
  std::vector<float> sums(from, from + pixels);
  for (size_t c = 1; c < channels; ++c) {
    for (size_t i = 0; i < pixels; ++i) sums[i] += from[c * pixels + i];
  }
  for (size_t i = 0; i < pixels; ++i) {
    // The comparison is false for what is not a number, too.
    const float level = sums[i] * scale + shift;
    plane.pixels[i] = level > 0 ? static_cast<uint8_t>(std::min(level, 255.0F)) : uint8_t{0};
  }
  return with_levels(std::move(plane));
}

double Flow::mean_length() const {
  double sum = 0;
  for (const Vector& one : vectors) sum += std::hypot(double{one.x}, double{one.y});
  return vectors.empty() ? 0 : sum / static_cast<double>(vectors.size());
}

Flow no_flow(int64_t height, int64_t width) {
  Flow flow{height, width, ceil_div(height, kBlock), ceil_div(width, kBlock), {}, 0};
  flow.vectors.resize(static_cast<size_t>(flow.rows * flow.columns));
  return flow;
}

Flow estimate_flow(const Luma& then, const Luma& now, const Flow* guess) {
  Flow flow = no_flow(now.whole().height, now.whole().width);
  SHOAL_CHECK(then.whole().height == flow.height && then.whole().width == flow.width);
  SHOAL_CHECK(guess == nullptr || guess->vectors.size() == flow.vectors.size());
  const int64_t columns = flow.columns, rows = flow.rows;
  const auto guessed = [&](int64_t row, int64_t column) {
    if (guess == nullptr) return std::array<Step, 1>{};
    const Vector& one = guess->vectors[static_cast<size_t>(row * columns + column)];
    return std::array{Step{std::lround(one.x / 4), std::lround(one.y / 4)}};
  };
  constexpr std::array<int64_t, 3> kFar = {4, 2, 1};
  constexpr std::array<int64_t, 1> kNear = {1};
  Search<8> quarter(then.levels[2], now.levels[2], kBlock / 4, rows, columns);
  std::vector<Step> found = quarter.run(guessed, kFar);
  // What the level before found for the block, and for those right of it and below it; the others
  // around it have their vectors already.
  const auto doubled = [&](int64_t row, int64_t column) {
    std::array<Step, 3> all;
    const std::array<Step, 3> near = {Step{0, 0}, Step{1, 0}, Step{0, 1}};
    for (size_t i = 0; i < all.size(); ++i) {
      const int64_t r = std::min(row + near[i].y, rows - 1);
      const int64_t c = std::min(column + near[i].x, columns - 1);
      const Step& step = found[static_cast<size_t>(r * columns + c)];
      all[i] = {2 * step.x, 2 * step.y};
    }
    return all;
  };
  Search<8> half(then.levels[1], now.levels[1], kBlock / 2, rows, columns);
  found = half.run(doubled, kNear);
  Search<kBlock> whole(then.levels[0], now.levels[0], kBlock, rows, columns);
  found = whole.run(doubled, kNear);
  for (size_t i = 0; i < found.size(); ++i) {
    flow.vectors[i] = {static_cast<float>(found[i].x), static_cast<float>(found[i].y)};
  }
  flow.residual = whole.residual();
  return flow;
}

Flow composed(const Flow& earlier, const Flow& later) {
  SHOAL_CHECK(earlier.height == later.height && earlier.width == later.width);
  Flow sum = later;
  // The block at a middle of a block, moved.
  const auto block_of = [](int64_t block, float by, int64_t count) {
    const auto at = static_cast<float>(block) + 0.5F + by / static_cast<float>(kBlock);
    return static_cast<int64_t>(std::clamp(at, 0.0F, static_cast<float>(count) - 0.5F));
  };
  for (int64_t row = 0; row < sum.rows; ++row) {
    for (int64_t column = 0; column < sum.columns; ++column) {
      Vector& one = sum.vectors[static_cast<size_t>(row * sum.columns + column)];
      const int64_t from_row = block_of(row, one.y, sum.rows);
      const int64_t from_column = block_of(column, one.x, sum.columns);
      const Vector& before =
          earlier.vectors[static_cast<size_t>(from_row * sum.columns + from_column)];
      one = {one.x + before.x, one.y + before.y};
    }
  }
  sum.residual = std::max(earlier.residual, later.residual);
  return sum;
}

Flow placed(const Flow& flow, int64_t height, int64_t width, const FlowPlacement& at) {
  Flow there = no_flow(height, width);
  there.residual = flow.residual;
  const auto middle = [](int64_t block) { return (static_cast<float>(block) + 0.5F) * kBlock; };
  for (int64_t row = 0; row < there.rows; ++row) {
    for (int64_t column = 0; column < there.columns; ++column) {
      const float x = (middle(column) - at.shift_x) / at.scale_x;
      const float y = (middle(row) - at.shift_y) / at.scale_y;
      if (!(x >= 0 && y >= 0 && x < static_cast<float>(flow.width) &&
            y < static_cast<float>(flow.height))) {
        continue;
      }
      const int64_t block =
          static_cast<int64_t>(y) / kBlock * flow.columns + static_cast<int64_t>(x) / kBlock;
      const Vector& one = flow.vectors[static_cast<size_t>(block)];
      there.vectors[static_cast<size_t>(row * there.columns + column)] = {one.x * at.scale_x,
                                                                          one.y * at.scale_y};
    }
  }
  return there;
}

PlaneFlow resample(const Flow& flow, int64_t height, int64_t width) {
  SHOAL_CHECK(height > 0 && width > 0);
  PlaneFlow plane{height, width, {}};
  plane.vectors.reserve(static_cast<size_t>(height * width));
  // The blocks of pixel i of `count`, of a side of the image that is `extent` long.
  const auto blocks = [](int64_t i, int64_t count, int64_t extent, int64_t most) {
    const int64_t first = std::min(i * extent / count / kBlock, most - 1);
    const int64_t last = ceil_div((i + 1) * extent, count * kBlock);
    return std::pair(first, std::clamp(last, first + 1, most));
  };
  const float scale_x = static_cast<float>(width) / static_cast<float>(flow.width);
  const float scale_y = static_cast<float>(height) / static_cast<float>(flow.height);
  for (int64_t y = 0; y < height; ++y) {
    const auto [top, bottom] = blocks(y, height, flow.height, flow.rows);
    for (int64_t x = 0; x < width; ++x) {
      const auto [left, right] = blocks(x, width, flow.width, flow.columns);
      Vector sum;
      for (int64_t r = top; r < bottom; ++r) {
        for (int64_t c = left; c < right; ++c) {
          const Vector& one = flow.vectors[static_cast<size_t>(r * flow.columns + c)];
          sum = {sum.x + one.x, sum.y + one.y};
        }
      }
      const auto count = static_cast<float>((bottom - top) * (right - left));
      plane.vectors.push_back({sum.x / count * scale_x, sum.y / count * scale_y});
    }
  }
  return plane;
}

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
