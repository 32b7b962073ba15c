#include "shoal/video/faces/recognition/align.h"

#include <array>
#include <cmath>

namespace shoal::faces {
namespace {

using detect::FacePoints;
using detect::Point;

constexpr FacePoints kTemplate = {{{38.2946F, 51.6963F},
                                   {73.5318F, 51.5014F},
                                   {56.0252F, 71.7366F},
                                   {41.5493F, 92.3655F},
                                   {70.7299F, 92.2041F}}};
constexpr double kTemplateSide = 112;

std::array<double, 2> centre(const FacePoints& points) {
  std::array<double, 2> sum = {0, 0};
  for (const Point& p : points) {
    sum[0] += double{p.x} / 5;
    sum[1] += double{p.y} / 5;
  }
  return sum;
}

// A pixel's channel between its neighbours; 0 beyond the image.
class Sampler {
 public:
  explicit Sampler(const Tensor& image)
      : pixels_(image.data<uint8_t>()),
        height_(image.shape()[0]),
        width_(image.shape()[1]),
        channels_(image.shape()[2]) {}

  uint8_t at(double x, double y, int64_t channel) const {
    if (!(x > -1 && y > -1 && x < double(width_) && y < double(height_))) return 0;
    const auto left = static_cast<int64_t>(std::floor(x)),
               top = static_cast<int64_t>(std::floor(y));
    const double u = x - double(left), v = y - double(top);
    const double value =
        (1 - v) * ((1 - u) * pixel(left, top, channel) + u * pixel(left + 1, top, channel)) +
        v * ((1 - u) * pixel(left, top + 1, channel) + u * pixel(left + 1, top + 1, channel));
    return static_cast<uint8_t>(std::lround(value));
  }

 private:
  double pixel(int64_t x, int64_t y, int64_t channel) const {
    if (x < 0 || y < 0 || x >= width_ || y >= height_) return 0;
    const int64_t of_image = channels_ == 1 ? 0 : channel;
    return pixels_[static_cast<size_t>((y * width_ + x) * channels_ + of_image)];
  }

  std::span<const uint8_t> pixels_;
  int64_t height_, width_, channels_;
};

}  // namespace

Point Similarity::operator()(const Point& p) const {
  return {static_cast<float>(a * p.x - b * p.y + c), static_cast<float>(b * p.x + a * p.y + d)};
}

Similarity Similarity::inverse() const {
  const double n = a * a + b * b;
  SHOAL_CHECK(n > 0);
  Similarity back{.a = a / n, .b = -b / n};
  back.c = -(back.a * c - back.b * d);
  back.d = -(back.b * c + back.a * d);
  return back;
}

std::optional<Similarity> similarity(const FacePoints& from, const FacePoints& to) {
  const auto middle = centre(from), target = centre(to);
  double n = 0, same = 0, across = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    const double x = from[i].x - middle[0], y = from[i].y - middle[1];
    const double u = to[i].x - target[0], v = to[i].y - target[1];
    n += x * x + y * y;
    same += x * u + y * v;
    across += x * v - y * u;
  }
  if (!std::isfinite(n + same + across) || n <= 1e-9) return {};
  if (!(same * same + across * across > 0)) return {};
  Similarity map{.a = same / n, .b = across / n};
  map.c = target[0] - (map.a * middle[0] - map.b * middle[1]);
  map.d = target[1] - (map.b * middle[0] + map.a * middle[1]);
  return map;
}

FacePoints face_template(int64_t side) {
  FacePoints points = kTemplate;
  const auto scale = static_cast<float>(double(side) / kTemplateSide);
  for (Point& p : points) p = {p.x * scale, p.y * scale};
  return points;
}

FacePoints usual_points(const detect::Box& box) {
  // The means of a detector with points over pictures of faces, as shares of its boxes.
  constexpr FacePoints kShares = {
      {{0.30F, 0.40F}, {0.70F, 0.40F}, {0.50F, 0.60F}, {0.34F, 0.77F}, {0.66F, 0.77F}}};
  FacePoints points;
  for (size_t i = 0; i < points.size(); ++i) {
    points[i] = {box.left + kShares[i].x * box.width(), box.top + kShares[i].y * box.height()};
  }
  return points;
}

std::optional<Tensor> align(const Tensor& image, const FacePoints& points, int64_t side) {
  const auto map = similarity(points, face_template(side));
  if (!map) return {};
  const Similarity back = map->inverse();
  const Sampler sampler(image);
  Tensor face = Tensor::uninitialized({DType::kU8, {side, side, 3}});
  const auto pixels = face.data<uint8_t>();
  size_t next = 0;
  for (int64_t v = 0; v < side; ++v) {
    for (int64_t u = 0; u < side; ++u) {
      const double x = back.a * double(u) - back.b * double(v) + back.c;
      const double y = back.b * double(u) + back.a * double(v) + back.d;
      for (int64_t channel = 0; channel < 3; ++channel) {
        pixels[next++] = sampler.at(x, y, channel);
      }
    }
  }
  return face;
}

}  // namespace shoal::faces
