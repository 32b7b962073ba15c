#include "shoal/video/watch/frames/scene.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <string>

#include "shoal/base/math/random.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/onnx/export/export.h"
#include "shoal/model/ops/ops.h"

namespace shoal::watch {
namespace {

constexpr int64_t kSide = 48, kLanes = 4;
constexpr double kFastest = 4;  // pixels a frame
constexpr std::array<int, 3> kRed = {220, 40, 40};
constexpr size_t kNoise = size_t{1} << 16;  // samples beyond a row

std::array<double, kLanes> places(const SceneOptions& options, size_t frame) {
  const RandomStream random(options.seed, 1);
  const auto share = [&](uint64_t i) { return static_cast<double>(random.below(1000, i)) / 1000; };
  const auto room = static_cast<double>(options.width - kSide);
  std::array<double, kLanes> at{};
  for (size_t lane = 0; lane < kLanes; ++lane) at[lane] = share(lane) * room;
  const double moving = std::max(1.0, std::round(options.activity * double(options.episode)));
  if (options.activity <= 0) return at;
  for (size_t episode = 0; episode * options.episode <= frame; ++episode) {
    const uint64_t word = kLanes + 4 * episode;
    double& x = at[random.below(kLanes, word)];
    const double way = kFastest * moving * (0.5 + 0.5 * share(word + 1));
    const double to = x + way <= room && (x - way < 0 || share(word + 2) < 0.5) ? x + way : x - way;
    const double begin = std::floor(share(word + 3) * (double(options.episode) - moving));
    const double since = static_cast<double>(frame - episode * options.episode) - begin;
    x += (std::clamp(to, 0.0, room) - x) * std::clamp(since / moving, 0.0, 1.0);
  }
  return at;
}

// "[0.5,1.5,...]"
std::string ramp(int64_t count, double first, double step) {
  std::string text = "[";
  for (int64_t i = 0; i < count; ++i) {
    text += (i > 0 ? "," : "") + std::to_string(first + step * static_cast<double>(i));
  }
  return text + "]";
}

}  // namespace

std::vector<track::Identified> scene_truth(const SceneOptions& options, size_t frame) {
  std::vector<track::Identified> truth;
  const auto at = places(options, frame);
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    const int64_t left = std::lround(at[static_cast<size_t>(lane)]);
    const int64_t top = (2 * lane + 1) * options.height / (2 * kLanes) - kSide / 2;
    truth.push_back({lane + 1,
                     {static_cast<float>(left), static_cast<float>(top),
                      static_cast<float>(left + kSide), static_cast<float>(top + kSide)}});
  }
  return truth;
}

SceneSource::SceneSource(const SceneOptions& options)
    : options_(options), noise_(kNoise + static_cast<size_t>(3 * options.width)) {
  SHOAL_CHECK(options.height >= 384 && options.width >= 384 && options.episode > 0);
  fill_normal(noise_, RandomStream(options.seed, 2), options.noise);
  const RandomStream levels(options.seed, 3);
  constexpr int64_t kTile = 32;
  for (int64_t y = 0; y < options.height; ++y) {
    for (int64_t x = 0; x < options.width; ++x) {
      const auto tile = static_cast<uint64_t>(y / kTile * options.width + x / kTile);
      wall_.insert(wall_.end(), 3, static_cast<uint8_t>(90 + levels.below(60, tile)));
    }
  }
}

Result<std::optional<Frame>> SceneSource::next() {
  if (next_ == options_.frames) return std::optional<Frame>();
  const size_t number = next_++;
  Tensor image = Tensor::uninitialized({DType::kU8, {options_.height, options_.width, 3}});
  const auto pixels = image.data<uint8_t>();
  const auto line = static_cast<size_t>(3 * options_.width);
  std::ranges::copy(wall_, pixels.begin());
  for (const track::Identified& identified : scene_truth(options_, number)) {
    for (auto y = static_cast<size_t>(identified.box.top);
         y < static_cast<size_t>(identified.box.bottom); ++y) {
      for (size_t i = 0; i < 3 * size_t{kSide}; ++i) {
        pixels[y * line + 3 * static_cast<size_t>(identified.box.left) + i] =
            static_cast<uint8_t>(kRed[i % 3]);
      }
    }
  }
  const auto light = static_cast<float>(
      options_.light * std::sin(static_cast<double>(number) * 2 * std::numbers::pi / 900));
  const RandomStream offsets = RandomStream(options_.seed, 4).child(number);
  for (size_t y = 0; y < static_cast<size_t>(options_.height); ++y) {
    const float* const noise = noise_.data() + offsets.below(kNoise, y);
    uint8_t* const row = pixels.data() + y * line;
    for (size_t i = 0; i < line; ++i) {
      row[i] = static_cast<uint8_t>(
          std::clamp(static_cast<float>(row[i]) + light + noise[i] + 0.5F, 0.0F, 255.0F));
    }
  }
  return std::optional<Frame>(Frame{
      .number = number, .name = std::to_string(number), .time_us = 0, .image = std::move(image)});
}

Result<Model> scene_detector() {
  // Half the size of the scene. A window has 40 x 40 pixels of it, a square 24 x 24, which are red
  // by 0.45; only the cell in which the centroid lies answers.
  constexpr int64_t kHeight = 288, kWidth = 384, kRows = kHeight / 8, kColumns = kWidth / 8;
  const std::string text =
      "input x f32[1,3,288,384]\n"
      "const redness f32[1,3,1,1] = [1,-0.5,-0.5]\n"
      "const threshold f32[1] = [-0.25]\n"
      "const xs f32[1,1,1,384] = " +
      ramp(kWidth, 0.5, 1) + "\n" + "const ys f32[1,1,288,1] = " + ramp(kHeight, 0.5, 1) + "\n" +
      "const cell_x f32[1,1,1,48] = " + ramp(kColumns, 4, 8) + "\n" +
      "const cell_y f32[1,1,36,1] = " + ramp(kRows, 4, 8) + "\n" +
      "const few f32[1] = [1e-9]\n"
      "const full f32[1] = [6.3]\n"
      "const one f32[1] = [1]\n"
      "const half_cell f32[1] = [4]\n"
      "const side f32[1,2,36,48] = full(24)\n"
      "const none f32[1,5,540] = zeros\n"
      "const flat i64[3] = [1,5,1728]\n"
      R"(conv = Conv(x, redness, threshold)
red = Relu(conv)
by_x = Mul(red, xs)
by_y = Mul(red, ys)
all = Concat(red, by_x, by_y) axis=1
sums = AveragePool(all) kernel_shape=[40,40] strides=[8,8] pads=[16,16,16,16] count_include_pad=1
mass, mass_x, mass_y = Split(sums) axis=1
some = Add(mass, few)
centre_x = Div(mass_x, some)
centre_y = Div(mass_y, some)
off_x = Sub(centre_x, cell_x)
off_y = Sub(centre_y, cell_y)
far_x = Abs(off_x)
far_y = Abs(off_y)
out_x = Sub(far_x, half_cell)
out_y = Sub(far_y, half_cell)
beyond_x = Relu(out_x)
beyond_y = Relu(out_y)
rest_x = Sub(one, beyond_x)
rest = Sub(rest_x, beyond_y)
inside = Relu(rest)
share = Mul(mass, full)
filled = Min(share, one)
score = Mul(filled, inside)
grid = Concat(centre_x, centre_y, side, score) axis=1
cells = Reshape(grid, flat)
y = Concat(cells, none) axis=2
output y
)";
  SHOAL_ASSIGN(const Graph graph, parse_text(text, ops::find));
  SHOAL_ASSIGN(std::vector<std::byte> bytes, onnx::to_onnx(graph));
  const auto owner = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  return parse_model(owner, *owner);
}

}  // namespace shoal::watch
