#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/device_presets.h"
#include "shoal/shrink/branches/compare.h"
#include "shoal/shrink/compress/units/residual_blocks.h"

namespace shoal::branch {
namespace {

plan::ClusterProfile phones() { return *plan::find_cluster("4xnexus5/wifi-43.8"); }

Graph vgg() { return *zoo::build("vgg16cifar", {.width = 0.5}); }

std::vector<size_t> all_blocks(const Graph& graph) {
  std::vector<size_t> order(compress::residual_blocks(graph).size());
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

TEST(WidestBranches, AreInTimeAndWouldNotBeIfTheyWereWider) {
  for (const Graph& graph : {vgg(), *zoo::build("resnet20")}) {
    constexpr double kSeconds = 0.08;
    const auto result = widest_branches(graph, phones(), kSeconds);
    ASSERT_TRUE(result.ok()) << result.status().message();
    ASSERT_TRUE(*result);
    EXPECT_LE((*result)->made.timeline.seconds, kSeconds);
    BranchOptions wider = (*result)->branches;
    wider.fatten += 10;
    const auto slower = plan_of(make_branches(graph, wider)->graph, phones());
    EXPECT_GT((*slower)->timeline.seconds, kSeconds);
  }
}

// Four copies of the image are most of what travels.
TEST(WidestBranches, AreWiderWhereTheImageTakesFewerBytes) {
  constexpr double kSeconds = 0.08;
  const auto plain = widest_branches(vgg(), phones(), kSeconds);
  const plan::WireOptions wire{.smallest = plan::WireFormat::kF16, .error = 1, .inputs = true};
  const auto result = widest_branches(vgg(), phones(), kSeconds, wire);
  ASSERT_TRUE(plain.ok() && *plain && result.ok() && *result);
  EXPECT_LE((*result)->made.timeline.seconds, kSeconds);
  EXPECT_GT((*result)->made.error, 0);
  EXPECT_GT(static_cast<double>((*result)->macs), 1.05 * static_cast<double>((*plain)->macs));
}

// One radio sends the images one after the other.
TEST(WidestBranches, AreNarrowerWhereTheImageComesLater) {
  const auto result = widest_branches(vgg(), phones(), 0.085);
  ASSERT_TRUE(result.ok() && *result);
  const std::vector<double>& factors = (*result)->branches.factors;
  ASSERT_EQ(factors.size(), 4u);
  EXPECT_GT(factors.front(), factors.back());
  EXPECT_TRUE(std::ranges::is_sorted(factors, std::greater()));
  const std::vector<plan::Span>& tasks = (*result)->made.timeline.tasks[0];
  const auto [first, last] = std::ranges::minmax(tasks, {}, &plan::Span::end);
  EXPECT_LT(last.end - first.end, 0.1 * (last.end - last.begin));
}

TEST(WidestBranches, AreNoneWhereMessagesAloneTakeLonger) {
  const auto result = widest_branches(*zoo::build("resnet20"), phones(), 0.01);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_FALSE(*result);
}

TEST(BalancedBranches, AreFlatterTheLessTimeThereIs) {
  const Graph graph = *zoo::build("resnet20");
  size_t before = 0;
  for (const double seconds : {0.1, 0.075}) {
    const auto result = balanced_branches(graph, all_blocks(graph), phones(), seconds);
    ASSERT_TRUE(result.ok()) << result.status().message();
    ASSERT_TRUE(*result) << seconds;
    EXPECT_LE((*result)->made.timeline.seconds, seconds);
    EXPECT_GE((*result)->blocks.size(), before);
    before = (*result)->blocks.size();
  }
  EXPECT_GT(before, 0u);
}

TEST(BalancedBranches, KeepTheDepthOfNetworksWithoutBlocks) {
  const auto result = balanced_branches(vgg(), all_blocks(vgg()), phones(), 0.08);
  ASSERT_TRUE(result.ok() && *result);
  EXPECT_TRUE((*result)->blocks.empty());
}

}  // namespace
}  // namespace shoal::branch
