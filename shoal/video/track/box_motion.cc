#include "shoal/video/track/box_motion.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace shoal::track {
namespace {

using detect::Point;

struct Block {
  int64_t left = 0, top = 0, right = 0, bottom = 0;  // in squares

  int64_t rows() const { return bottom - top; }
  int64_t columns() const { return right - left; }
};

constexpr int64_t kReachX = 6, kReachY = 3;  // of the search, in squares
constexpr int64_t kLeastSide = 4;            // of a block

// The part of a block that is inside the image.
Block inside(const Block& block, int64_t rows, int64_t columns) {
  return {std::max<int64_t>(block.left, 0), std::max<int64_t>(block.top, 0),
          std::min(block.right, columns), std::min(block.bottom, rows)};
}

// The means of green over squares of this side. REQUIRES: the block is inside the image.
std::vector<uint8_t> means_of(const Tensor& image, const Block& block, int64_t side) {
  const int64_t line = image.shape()[1] * 3;
  const uint8_t* const green = image.data<uint8_t>().data() + 1;
  std::vector<uint8_t> means;
  means.reserve(static_cast<size_t>(block.rows() * block.columns()));
  for (int64_t row = block.top; row < block.bottom; ++row) {
    for (int64_t column = block.left; column < block.right; ++column) {
      const uint8_t* at = green + row * side * line + column * side * 3;
      int64_t sum = side * side / 2;
      for (int64_t y = 0; y < side; ++y, at += line) {
        for (int64_t x = 0; x < side; ++x) sum += at[3 * x];
      }
      means.push_back(static_cast<uint8_t>(sum / (side * side)));
    }
  }
  return means;
}

// The position of the minimum of a parabola through three costs. REQUIRES: the middle one is least.
double least_of(double before, double least, double after) {
  const double bend = before - 2 * least + after;
  return bend > 0 ? std::clamp((before - after) / (2 * bend), -0.5, 0.5) : 0;
}

// The costs of all displacements of a block in a field.
struct Costs {
  int64_t rows = 0, columns = 0;
  std::vector<double> values = {};

  double at(int64_t row, int64_t column) const {
    return values[static_cast<size_t>(row * columns + column)];
  }
};

Costs costs_of(const std::vector<uint8_t>& block, const Block& size,
               const std::vector<uint8_t>& field, const Block& searched, const Point& guess) {
  constexpr double kPrice = 1.0 / 8;  // of a square beside the guess
  Costs costs{searched.rows() - size.rows() + 1, searched.columns() - size.columns() + 1, {}};
  const auto pixels = static_cast<double>(size.rows() * size.columns());
  for (int64_t y = 0; y < costs.rows; ++y) {
    for (int64_t x = 0; x < costs.columns; ++x) {
      int32_t sum = 0;
      for (int64_t row = 0; row < size.rows(); ++row) {
        const uint8_t* const a = block.data() + row * size.columns();
        const uint8_t* const b = field.data() + (y + row) * searched.columns() + x;
        for (int64_t i = 0; i < size.columns(); ++i) sum += std::abs(int32_t{a[i]} - int32_t{b[i]});
      }
      const double far = std::abs(static_cast<double>(searched.left + x - size.left) - guess.x) +
                         std::abs(static_cast<double>(searched.top + y - size.top) - guess.y);
      costs.values.push_back(sum / pixels + kPrice * far);
    }
  }
  return costs;
}

}  // namespace

std::optional<Point> box_motion(const Tensor& then, const Tensor& now, const detect::Box& box,
                                const Point& guess) {
  const Shape& shape = now.shape();
  if (then.type() != now.type() || now.dtype() != DType::kU8 || shape.rank() != 3 ||
      shape[2] != 3) {
    return {};
  }
  constexpr float kMostPixels = 1 << 16;  // boxes and guesses beyond are none
  const auto is_sane = [](float x) { return std::abs(x) < kMostPixels; };
  if (!is_sane(box.left) || !is_sane(box.top) || !is_sane(box.right) || !is_sane(box.bottom) ||
      !is_sane(guess.x) || !is_sane(guess.y) || box.width() <= 0 || box.height() <= 0) {
    return {};
  }
  // A person of 35 x 85 pixels is seen in squares of 2.
  constexpr float kSquares = 27;
  const int64_t side = std::max<int64_t>(
      1, std::llround(std::sqrt(box.width()) * std::sqrt(box.height()) / kSquares));
  const auto scaled = [&](float x) { return x / static_cast<float>(side); };
  const auto at = [&](float x) { return static_cast<int64_t>(std::llround(scaled(x))); };
  const int64_t rows = shape[0] / side, columns = shape[1] / side;
  const Block block =
      inside({at(box.left + 0.2F * box.width()), at(box.top + 0.05F * box.height()),
              at(box.right - 0.2F * box.width()), at(box.top + 0.45F * box.height())},
             rows, columns);
  const int64_t shift_x = at(guess.x), shift_y = at(guess.y);
  const Block searched = inside({block.left + shift_x - kReachX, block.top + shift_y - kReachY,
                                 block.right + shift_x + kReachX, block.bottom + shift_y + kReachY},
                                rows, columns);
  if (block.rows() < kLeastSide || block.columns() < kLeastSide || searched.rows() < block.rows() ||
      searched.columns() < block.columns()) {
    return {};
  }
  const Costs costs = costs_of(means_of(then, block, side), block, means_of(now, searched, side),
                               searched, {scaled(guess.x), scaled(guess.y)});
  const auto best = std::ranges::min_element(costs.values) - costs.values.begin();
  const int64_t y = best / costs.columns, x = best % costs.columns;
  const double least = costs.at(y, x);
  const bool has_x = x > 0 && x + 1 < costs.columns, has_y = y > 0 && y + 1 < costs.rows;
  const double part_x = has_x ? least_of(costs.at(y, x - 1), least, costs.at(y, x + 1)) : 0;
  const double part_y = has_y ? least_of(costs.at(y - 1, x), least, costs.at(y + 1, x)) : 0;
  const auto pixels = [&](int64_t squares, double part) {
    return static_cast<float>((static_cast<double>(squares) + part) * static_cast<double>(side));
  };
  return Point{pixels(searched.left + x - block.left, part_x),
               pixels(searched.top + y - block.top, part_y)};
}

}  // namespace shoal::track
