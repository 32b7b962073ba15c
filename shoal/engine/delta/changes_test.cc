// What changes follows from what is read, and is covered by rectangles.
#include "shoal/engine/delta/changes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "shoal/engine/delta/delta_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal::delta {
namespace {

using cpu::Rectangle;

// [Huynh 2017], the share of the positions of each convolution of VGG-16 that can be kept, for
// blocks of 28 x 28 pixels that did not change. One tile a pixel.
struct VggCase {
  std::string name;
  std::vector<std::pair<int, int>> changed;  // blocks, of 8 x 8
  std::vector<double> kept;                  // by convolution
  double saved;                              // of all MACs
};

std::vector<VggCase> vgg_cases() {
  std::vector<std::pair<int, int>> below_4, all_but_inner, centre, board;
  for (int r = 0; r < 8; ++r) {
    for (int c = 0; c < 8; ++c) {
      if (r >= 4) below_4.emplace_back(r, c);
      if (r != 3 || c != 3) all_but_inner.emplace_back(r, c);
      if ((r == 3 || r == 4) && (c == 3 || c == 4)) centre.emplace_back(r, c);
      if ((r + c) % 2 == 1) board.emplace_back(r, c);
    }
  }
  return {
      {"one isolated inner block",
       all_but_inner,
       {.013, .011, .008, .005, 0, 0, 0, 0, 0, 0, 0, 0, 0},
       .003},
      {"top 4 of 8 rows",
       below_4,
       {.496, .491, .482, .473, .446, .429, .411, .357, .321, .286, .214, .143, .071},
       .384},
      {"all but centre 2x2",
       centre,
       {.933, .928, .918, .908, .872, .846, .816, .750, .673, .587, .265, 0, 0},
       .740},
      {"checkerboard", board, {.439, .383, .281, .195, .031, .006, .003, 0, 0, 0, 0, 0, 0}, .092}};
}

// The convolutions and pools of VGG-16, one channel each: masks know no channels.
Graph vgg_windows() {
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, 1, 224, 224}});
  const ValueId w = graph.add_constant("w", Tensor({DType::kF32, {1, 1, 3, 3}}));
  for (const int convolutions : {2, 2, 3, 3, 3}) {
    for (int i = 0; i < convolutions; ++i) {
      x = *graph.add(ops::conv, {x, w}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    }
    x = *graph.add(
        ops::max_pool, {x},
        {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
  }
  graph.mark_output(x);
  return graph;
}

TEST(Reach, GivesDeepMonsTableForVgg16) {
  constexpr std::array kIn = {3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512};
  constexpr std::array kOut = {64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512};
  const Graph graph = vgg_windows();
  for (const VggCase& one : vgg_cases()) {
    std::vector<Changes> changes(graph.value_count());
    Changes& image = changes[static_cast<size_t>(graph.inputs()[0])];
    image = Changes(plane_of({1, 1, 224, 224}));
    for (const auto& [r, c] : one.changed) {
      image.add({{r * 28, r * 28 + 28}, {c * 28, c * 28 + 28}});
    }
    size_t convolution = 0;
    double macs = 0, saved = 0;
    for (const Node& node : graph.nodes()) {
      const Changes& x = changes[static_cast<size_t>(node.inputs[0])];
      Changes& y = changes[static_cast<size_t>(node.outputs[0])];
      y = Changes(plane_of(graph[node.outputs[0]].type.shape));
      spread(x.rectangles(), reach_of(graph, node)[0], y);
      if (node.op != &ops::conv) continue;
      const auto computed = static_cast<double>(y.pixels());
      const double kept = 1 - computed / static_cast<double>(y.grid().pixels());
      EXPECT_NEAR(kept, one.kept[convolution], 0.0005) << one.name << ", " << convolution;
      const double all =
          static_cast<double>(y.grid().pixels()) * kIn[convolution] * kOut[convolution];
      macs += all;
      saved += all * kept;
      ++convolution;
    }
    EXPECT_NEAR(saved / macs, one.saved, 0.0005) << one.name;
  }
}

// How many of the rectangles each pixel of a plane is in.
std::vector<int> times_in(const Grid& grid, const std::vector<Rectangle>& rectangles) {
  std::vector<int> times(static_cast<size_t>(grid.pixels()));
  for (const Rectangle& one : rectangles) {
    for (int64_t y = one.rows.begin; y < one.rows.end; ++y) {
      for (int64_t x = one.columns.begin; x < one.columns.end; ++x) {
        ++times.at(static_cast<size_t>(y * grid.width + x));
      }
    }
  }
  return times;
}

// Rectangles of a cover are disjoint and hold all that changed; without an allowance they hold
// nothing else. Those that are widened begin and end where they may.
TEST(Changes, AreCovered) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const int64_t granule = draw(rng, 1, 4);
    Grid grid{.height = draw(rng, 1, 30), .width = draw(rng, 1, 40)};
    grid.tile_height = granule * draw(rng, 1, 3);
    grid.tile_width = granule * draw(rng, 1, 3);
    Changes changes(grid);
    std::vector<Rectangle> added;
    for (int64_t i = draw(rng, 0, 5); i > 0; --i) {
      const int64_t top = draw(rng, 0, grid.height - 1), left = draw(rng, 0, grid.width - 1);
      added.push_back({{top, std::min(grid.height, top + draw(rng, 1, 9))},
                       {left, std::min(grid.width, left + draw(rng, 1, 9))}});
      changes.add(added.back());
    }
    const std::vector<int> wanted = times_in(grid, added);
    const std::vector<int> exact = times_in(grid, changes.rectangles());
    const std::vector<int> covered = times_in(grid, changes.cover(0.25));
    Changes wide = changes;
    wide.widen(granule);
    const std::vector<int> widened = times_in(grid, wide.rectangles());
    int64_t pixels = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_LE(std::min(wanted[i], 1), exact[i]) << "seed " << seed << ", pixel " << i;
      EXPECT_LE(exact[i], covered[i]) << "seed " << seed << ", pixel " << i;
      EXPECT_LE(exact[i], widened[i]) << "seed " << seed << ", pixel " << i;
      EXPECT_LE(std::max(covered[i], widened[i]), 1) << "seed " << seed << ", pixel " << i;
      pixels += exact[i];
    }
    EXPECT_EQ(changes.pixels(), pixels);
    for (const Rectangle& one : wide.rectangles()) {
      EXPECT_EQ(one.rows.begin % granule, 0);
      EXPECT_EQ(one.columns.begin % granule, 0);
      EXPECT_TRUE(one.rows.end % granule == 0 || one.rows.end == grid.height);
      EXPECT_TRUE(one.columns.end % granule == 0 || one.columns.end == grid.width);
    }
  }
}

}  // namespace
}  // namespace shoal::delta
