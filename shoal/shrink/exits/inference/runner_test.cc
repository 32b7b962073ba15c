#include "shoal/shrink/exits/inference/runner.h"

#include <gtest/gtest.h>

#include <random>

#include "shoal/engine/run/scores.h"
#include "shoal/shrink/exits/network/exits_testing.h"

namespace shoal::exits {
namespace {

using testing::random_images;
using testing::same_bytes;

Runner runner_for(Device& device, uint64_t seed) {
  auto runner = Runner::create(device, testing::random_multi_exit(seed));
  EXPECT_TRUE(runner.ok()) << runner.status().message();
  SHOAL_CHECK(runner.ok());
  return *std::move(runner);
}

class Running : public ::testing::Test {
 protected:
  std::unique_ptr<Device> device_ = make_reference_device();
};

TEST_F(Running, LeavesOutImagesThatHaveTheirAnswer) {
  // With the median of its own probabilities as the threshold, about half leave at each exit.
  for (uint64_t seed = 1; seed < 8; ++seed) {
    const Runner runner = runner_for(*device_, seed);
    const Tensor images = random_images(runner.input_type(), 7, seed);
    auto progress = runner.start(images);
    ASSERT_TRUE(progress.ok());
    std::vector<double> thresholds;
    for (size_t exit = 0; exit < runner.exits().size(); ++exit) {
      const auto scores = runner.advance(*progress);
      ASSERT_TRUE(scores.ok()) << scores.status().message();
      std::vector<double> best;
      for (size_t row = 0; row < 7; ++row) {
        const auto p = fit::softmax(scores->data<float>().subspan(row * 5, 5));
        best.push_back(*std::ranges::max_element(p));
      }
      std::ranges::sort(best);
      thresholds.push_back(best[3]);
    }
    const auto together = runner.run(images, thresholds);
    ASSERT_TRUE(together.ok()) << together.status().message();
    size_t early = 0;
    for (size_t i = 0; i < 7; ++i) {
      Region row = Region::whole(images.shape());
      row.begin[0] = static_cast<int64_t>(i);
      row.end[0] = row.begin[0] + 1;
      const auto alone = runner.run(crop(images, row), thresholds);
      ASSERT_TRUE(alone.ok());
      EXPECT_EQ((*together)[i].exit, (*alone)[0].exit);
      EXPECT_EQ((*together)[i].scores, (*alone)[0].scores);
      EXPECT_EQ((*together)[i].best, (*alone)[0].best);
      early += (*together)[i].exit == 0 ? 1 : 0;
    }
    EXPECT_GE(early, 4u);
    EXPECT_LT(early, 7u);
  }
}

TEST_F(Running, GoesToTheEndWhereNoExitIsSure) {
  const Runner runner = runner_for(*device_, 4);
  const Tensor images = random_images(runner.input_type(), 3, 1);
  const std::vector<double> never(runner.exits().size(), kNever), always(runner.exits().size(), 0);
  const auto late = runner.run(images, never), early = runner.run(images, always);
  ASSERT_TRUE(late.ok() && early.ok());
  for (const Answer& answer : *late) EXPECT_EQ(answer.exit, runner.exits().size());
  for (const Answer& answer : *early) EXPECT_EQ(answer.exit, 0u);
}

// Each image of a batch by its own wish, bit by bit as if it were alone.
TEST_F(Running, HeedsTheWishOfEachImage) {
  constexpr size_t kImages = 9;
  for (uint64_t seed = 1; seed < 8; ++seed) {
    const Runner runner = runner_for(*device_, seed);
    const Tensor images = random_images(runner.input_type(), kImages, seed);
    std::mt19937 rng(static_cast<uint32_t>(seed));
    std::vector<ExitWish> wishes(kImages);
    for (ExitWish& wish : wishes) {
      if (rng() % 4 > 0) wish.last = rng() % (runner.exits().size() + 2);
      if (rng() % 2 > 0) wish.confidence = 0.2 + 0.2 * static_cast<double>(rng() % 4);
    }
    const auto together = runner.run(images, wishes);
    ASSERT_TRUE(together.ok()) << together.status().message();
    for (size_t i = 0; i < kImages; ++i) {
      Region row = Region::whole(images.shape());
      row.begin[0] = static_cast<int64_t>(i);
      row.end[0] = row.begin[0] + 1;
      const auto alone = runner.run(crop(images, row), std::span(&wishes[i], 1));
      ASSERT_TRUE(alone.ok()) << alone.status().message();
      EXPECT_EQ((*together)[i].exit, (*alone)[0].exit);
      EXPECT_EQ((*together)[i].scores, (*alone)[0].scores);
      const size_t last = std::min(wishes[i].last, runner.exits().size());
      EXPECT_LE((*together)[i].exit, last);
      if (wishes[i].confidence == kNever) {
        EXPECT_EQ((*together)[i].exit, last);
      }
      if ((*together)[i].exit < last) {
        EXPECT_GE((*together)[i].probability, wishes[i].confidence);
      }
    }
  }
}

TEST_F(Running, KeepsNothingThatNoLaterStageReads) {
  for (uint64_t seed = 1; seed < 8; ++seed) {
    const Runner runner = runner_for(*device_, seed);
    auto progress = runner.start(random_images(runner.input_type(), 2, seed));
    ASSERT_TRUE(progress.ok());
    for (size_t stage = 0; stage < runner.stage_macs().size(); ++stage) {
      ASSERT_TRUE(runner.advance(*progress).ok());
      EXPECT_FALSE(progress->live.contains(
          stage < runner.exits().size() ? runner.exits()[stage].scores : std::string()));
    }
    EXPECT_TRUE(progress->live.empty());
  }
}

TEST_F(Running, RefusesImagesOfAnotherType) {
  const Runner runner = runner_for(*device_, 1);
  EXPECT_EQ(runner.start(Tensor({DType::kF32, {2, 3, 8, 8}})).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(runner.start(Tensor({DType::kU8, {2, 3, 16, 16}})).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(runner.start(Tensor({DType::kF32, {}})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(runner.start(Tensor({DType::kF32, {0, 3, 16, 16}})).status().code(),
            Code::kInvalidArgument);
}

TEST_F(Running, RefusesNetworksThatMixTheImagesOfABatch) {
  const auto mixing = [](int64_t batch) -> Result<MultiExit> {
    MultiExit network;
    Graph& graph = network.graph;
    const ValueId x = graph.add_input("x", {DType::kF32, {batch, 4}});
    SHOAL_ASSIGN(const ValueId turned,
                 graph.add(ops::transpose, {x}, {{"perm", std::vector<int64_t>{1, 0}}}, "t"));
    SHOAL_ASSIGN(const ValueId back,
                 graph.add(ops::transpose, {turned}, {{"perm", std::vector<int64_t>{1, 0}}}, "b"));
    SHOAL_ASSIGN(const ValueId early, graph.add(ops::relu, {back}, {}, "early"));
    SHOAL_ASSIGN(const ValueId there,
                 graph.add(ops::transpose, {turned}, {{"perm", std::vector<int64_t>{1, 0}}}, "c"));
    SHOAL_ASSIGN(const ValueId late, graph.add(ops::tanh, {there}, {}, "late"));
    graph.mark_output(late);
    graph.mark_output(early);
    network.exits = {{.at = "b", .scores = "early"}};
    network.outputs = {"late", "early"};
    return network;
  };
  EXPECT_EQ(Runner::create(*device_, mixing).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace shoal::exits
