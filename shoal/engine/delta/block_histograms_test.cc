#include "shoal/engine/delta/block_histograms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "shoal/engine/delta/delta_testing.h"

namespace shoal::delta {
namespace {

// An image of one channel, whose 8 x 8 blocks have 28 x 28 pixels each, in grey levels.
Tensor grey_image(Rng& rng) {
  Tensor image({DType::kF32, {1, 1, 224, 224}});
  for (float& x : image.data<float>()) x = static_cast<float>(draw(rng, 0, 15) * 16 + 8);
  return image;
}
const HistogramOptions kGrey = {.low = 0, .high = 256};

// DM-6 of docs/references.md: this many pixels of a block of 784, from one bin to another that is
// empty.
TEST(BlockHistograms, MeasureWhatDeepMonDoes) {
  const auto measured = [](int pixels) {
    std::vector<float> old(16), now(16);
    old[3] = 1;
    now[3] = 1 - static_cast<float>(pixels) / 784;
    now[9] = static_cast<float>(pixels) / 784;
    return distance(old, now, 16);
  };
  const std::vector<std::pair<int, double>> published = {
      {1, 0.0013}, {2, 0.0026}, {4, 0.0051}, {8, 0.0103}, {16, 0.0206}};
  for (const auto& [pixels, distance] : published) {
    EXPECT_NEAR(measured(pixels), distance, 0.00005) << pixels;
  }
  EXPECT_LT(measured(3), HistogramOptions().most);
  EXPECT_GT(measured(4), HistogramOptions().most);
}

// DM-7 and DM-8 of docs/references.md: a still scene is taken again exactly when its time is over.
TEST(BlockHistograms, ExpireAfterTheirTime) {
  Rng rng(11);
  const Tensor image = grey_image(rng);
  HistogramOptions options = kGrey;
  options.ttl_ms = 650;
  BlockHistograms blocks(options);
  std::string trace;
  for (int i = 0; i < 16; ++i) trace += blocks.update(image, i * 100).any() ? 'x' : '.';
  EXPECT_EQ(trace, "x......x......x.");
  EXPECT_TRUE(blocks.update(Tensor({DType::kF32, {1, 1, 64, 64}}), 1600).at(0, 0));
}

// DM-9 of docs/references.md: what moves inside a block has the same histogram, but other means.
TEST(BlockHistograms, MissWhatMovesInsideABlockUnlessMeansAreCompared) {
  for (const bool means : {false, true}) {
    HistogramOptions options = kGrey;
    options.compares_means = means;
    BlockHistograms blocks(options);
    const auto image_with_square_at = [](int64_t at) {
      Tensor image({DType::kF32, {1, 1, 224, 224}}), square({DType::kF32, {1, 1, 7, 7}});
      std::ranges::fill(square.data<float>(), 200.0F);
      paste(square, {{0, 0, at, at}, {1, 1, at + 7, at + 7}}, image);
      return image;
    };
    blocks.update(image_with_square_at(28), 0);
    EXPECT_EQ(blocks.update(image_with_square_at(40), 0).at(1, 1), means);
  }
}

// DM-10 of docs/references.md: a slow change is never noticed from one image to the next.
TEST(BlockHistograms, DriftUnlessComparedWithWhatWasTaken) {
  Rng rng(12);
  for (const bool since_taken : {false, true}) {
    HistogramOptions options = kGrey;
    options.since_taken = since_taken;
    BlockHistograms blocks(options);
    // Every second bin has four times as many pixels: together they move from bin to bin.
    Tensor image({DType::kF32, {1, 1, 224, 224}});
    std::uniform_real_distribution<float> level(0, 16);
    for (float& x : image.data<float>()) {
      const int64_t bin = 2 * draw(rng, 1, 4) + (draw(rng, 0, 4) == 0 ? 1 : 0);
      x = static_cast<float>(bin * 16) + level(rng);
    }
    blocks.update(image, 0);
    int changed = 0;
    for (int frame = 0; frame < 80; ++frame) {
      for (float& x : image.data<float>()) x += 0.1F;
      changed += blocks.update(image, 0).any() ? 1 : 0;
    }
    EXPECT_EQ(changed > 0, since_taken);
  }
}

// By vectors as one by one.
TEST(Bins, AreCounted) {
  Rng rng(15);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int round = 0; round < 100; ++round) {
    const int64_t count = draw(rng, 1, 40);
    const Tensor drawn = random_floats(rng, {draw(rng, 1, 9000)}, static_cast<float>(count));
    std::vector<float> elements(drawn.data<float>().begin(), drawn.data<float>().end());
    elements.push_back(std::numeric_limits<float>::quiet_NaN());
    elements.push_back(-kInfinity);
    elements.push_back(kInfinity);
    std::vector<uint8_t> bins(elements.size());
    bins_of(elements, {.low = -2, .scale = 0.75F, .count = count}, bins);
    std::vector<uint32_t> wanted(static_cast<size_t>(count)), found(wanted);
    for (const float x : elements) {
      const float place = (x + 2) * 0.75F;
      const float most = static_cast<float>(count - 1);
      ++wanted[place > 0 ? static_cast<size_t>(std::min(place, most)) : 0];
    }
    count_bins(bins, found);
    EXPECT_EQ(found, wanted) << count << " bins of " << elements.size();
  }
}

}  // namespace
}  // namespace shoal::delta
