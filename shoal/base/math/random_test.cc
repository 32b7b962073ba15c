#include "shoal/base/math/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace shoal {
namespace {

TEST(RandomStream, IsTheSameOnEveryMachine) {
  std::vector<float> normal(3), uniform(3);
  fill_normal(normal, RandomStream(1, 2), 0.5);
  fill_uniform(uniform, RandomStream(1, 2), -1, 1);
  EXPECT_EQ(normal, (std::vector{0x1.2008dep-2F, -0x1.8b11e8p-3F, 0x1.06916ep-4F}));
  EXPECT_EQ(uniform, (std::vector{0.6875F, -0.2109375F, -0.375F}));
}

TEST(RandomStream, IsNormalEnough) {
  std::vector<float> x(1 << 20);
  fill_normal(x, RandomStream(3, 0), 2);
  double sum = 0, squares = 0, beyond_two_deviations = 0;
  for (float v : x) {
    sum += v;
    squares += v * v;
    beyond_two_deviations += std::abs(v) > 4;
  }
  const auto n = static_cast<double>(x.size());
  EXPECT_NEAR(sum / n, 0, 0.01);
  EXPECT_NEAR(squares / n, 4, 0.02);
  EXPECT_NEAR(beyond_two_deviations / n, 0.0455, 0.005);
}

TEST(RandomStream, HasChildrenThatShareNothing) {
  const RandomStream parent(1, 2);
  std::set<uint64_t> words;
  for (uint64_t i = 0; i < 100; ++i) {
    words.insert(parent[i]);
    for (uint64_t child = 0; child < 10; ++child) words.insert(parent.child(child)[i]);
  }
  EXPECT_EQ(words.size(), 1100u);
}

TEST(RandomStream, StaysBelowBounds) {
  const RandomStream stream(7, 7);
  std::vector<int> counts(5);
  for (uint64_t i = 0; i < 5000; ++i) ++counts.at(stream.below(5, i));
  EXPECT_GT(*std::ranges::min_element(counts), 900);
}

}  // namespace
}  // namespace shoal
