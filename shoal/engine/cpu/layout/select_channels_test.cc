#include "shoal/engine/cpu/layout/select_channels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/engine/cpu/layout/blocked.h"

namespace shoal::cpu {
namespace {

using Ints = std::vector<int64_t>;

Ints counted(int64_t from, int64_t to) {
  Ints list(static_cast<size_t>(to - from));
  std::iota(list.begin(), list.end(), from);
  return list;
}

// Selects from random images of these channels. What fills up the last block has no meaning, so
// that the result is compared in the plain layout.
void expect_selection(DType dtype, int64_t block, const Ints& channels, const Ints& from,
                      const KernelNames& kernels) {
  SCOPED_TRACE("blocks of " + std::to_string(block));
  std::mt19937 rng(1);
  Graph graph;
  std::vector<Tensor> feeds;
  std::vector<ValueId> inputs;
  for (int64_t count : channels) {
    const Shape shape = blocked_shape({2, count, 25, 23}, block);
    feeds.push_back(dtype == DType::kF32 ? random_floats(rng, shape)
                                         : random_bytes(rng, dtype, shape));
    inputs.push_back(graph.add_input("x", feeds.back().type()));
  }
  const auto image = graph.add(select_channels, inputs, {{"channels", channels}, {"from", from}});
  ASSERT_TRUE(image.ok()) << image.status().message();
  graph.mark_output(*graph.add(unblock_channels, {*image}, {{"channels", std::ssize(from)}}));
  expect_agreement_of(graph, feeds, kernels, 0);
}

// Floats are moved by vectors where a block is as long as one, which depends on the instruction
// set.
void expect_selection(const Ints& channels, const Ints& from) {
  for (const int64_t block : {1, 4, 8, 16}) {
    expect_selection(DType::kF32, block, channels, from, {"lanes", "reference"});
    expect_selection(DType::kU8, block, channels, from, "lanes");
  }
}

TEST(SelectChannels, Joins) {
  expect_selection({16, 32}, counted(0, 48));
  expect_selection({24, 24}, counted(0, 48));
  expect_selection({3, 1, 7, 21, 2}, counted(0, 34));
}

TEST(SelectChannels, Splits) {
  expect_selection({48}, counted(16, 48));
  expect_selection({48}, counted(0, 24));
  expect_selection({116}, counted(58, 116));
}

TEST(SelectChannels, Shuffles) {
  Ints from;
  for (int64_t c = 0; c < 58; ++c) from.insert(from.end(), {c, 58 + c});
  expect_selection({58, 58}, from);
}

TEST(SelectChannels, TakesAnyChannels) {
  std::mt19937 rng(3);
  Ints from = counted(0, 100);
  std::ranges::shuffle(from, rng);
  expect_selection({20, 30, 50}, from);
  expect_selection({100}, {99, 99, 0});
}

TEST(SelectChannels, RefusesWhatDoesNotFit) {
  const auto type = [](const TensorType& x, const Ints& channels, const Ints& from) {
    Graph graph;
    const ValueId id = graph.add_input("x", x);
    return graph.add(select_channels, {id}, {{"channels", channels}, {"from", from}}).ok();
  };
  const TensorType image{DType::kF32, {1, 2, 5, 5, 8}};
  EXPECT_TRUE(type(image, {9}, {8}));
  EXPECT_FALSE(type(image, {9}, {9}));
  EXPECT_FALSE(type(image, {9}, {-1}));
  EXPECT_FALSE(type(image, {9}, {}));
  EXPECT_FALSE(type(image, {8}, {0}));
  EXPECT_FALSE(type(image, {9, 9}, {0}));
  EXPECT_FALSE(type({DType::kF32, {1, 9, 5, 5}}, {9}, {0}));
}

}  // namespace
}  // namespace shoal::cpu
