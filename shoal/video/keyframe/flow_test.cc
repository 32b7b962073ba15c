// Flow and warping: motion that is known is found, and features move with it.
#include "shoal/video/keyframe/flow.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "shoal/video/keyframe/keyframe_testing.h"
#include "shoal/video/keyframe/warp.h"

namespace shoal::keyframe {
namespace {

constexpr int64_t kHeight = 160, kWidth = 208;
constexpr GreyRange kUnit{0, 1};

Luma luma(const SceneFrame& frame) {
  auto made = luma_of(scene(frame, kHeight, kWidth), kUnit);
  SHOAL_CHECK(made.ok());
  return *std::move(made);
}

const Vector& at(const Flow& flow, int64_t row, int64_t column) {
  return flow.vectors[static_cast<size_t>(row * flow.columns + column)];
}

// Blocks all of which were in the other image, too.
template <class F>
void for_each_inner_block(const Flow& flow, const Vector& by, const F& f) {
  for (int64_t row = 0; row < flow.rows; ++row) {
    for (int64_t column = 0; column < flow.columns; ++column) {
      const double top = static_cast<double>(row * kBlock) + by.y;
      const double left = static_cast<double>(column * kBlock) + by.x;
      if (top >= 0 && left >= 0 && top + kBlock <= kHeight && left + kBlock <= kWidth) {
        f(row, column);
      }
    }
  }
}

TEST(Flow, FindsHowFarAnImageHasMoved) {
  std::mt19937 rng(1);
  std::uniform_int_distribution<int64_t> far(-24, 24);
  for (int i = 0; i < 10; ++i) {
    const int64_t y = far(rng), x = far(rng);
    const Flow flow = estimate_flow(luma({}), luma({.background_y = y, .background_x = x}));
    const Vector expected{static_cast<float>(-x), static_cast<float>(-y)};
    size_t right = 0, blocks = 0;
    for_each_inner_block(flow, expected, [&](int64_t row, int64_t column) {
      ++blocks;
      if (at(flow, row, column) == expected) ++right;
    });
    EXPECT_GE(right, blocks * 98 / 100) << "by " << x << ", " << y << " of " << blocks;
  }
}

TEST(Flow, GoesOnFromAGuess) {
  // Further than the search goes by itself.
  const Luma then = luma({}), now = luma({.background_y = 3, .background_x = 57});
  const Flow near = [&] {
    Flow guess = no_flow(kHeight, kWidth);
    for (Vector& one : guess.vectors) one = {-52, 0};
    return guess;
  }();
  const Flow flow = estimate_flow(then, now, &near);
  for_each_inner_block(flow, {-57, -3}, [&](int64_t row, int64_t column) {
    EXPECT_EQ(at(flow, row, column), (Vector{-57, -3})) << row << ", " << column;
  });
}

TEST(Flow, SeesAnObjectMoveInNoiseAndTheRestStay) {
  const SceneFrame then{.top = 48, .left = 48, .side = 64, .noise = 0.01F, .number = 1};
  SceneFrame now = then;
  now.left += 13;
  now.top -= 6;
  now.number = 2;
  const Flow flow = estimate_flow(luma(then), luma(now));
  for (int64_t row = 0; row < flow.rows; ++row) {
    for (int64_t column = 0; column < flow.columns; ++column) {
      const int64_t top = row * kBlock, left = column * kBlock;
      const bool inside = top >= now.top && top + kBlock <= now.top + now.side &&
                          left >= now.left && left + kBlock <= now.left + now.side;
      const bool outside = top + kBlock <= 40 || top >= 120 || left + kBlock <= 40 || left >= 128;
      if (inside) {
        EXPECT_EQ(at(flow, row, column), (Vector{-13, 6})) << row << ", " << column;
      }
      if (outside) {
        EXPECT_EQ(at(flow, row, column), (Vector{0, 0})) << row << ", " << column;
      }
    }
  }
  EXPECT_GT(flow.mean_length(), 1);
}

TEST(Flow, TakesNoiseOnAWallForStill) {
  std::mt19937 rng(2);
  std::normal_distribution<float> noise(0.5F, 0.01F);
  const auto wall = [&] {
    Tensor image({DType::kF32, {1, 1, kHeight, kWidth}});
    for (float& x : image.data<float>()) x = noise(rng);
    return *luma_of(image, kUnit);
  };
  const Luma then = wall(), now = wall();
  size_t moved = 0;
  const Flow flow = estimate_flow(then, now);
  for (const Vector& one : flow.vectors) moved += one == Vector{} ? 0 : 1;
  EXPECT_LE(moved, flow.vectors.size() / 20);
  EXPECT_LT(flow.residual, 6);
}

TEST(Flow, IsOfImagesAsWellAsOfInputs) {
  Tensor image({DType::kU8, {kHeight, kWidth, 3}});
  const Tensor input = scene({}, kHeight, kWidth);
  for (size_t i = 0; i < image.data<uint8_t>().size(); ++i) {
    image.data<uint8_t>()[i] = static_cast<uint8_t>(255 * input.data<float>()[i / 3] + 0.5F);
  }
  const Luma a = *luma_of(image), b = *luma_of(input, kUnit);
  for (size_t i = 0; i < a.whole().pixels.size(); ++i) {
    ASSERT_LE(std::abs(a.whole().pixels[i] - b.whole().pixels[i]), 1);
  }
}

TEST(Flow, RefusesWhatIsNoImage) {
  EXPECT_FALSE(luma_of(Tensor({DType::kU8, {31, 64, 3}})).ok());
  EXPECT_FALSE(luma_of(Tensor({DType::kU8, {64, 64, 4}})).ok());
  EXPECT_FALSE(luma_of(Tensor({DType::kF32, {64, 64, 3}})).ok());
  EXPECT_FALSE(luma_of(Tensor({DType::kF32, {2, 3, 64, 64}}), kUnit).ok());
  EXPECT_FALSE(luma_of(Tensor({DType::kF32, {1, 3, 64, 31}}), kUnit).ok());
  // What is not a number is black.
  Tensor nan({DType::kF32, {1, 1, 32, 32}});
  std::ranges::fill(nan.data<float>(), std::nanf(""));
  EXPECT_EQ(luma_of(nan, range_of(nan))->whole().pixels[0], 0);
}

TEST(Flow, IsScaledToAPlaneOfFeatures) {
  Flow flow = no_flow(64, 96);  // 4 x 6 blocks
  for (size_t i = 0; i < flow.vectors.size(); ++i) flow.vectors[i] = {static_cast<float>(i), 8};
  const PlaneFlow fine = resample(flow, 8, 12);  // stride 8: the block that it lies in
  EXPECT_EQ(fine.vectors[0], (Vector{0, 1}));
  EXPECT_EQ(fine.vectors[1], (Vector{0, 1}));
  EXPECT_EQ(fine.vectors[2], (Vector{1.0F / 8, 1}));
  EXPECT_EQ(fine.vectors[7 * 12 + 11], (Vector{23.0F / 8, 1}));
  const PlaneFlow coarse = resample(flow, 2, 3);  // stride 32: the mean of four
  EXPECT_EQ(coarse.vectors[0], (Vector{(0 + 1 + 6 + 7) / 4.0F / 32, 0.25F}));
}

PlaneFlow everywhere(int64_t height, int64_t width, const Vector& by) {
  return {height, width, std::vector<Vector>(static_cast<size_t>(height * width), by)};
}

TEST(Warp, IsBilinearAndZeroOutside) {
  const Tensor x = Tensor::of<float>({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(largest_difference(warp(x, everywhere(2, 3, {})), x), 0);
  const auto expect = [&](const Vector& by, std::initializer_list<float> elements) {
    const Tensor expected = Tensor::of<float>({1, 1, 2, 3}, elements);
    EXPECT_LT(largest_difference(warp(x, everywhere(2, 3, by)), expected), 1e-6)
        << by.x << ", " << by.y;
  };
  expect({1, 0}, {2, 3, 0, 5, 6, 0});
  expect({-1, 1}, {0, 4, 5, 0, 0, 0});
  expect({0.5F, 0}, {1.5F, 2.5F, 1.5F, 4.5F, 5.5F, 3});
  expect({0.25F, 0.5F}, {2.75F, 3.75F, 0.75F * 4.5F, 0.5F * 4.25F, 0.5F * 5.25F, 0.375F * 6});
  expect({1e30F, -1e30F}, {0, 0, 0, 0, 0, 0});
}

TEST(Warp, MovesTheBlockedLayoutAsThePlainOne) {
  constexpr int64_t kChannels = 16, kSize = 8, kB = 8;
  std::mt19937 rng(3);
  std::normal_distribution<float> normal;
  Tensor plain({DType::kF32, {1, kChannels, kSize, kSize}});
  Tensor blocked({DType::kF32, {1, kChannels / kB, kSize, kSize, kB}});
  const auto place = [](int64_t c, int64_t pixel) {
    return static_cast<size_t>((c / kB * kSize * kSize + pixel) * kB + c % kB);
  };
  PlaneFlow flow = everywhere(kSize, kSize, {});
  for (Vector& one : flow.vectors) one = {2 * normal(rng), 2 * normal(rng)};
  for (int64_t c = 0; c < kChannels; ++c) {
    for (int64_t p = 0; p < kSize * kSize; ++p) {
      const float value = normal(rng);
      plain.data<float>()[static_cast<size_t>(c * kSize * kSize + p)] = value;
      blocked.data<float>()[place(c, p)] = value;
    }
  }
  const Tensor a = warp(plain, flow), b = warp(blocked, flow);
  for (int64_t c = 0; c < kChannels; ++c) {
    for (int64_t p = 0; p < kSize * kSize; ++p) {
      ASSERT_NEAR(a.data<float>()[static_cast<size_t>(c * kSize * kSize + p)],
                  b.data<float>()[place(c, p)], 1e-6);
    }
  }
}

// E1 of docs/references.md: with flow that is found, not given.
TEST(Warp, GivesTheFeaturesOfAFrameThatMovedByWholeStrides) {
  const auto device = make_cpu_device({.threads = 1});
  const auto network = compile(*device, stride16_network(kHeight, kWidth));
  const auto features = [&](const SceneFrame& frame) {
    const Tensor image = scene(frame, kHeight, kWidth);
    return run(*network, std::span(&image, 1))[0];
  };
  for (const auto& [y, x] : {std::pair<int64_t, int64_t>{16, 0}, {0, -16}, {-16, 16}}) {
    const SceneFrame then, now{.background_y = y, .background_x = x};
    const Tensor moved = features(now);
    const Tensor warped = warp(features(then), estimate_flow(luma(then), luma(now)));
    // Without what the padding of either frame can reach.
    const Shape& shape = moved.shape();
    const Region inner{{0, 0, 3, 3}, {1, shape[1], shape[2] - 3, shape[3] - 3}};
    const double largest = largest_difference(crop(warped, inner), crop(moved, inner));
    EXPECT_LE(largest, 1e-4);
    RecordProperty("largest", std::to_string(largest));
    EXPECT_GT(largest_difference(crop(features(then), inner), crop(moved, inner)), 0.01);
  }
}

// Where everything moves alike, steps add up; what leaves the image is what is at its edge.
TEST(Flow, IsComposedOfSteps) {
  Flow first = no_flow(64, 96), second = first;
  for (Vector& one : first.vectors) one = {16, 0};
  for (Vector& one : second.vectors) one = {-3, 32};
  first.residual = 2;
  for (const Vector& one : composed(first, second).vectors) EXPECT_EQ(one, (Vector{13, 32}));
  EXPECT_EQ(composed(first, second).residual, 2);
  // One block comes from the right, where the first step came from above.
  first = second = no_flow(64, 96);
  first.vectors[3] = {0, -7};
  second.vectors[2] = {16, 0};
  const Flow both = composed(first, second);
  EXPECT_EQ(both.vectors[2], (Vector{16, -7}));
  EXPECT_EQ(both.vectors[1], (Vector{0, 0}));
  EXPECT_EQ(both.vectors[3], (Vector{0, -7}));
  second.vectors[0] = {-1e6F, -1e6F};
  EXPECT_EQ(composed(first, second).vectors[0], (Vector{-1e6F, -1e6F}));
}

TEST(Flow, FollowsAnImageIntoALetterbox) {
  Flow flow = no_flow(64, 128);
  for (int64_t column = 4; column < 8; ++column) {
    for (int64_t row = 0; row < 4; ++row)
      flow.vectors[static_cast<size_t>(row * 8 + column)] = {8, -4};
  }
  const Flow there = placed(flow, 64, 64, {.scale_x = 0.5F, .scale_y = 0.5F, .shift_y = 16});
  for (int64_t row = 0; row < 4; ++row) {
    for (int64_t column = 0; column < 4; ++column) {
      const bool moves = column >= 2 && row >= 1 && row < 3;
      EXPECT_EQ(there.vectors[static_cast<size_t>(row * 4 + column)],
                (moves ? Vector{4, -2} : Vector{}))
          << row << " " << column;
    }
  }
}

}  // namespace
}  // namespace shoal::keyframe
