#include "shoal/engine/systolic/array.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace shoal::systolic {
namespace {

using Rng = std::mt19937;

int64_t draw(Rng& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

// A product with random elements, as wide as differences of two bytes.
struct Work {
  Work(Rng& rng, const ProductSizes& of, uint64_t name)
      : operand(name), sizes(of), s(drawn(rng, of.m * of.k)), x(drawn(rng, of.l * of.k)) {}

  static std::vector<int16_t> drawn(Rng& rng, int64_t count) {
    std::vector<int16_t> elements(static_cast<size_t>(count));
    for (int16_t& e : elements) e = static_cast<int16_t>(draw(rng, -255, 255));
    return elements;
  }

  std::vector<int32_t> zeros() const {
    return std::vector<int32_t>(static_cast<size_t>(sizes.m * sizes.l));
  }

  std::vector<int32_t> on(Array& array) const {
    std::vector<int32_t> sums = zeros();
    array.multiply(operand, sizes, s, x, sums);
    return sums;
  }

  std::vector<int32_t> plain() const {
    std::vector<int32_t> sums = zeros();
    for (int64_t l = 0; l < sizes.l; ++l) {
      for (int64_t m = 0; m < sizes.m; ++m) {
        for (int64_t k = 0; k < sizes.k; ++k) {
          sums[static_cast<size_t>(l * sizes.m + m)] +=
              s[static_cast<size_t>(m * sizes.k + k)] * x[static_cast<size_t>(l * sizes.k + k)];
        }
      }
    }
    return sums;
  }

  uint64_t operand;
  ProductSizes sizes;
  std::vector<int16_t> s, x;
};

ArrayOptions random_options(Rng& rng) {
  return {.width = draw(rng, 1, 9),
          .rows = draw(rng, 1, 9),
          .adder = draw(rng, 0, 1) == 0 ? Adder::kTree : Adder::kChain,
          .buffers = draw(rng, 1, 6),
          .bytes_per_cycle = draw(rng, 1, 12)};
}

TEST(Array, IsExactAndAsFastAsTheFormulaSays) {
  Rng rng(1);
  for (int round = 0; round < 300; ++round) {
    const ArrayOptions options = random_options(rng);
    const Work work(rng, {draw(rng, 0, 20), draw(rng, 0, 20), draw(rng, 0, 12)}, 7);
    const int64_t blocks = count_blocks(options, work.sizes);
    // Blocks that do not fit replace each other, in the order in which they come back.
    const int64_t again = blocks <= options.buffers ? 0 : blocks;
    Array array(options);
    Counts expected;
    for (const int64_t loads : {blocks, again}) {
      EXPECT_EQ(work.on(array), work.plain());
      expected.cycles += count_cycles(options, work.sizes, loads);
      expected.loads += loads;
      expected.streamed_bytes +=
          work.sizes.k * work.sizes.l * ((work.sizes.m + options.rows - 1) / options.rows);
      EXPECT_EQ(array.counts(), expected) << "round " << round;
    }
  }
}

// By hand, from [Hadidi 2021, 5.1].
TEST(CountCycles, IsTheThesisFormula) {
  EXPECT_EQ(count_stages({}), 5);
  EXPECT_EQ(count_cycles({}, {64, 32, 10}, 0), 10 + 64 + 5);
  EXPECT_EQ(count_cycles({}, {64, 32, 10}, 1), 10 + 64 + 5 + 64);
  EXPECT_EQ(count_blocks({}, {65, 33, 100}), 4);
  EXPECT_EQ(count_cycles({}, {65, 33, 100}, 4), 4 * (100 + 64 + 5 + 64));
  EXPECT_EQ(count_cycles({.adder = Adder::kChain}, {64, 32, 10}, 0), 10 + 64 + 32);
  EXPECT_EQ(count_cycles({.bytes_per_cycle = 3}, {64, 32, 10}, 0), 107 + 64 + 5);
  EXPECT_EQ(count_cycles({}, {64, 32, 0}, 0), 0);
}

TEST(Array, OfTheThesisCountsTheSame) {
  Rng rng(2);
  const Work work(rng, {65, 33, 10}, 1);
  Array array({});
  EXPECT_EQ(work.on(array), work.plain());
  EXPECT_EQ(array.counts(), (Counts{4 * (10 + 64 + 5 + 64), 4, 10 * 33 * 2}));
}

TEST(Array, IsFasterWithATreeThanWithAChain) {
  Rng rng(3);
  for (int64_t width = 2; width < 20; ++width) {
    const Work work(rng, {5, 2 * width, 3}, 1);
    Array tree({.width = width, .rows = 4});
    Array chain({.width = width, .rows = 4, .adder = Adder::kChain});
    EXPECT_EQ(work.on(tree), work.on(chain));
    // A tree of one stage replaces a chain of two, and so on, in each of four blocks.
    EXPECT_EQ(chain.counts().cycles - tree.counts().cycles,
              4 * (width - count_stages({.width = width})));
    EXPECT_LT(tree.counts().cycles, chain.counts().cycles);
  }
}

TEST(Array, LoadsBlocksOnceIfTheBuffersHoldThem) {
  Rng rng(4);
  const Work work(rng, {8, 12, 3}, 1);  // six blocks
  ArrayOptions options{.width = 4, .rows = 4};
  for (const int64_t buffers : {1, 5, 6}) {
    options.buffers = buffers;
    Array array(options);
    for (int run = 0; run < 10; ++run) work.on(array);
    EXPECT_EQ(array.counts().loads, buffers < 6 ? 60 : 6) << buffers << " buffers";
  }
}

// Branches of an LCP network take turns, layer by layer, and image by image.
TEST(Array, SwitchesBetweenBranchesWithoutLoading) {
  Rng rng(5);
  std::vector<Work> layers;
  for (uint64_t i = 0; i < 2; ++i) {
    layers.emplace_back(rng, ProductSizes{8, 4, 3}, 2 * i);
    layers.emplace_back(rng, ProductSizes{4, 8, 3}, 2 * i + 1);
  }
  const auto loads_of = [&](int64_t buffers) {
    Array array({.width = 4, .rows = 4, .buffers = buffers});
    for (int image = 0; image < 5; ++image) {
      for (const size_t layer : {0u, 2u, 1u, 3u}) {
        EXPECT_EQ(layers[layer].on(array), layers[layer].plain());
      }
    }
    return array.counts().loads;
  };
  EXPECT_EQ(loads_of(8), 8);
  EXPECT_EQ(loads_of(7), 40);  // one block too few
}

TEST(Array, ReplacesTheBlockThatWasNotUsedForLongest) {
  Rng rng(6);
  const Work a(rng, {1, 1, 1}, 1), b(rng, {1, 1, 1}, 2), c(rng, {1, 1, 1}, 3);
  Array array({.width = 1, .rows = 1, .buffers = 2});
  for (const Work* work : {&a, &b, &a, &c, &a}) EXPECT_EQ(work->on(array), work->plain());
  EXPECT_EQ(array.counts().loads, 3);
  b.on(array);
  EXPECT_EQ(array.counts().loads, 4);
}

TEST(Array, AddsModulo32Bits) {
  Array array({});
  std::vector<int32_t> sums = {std::numeric_limits<int32_t>::max()};
  array.multiply(1, {1, 1, 1}, std::vector<int16_t>{1}, std::vector<int16_t>{1}, sums);
  EXPECT_EQ(sums[0], std::numeric_limits<int32_t>::min());
}

TEST(Check, RefusesSizesThatMakeNoArray) {
  EXPECT_TRUE(check({}).ok());
  EXPECT_FALSE(check({.width = 0}).ok());
  EXPECT_FALSE(check({.rows = -1}).ok());
  EXPECT_FALSE(check({.buffers = 0}).ok());
  EXPECT_FALSE(check({.bytes_per_cycle = 0}).ok());
  EXPECT_FALSE(check({.width = int64_t{1} << 62}).ok());
  EXPECT_FALSE(check({.width = 1024, .rows = 1024, .buffers = 65}).ok());
}

}  // namespace
}  // namespace shoal::systolic
