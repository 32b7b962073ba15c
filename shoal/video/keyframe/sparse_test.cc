// Masks and sparse networks: checks E10, E11 and E13 of docs/references.md.
#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "shoal/video/keyframe/keyframe_testing.h"
#include "shoal/video/keyframe/masks.h"
#include "shoal/video/keyframe/sparse_network.h"

namespace shoal::keyframe {
namespace {

using cpu::Rectangle;
using delta::Grid;
using delta::TileMask;

TileMask random_mask(std::mt19937& rng, const Grid& grid, unsigned percent) {
  TileMask mask(grid);
  for (int64_t row = 0; row < grid.rows(); ++row) {
    for (int64_t column = 0; column < grid.columns(); ++column) {
      mask.set(row, column, rng() % 100 < percent);
    }
  }
  return mask;
}

// The positions that the rectangles of a mask list, in order.
std::vector<int64_t> positions(const TileMask& mask) {
  std::vector<int64_t> all;
  for (const Rectangle& one : mask.rectangles()) {
    for (int64_t y = one.rows.begin; y < one.rows.end; ++y) {
      for (int64_t x = one.columns.begin; x < one.columns.end; ++x) {
        all.push_back(y * mask.grid().width + x);
      }
    }
  }
  std::ranges::sort(all);
  return all;
}

// E10: what the source calls the index operation is the scan that delta inference has.
TEST(Masks, ListTheirPositions) {
  TileMask example(Grid{.height = 3, .width = 3});
  for (const int64_t at : {0, 2, 5}) example.set(at / 3, at % 3);
  EXPECT_EQ(positions(example), (std::vector<int64_t>{0, 2, 5}));
  std::mt19937 rng(1);
  for (int i = 0; i < 50; ++i) {
    const TileMask mask = random_mask(rng, {.height = 1 + i % 9, .width = 1 + i % 13}, 40);
    std::vector<int64_t> expected;
    for (int64_t at = 0; at < mask.grid().pixels(); ++at) {
      if (mask.at(at / mask.grid().width, at % mask.grid().width)) expected.push_back(at);
    }
    EXPECT_EQ(positions(mask), expected);
  }
}

// E13
TEST(Masks, EnlargeBoxesAndClipThem) {
  const Grid pixels{.height = 40, .width = 60};
  const auto is_set = [&](const TileMask& mask, int64_t top, int64_t bottom, int64_t left,
                          int64_t right) {
    for (int64_t y = 0; y < pixels.height; ++y) {
      for (int64_t x = 0; x < pixels.width; ++x) {
        const bool inside = y >= top && y < bottom && x >= left && x < right;
        if (mask.at(y, x) != inside) return false;
      }
    }
    return true;
  };
  const auto mask = [&](const Rectangle& box, int64_t margin) {
    return box_mask(pixels, std::span(&box, 1), margin);
  };
  EXPECT_TRUE(is_set(mask({{10, 20}, {30, 40}}, 0), 10, 20, 30, 40));
  EXPECT_TRUE(is_set(mask({{10, 20}, {30, 40}}, 5), 5, 25, 25, 45));
  EXPECT_TRUE(is_set(mask({{2, 38}, {50, 58}}, 8), 0, 40, 42, 60));
  EXPECT_TRUE(is_set(mask({{-30, -10}, {0, 10}}, 4), 0, 0, 0, 0));  // outside
  EXPECT_TRUE(is_set(mask({{-30, -2}, {0, 10}}, 4), 0, 2, 0, 14));
  EXPECT_EQ(margin_after(0), 64);
  EXPECT_GT(margin_after(5), margin_after(4));
  // Of a grid of tiles, those that it touches.
  const Grid tiles{.height = 40, .width = 60, .tile_height = 8, .tile_width = 8};
  const Rectangle box{{7, 9}, {16, 24}};
  const TileMask coarse = box_mask(tiles, std::span(&box, 1), 0);
  EXPECT_EQ(coarse.pixels(), 2 * 64);
  EXPECT_TRUE(coarse.at(0, 2) && coarse.at(1, 2));
}

TEST(Masks, ShowWhereBrightnessChanged) {
  const Grid grid{.height = 32, .width = 48, .tile_height = 8, .tile_width = 8};
  Plane then{32, 48, std::vector<uint8_t>(32 * 48, 100)}, now = then;
  now.pixels[9 * 48 + 17] = 115;
  now.pixels[20 * 48 + 40] = 86;  // 14 levels: below the threshold
  const TileMask mask = brightness_mask(grid, then, now, 15);
  EXPECT_EQ(mask.pixels(), 64);
  EXPECT_TRUE(mask.at(1, 2));
  TileMask other(grid);
  other.set(0, 0);
  EXPECT_FALSE(both(mask, other).any());
  other.set(1, 2);
  EXPECT_EQ(both(mask, other).pixels(), 64);
}

// A pixel of a plane is set if, and only if, one of the tiles below it is.
TEST(Masks, AreBroughtToSmallerPlanesWithoutLosingAnything) {
  std::mt19937 rng(2);
  for (int i = 0; i < 30; ++i) {
    const Grid fine{.height = 24 + i, .width = 40 - i, .tile_height = 1 + i % 5, .tile_width = 3};
    const Grid coarse{.height = 1 + i % 11, .width = 7};
    const TileMask mask = random_mask(rng, fine, 10), smaller = regridded(mask, coarse);
    TileMask expected(coarse);
    for (int64_t y = 0; y < fine.height; ++y) {
      for (int64_t x = 0; x < fine.width; ++x) {
        // The tile as a whole counts for all coarse pixels that it overlaps.
        if (!mask.at(y / fine.tile_height, x / fine.tile_width)) continue;
        expected.set(y * coarse.height / fine.height, x * coarse.width / fine.width);
      }
    }
    for (int64_t y = 0; y < coarse.height; ++y) {
      for (int64_t x = 0; x < coarse.width; ++x) {
        if (expected.at(y, x)) {
          EXPECT_TRUE(smaller.at(y, x));
        }
      }
    }
    EXPECT_EQ(smaller.any(), mask.any());
  }
}

// E11: where the mask is set as the dense network, zero elsewhere; all set: the dense network.
TEST(SparseNetwork, ComputesWhereTheMaskSaysSo) {
  std::mt19937 rng(3);
  const auto device = make_cpu_device({.threads = 1});
  for (const auto& [kernel, channels] : {std::pair<int64_t, int64_t>{3, 32}, {1, 24}, {5, 16}}) {
    Graph graph;
    const ValueId x = graph.add_input("x", {DType::kF32, {1, channels, 38, 63}});
    graph.mark_output(add_conv(graph, x, channels, kernel, 1, 7));
    auto sparse = SparseNetwork::compile(graph, *device);
    ASSERT_TRUE(sparse.ok()) << sparse.status().message();
    Tensor input({DType::kF32, {1, channels, 38, 63}});
    fill_normal(input.data<float>(), RandomStream(5, 5), 1);
    const Tensor dense = run(*compile(*device, graph), std::span(&input, 1))[0];
    for (const unsigned percent : {0u, 5u, 40u, 100u}) {
      const TileMask mask = random_mask(rng, {.height = 38, .width = 63}, percent);
      const TileMask computed = sparse->computed(mask);
      Tensor output;
      ASSERT_TRUE(sparse->run(input, mask, std::span(&output, 1)).ok());
      const auto y = std::as_const(output).data<float>(), expected = dense.data<float>();
      for (int64_t i = 0; i < dense.count(); ++i) {
        const int64_t row = i / 63 % 38, column = i % 63;
        const Grid& grid = computed.grid();
        const bool on = computed.at(row / grid.tile_height, column / grid.tile_width);
        ASSERT_TRUE(on || !mask.at(row, column));
        const auto at = static_cast<size_t>(i);
        ASSERT_NEAR(y[at], on ? expected[at] : 0, on ? 1e-5 : 0) << row << ", " << column;
      }
    }
  }
}

// Layers of a smaller plane have a smaller mask, and what was computed before is not seen again.
TEST(SparseNetwork, GoesThroughLayersAndForgetsTheLastRun) {
  const auto device = make_cpu_device({.threads = 1});
  const Graph graph = stride16_network(128, 192);
  auto sparse = SparseNetwork::compile(graph, *device);
  ASSERT_TRUE(sparse.ok());
  const Tensor input = scene({}, 128, 192);
  const Tensor dense = run(*compile(*device, graph), std::span(&input, 1))[0];
  TileMask all(Grid{.height = 128, .width = 192}), none = all, left = all;
  all.fill(true);
  for (int64_t y = 0; y < 128; ++y) {
    for (int64_t x = 0; x < 96; ++x) left.set(y, x);
  }
  const auto computed = [&](const TileMask& mask) {
    Tensor output;
    SHOAL_CHECK(sparse->run(input, mask, std::span(&output, 1)).ok());
    return output;
  };
  EXPECT_LE(largest_difference(computed(all), dense), 1e-5);
  const Tensor half = computed(left);
  const auto part = [](const Tensor& tensor, int64_t begin, int64_t end) {
    return crop(tensor, {{0, 0, 0, begin}, {1, 8, 8, end}});
  };
  EXPECT_LE(largest_difference(part(half, 0, 4), part(dense, 0, 4)), 1e-5);
  EXPECT_EQ(largest_difference(part(half, 8, 12), Tensor({DType::kF32, {1, 8, 8, 4}})), 0);
  EXPECT_EQ(largest_difference(computed(none), Tensor(dense.type())), 0);
}

TEST(SparseNetwork, NeedsACpu) {
  const auto device = make_reference_device();
  EXPECT_EQ(SparseNetwork::compile(stride16_network(64, 64), *device).status().code(),
            Code::kUnsupported);
}

}  // namespace
}  // namespace shoal::keyframe
