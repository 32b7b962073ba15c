#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "shoal/base/math/random.h"
#include "shoal/train/distributed/exchange/merger.h"

namespace shoal::learn {
namespace {

constexpr int kLevels = 5;
constexpr int64_t kLeaves = 1 << kLevels;

std::vector<Tensor> leaf(int64_t number) {
  std::vector<Tensor> tensors{Tensor({DType::kF32, {37}}), Tensor({DType::kF32, {2, 3}})};
  for (size_t i = 0; i < tensors.size(); ++i) {
    fill_normal(tensors[i].data<float>(), RandomStream(static_cast<uint64_t>(number), i), 1);
  }
  return tensors;
}

// The sum of these leaves as far as they alone can compute it.
TreeSum sum_of(int64_t begin, int64_t end) {
  TreeSum sum(kLevels);
  for (int64_t i = begin; i < end; ++i) SHOAL_CHECK(sum.add({0, i}, leaf(i)).ok());
  return sum;
}

std::vector<std::byte> bytes_of(const TreeSum& sum) {
  std::vector<std::byte> bytes;
  for (const auto& [first, node] : sum.nodes()) {
    for (const Tensor& tensor : node.second) {
      bytes.insert(bytes.end(), tensor.bytes().begin(), tensor.bytes().end());
    }
  }
  return bytes;
}

TEST(SubtreesOf, CoverEveryRangeOnceWithFewNodes) {
  for (int64_t begin = 0; begin <= kLeaves; ++begin) {
    for (int64_t end = begin; end <= kLeaves; ++end) {
      int64_t at = begin;
      const std::vector<Subtree> nodes = subtrees_of(begin, end);
      for (const Subtree& node : nodes) {
        EXPECT_EQ(node.first(), at);
        at = node.end();
      }
      EXPECT_EQ(at, end);
      EXPECT_LE(nodes.size(), size_t{2 * kLevels});
    }
  }
  EXPECT_EQ(subtrees_of(0, 8), (std::vector<Subtree>{{3, 0}}));
  EXPECT_EQ(subtrees_of(0, 5), (std::vector<Subtree>{{2, 0}, {0, 4}}));
  EXPECT_EQ(subtrees_of(5, 8), (std::vector<Subtree>{{0, 5}, {1, 3}}));
}

// Any shares, in any order of arrival, end with the bits of one worker alone.
TEST(TreeSum, HasTheSameBitsForAllShares) {
  const std::vector<std::byte> alone = bytes_of(sum_of(0, kLeaves));
  std::mt19937 rng(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> cuts = {0, kLeaves};
    for (int i = 0; i < round % 8; ++i) cuts.push_back(static_cast<int64_t>(rng() % kLeaves));
    std::sort(cuts.begin(), cuts.end());
    std::vector<std::pair<Subtree, std::vector<Tensor>>> sent;
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      const TreeSum part = sum_of(cuts[i], cuts[i + 1]);
      EXPECT_EQ(part.nodes().size(), subtrees_of(cuts[i], cuts[i + 1]).size());
      for (const auto& [first, node] : part.nodes()) sent.push_back(node);
    }
    std::shuffle(sent.begin(), sent.end(), rng);
    TreeSum hub(kLevels);
    for (auto& [node, tensors] : sent) ASSERT_TRUE(hub.add(node, std::move(tensors)).ok());
    ASSERT_TRUE(hub.is_complete());
    EXPECT_EQ(bytes_of(hub), alone);
  }
}

TEST(TreeSum, RefusesNodesThatOverlapOrDoNotExist) {
  const auto refuses = [](TreeSum sum, Subtree node) {
    return sum.add(node, leaf(0)).code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(refuses(sum_of(0, 4), {0, 0}));
  EXPECT_TRUE(refuses(sum_of(0, 4), {2, 0}));
  EXPECT_TRUE(refuses(sum_of(3, 4), {2, 0}));
  EXPECT_TRUE(refuses(sum_of(3, 4), {kLevels, 0}));
  EXPECT_TRUE(refuses(sum_of(0, 0), {0, kLeaves}));
  EXPECT_TRUE(refuses(sum_of(0, 0), {kLevels + 1, 0}));
  EXPECT_TRUE(refuses(sum_of(0, 0), {-1, 0}));
  EXPECT_TRUE(refuses(sum_of(0, 0), {1, -1}));
  EXPECT_FALSE(refuses(sum_of(0, 4), {2, 1}));
}

}  // namespace
}  // namespace shoal::learn
