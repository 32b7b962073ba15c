// For tests of this part: a synthetic video whose motion is known, and small networks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "shoal/base/math/random.h"
#include "shoal/base/status.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::keyframe {

// Random brightness from 0 to 1 on an endless plane: as in photographs, coarse shapes with weaker
// details. Each of both is a lattice of random levels, bilinear between them.
class Texture {
 public:
  explicit Texture(uint64_t seed) : coarse_(seed, 1), fine_(seed, 2) {}

  float at(int64_t y, int64_t x) const {
    return 0.75F * interpolated(coarse_, 24, y, x) + 0.25F * interpolated(fine_, 6, y, x);
  }

 private:
  static float interpolated(const RandomStream& levels, int64_t cell, int64_t y, int64_t x) {
    const int64_t row = (y + kFar * cell) / cell - kFar, column = (x + kFar * cell) / cell - kFar;
    const auto level = [&](int64_t r, int64_t c) {
      const auto number = static_cast<uint64_t>((r + kFar) * 100000 + c + kFar);
      return static_cast<float>(levels.below(256, number)) / 255;
    };
    const float down = static_cast<float>(y - row * cell) / static_cast<float>(cell);
    const float right = static_cast<float>(x - column * cell) / static_cast<float>(cell);
    const float upper = (1 - right) * level(row, column) + right * level(row, column + 1);
    const float lower = (1 - right) * level(row + 1, column) + right * level(row + 1, column + 1);
    return (1 - down) * upper + down * lower;
  }

  static constexpr int64_t kFar = 10000;  // cells; places are nearer to the origin
  RandomStream coarse_, fine_;
};

// A textured rectangle before a textured background, each at its place.
struct SceneFrame {
  int64_t background_y = 0, background_x = 0;  // how far it has moved
  int64_t top = 0, left = 0;                   // of the rectangle
  int64_t side = 0;                            // 0: there is none
  float noise = 0;                             // deviation
  uint64_t number = 0;                         // of the noise
};

inline Tensor scene(const SceneFrame& frame, int64_t height, int64_t width) {
  const Texture background(1), object(2);
  Tensor image({DType::kF32, {1, 3, height, width}});
  std::vector<float> noise(static_cast<size_t>(height * width));
  fill_normal(noise, RandomStream(frame.number, 3), static_cast<double>(frame.noise));
  const auto pixels = image.data<float>();
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const bool in = y >= frame.top && y < frame.top + frame.side && x >= frame.left &&
                      x < frame.left + frame.side;
      const float level = in ? object.at(y - frame.top, x - frame.left)
                             : background.at(y - frame.background_y, x - frame.background_x);
      const auto at = static_cast<size_t>(y * width + x);
      for (size_t c = 0; c < 3; ++c) {
        pixels[c * noise.size() + at] = std::clamp(level + noise[at], 0.0F, 1.0F);
      }
    }
  }
  return image;
}

inline ValueId add_conv(Graph& graph, ValueId x, int64_t filters, int64_t kernel, int64_t stride,
                        uint64_t seed) {
  const int64_t in = graph[x].type.shape[1];
  Tensor weights({DType::kF32, {filters, in, kernel, kernel}});
  fill_normal(weights.data<float>(), RandomStream(seed, 4),
              std::sqrt(2.0 / static_cast<double>(in * kernel * kernel)));
  const ValueId w = graph.add_constant("w", std::move(weights));
  const int64_t pad = kernel / 2;
  const ValueId y = *graph.add(
      ops::conv, {x, w},
      {{"strides", std::vector{stride, stride}}, {"pads", std::vector{pad, pad, pad, pad}}});
  return *graph.add(ops::relu, {y});
}

// Features of stride 16. Where they are thinned out they are means, as features of networks that
// were trained hardly alias either.
inline Graph stride16_network(int64_t height, int64_t width) {
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, 3, height, width}});
  for (uint64_t i = 0; i < 4; ++i) {
    x = *graph.add(ops::average_pool, {add_conv(graph, x, 8, 3, 1, i)},
                   {{"kernel_shape", std::vector<int64_t>{4, 4}},
                    {"strides", std::vector<int64_t>{2, 2}},
                    {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  }
  graph.mark_output(x);
  return graph;
}

inline std::unique_ptr<Executable> compile(Device& device, const Graph& graph) {
  auto executable = device.compile(graph);
  SHOAL_CHECK(executable.ok());
  return *std::move(executable);
}

inline std::vector<Tensor> run(Executable& executable, std::span<const Tensor> inputs) {
  std::vector<Tensor> outputs(executable.graph().outputs().size());
  SHOAL_CHECK(executable.run(inputs, outputs, {}).ok());
  return outputs;
}

inline double largest_difference(const Tensor& a, const Tensor& b) {
  SHOAL_CHECK(a.type() == b.type());
  double most = 0;
  for (size_t i = 0; i < a.data<float>().size(); ++i) {
    most = std::max(most, std::abs(double{a.data<float>()[i]} - double{b.data<float>()[i]}));
  }
  return most;
}

// ||a - b|| / ||b||
inline double relative_distance(const Tensor& a, const Tensor& b) {
  SHOAL_CHECK(a.type() == b.type());
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.data<float>().size(); ++i) {
    const double x = double{a.data<float>()[i]}, y = double{b.data<float>()[i]};
    difference += (x - y) * (x - y);
    size += y * y;
  }
  return std::sqrt(difference / std::max(size, 1e-12));
}

}  // namespace shoal::keyframe
