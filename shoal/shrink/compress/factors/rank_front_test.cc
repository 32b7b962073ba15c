#include "shoal/shrink/compress/factors/rank_front.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace shoal::compress {
namespace {

TEST(RankGrid, HasWholeBlocksAndTheFullRank) {
  EXPECT_EQ(rank_grid(70, 16), (std::vector<size_t>{16, 32, 48, 64, 70}));
  EXPECT_EQ(rank_grid(64, 16), (std::vector<size_t>{16, 32, 48, 64}));
  EXPECT_EQ(rank_grid(20, 16), (std::vector<size_t>{8, 16, 20}));  // half blocks
  EXPECT_EQ(rank_grid(3, 16), (std::vector<size_t>{3}));
  EXPECT_EQ(rank_grid(3, 1), (std::vector<size_t>{1, 2, 3}));
}

TEST(LostEnergy, IsWhatIsBeyondTheRank) {
  EXPECT_EQ(lost_energy(std::vector<double>{4, 2, 2, 1}),
            (std::vector<double>{1, 9.0 / 25, 5.0 / 25, 1.0 / 25, 0}));
  EXPECT_EQ(lost_energy(std::vector<double>{0, 0}), (std::vector<double>{0, 0, 0}));
}

// Every candidate is on the front, costs too much, or is beaten by one of the front.
TEST(Front, HasNoneThatAnotherBeats) {
  std::mt19937 rng(1);
  std::uniform_int_distribution<int> digit(0, 9);
  for (int round = 0; round < 100; ++round) {
    std::vector<Candidate> all;
    for (size_t i = 0; i < 20; ++i) {
      all.push_back({{i, i}, static_cast<double>(digit(rng)), static_cast<double>(digit(rng))});
    }
    const std::vector<Candidate> best = front(all, 8);
    for (size_t i = 1; i < best.size(); ++i) {
      EXPECT_LT(best[i - 1].macs, best[i].macs);
      EXPECT_GT(best[i - 1].lost, best[i].lost);
    }
    for (const Candidate& candidate : all) {
      const bool is_matched = std::ranges::any_of(best, [&](const Candidate& other) {
        return other.macs <= candidate.macs && other.lost <= candidate.lost;
      });
      if (candidate.macs < 8) {
        EXPECT_TRUE(is_matched);
      }
    }
    for (const Candidate& candidate : best) EXPECT_LT(candidate.macs, 8);
  }
}

TEST(Front, BeginsWhereBothRanksSuffice) {
  const std::vector<Candidate> candidates = {{{8, 16}, 1, 3}, {{16, 16}, 2, 2}, {{32, 24}, 3, 1}};
  EXPECT_EQ(first_with(candidates, {1, 1}), 0u);
  EXPECT_EQ(first_with(candidates, {9, 16}), 1u);
  EXPECT_EQ(first_with(candidates, {8, 17}), 2u);
  EXPECT_EQ(first_with(candidates, {99, 1}), 2u);  // the largest there is
}

TEST(FirstIndex, IsFoundFromAnyStart) {
  for (size_t count = 0; count < 12; ++count) {
    for (size_t answer = 0; answer <= count; ++answer) {
      for (size_t start = 0; start <= count; ++start) {
        std::vector<int> asked(count);
        const auto found = first_index(count, start, [&](size_t i) -> Result<bool> {
          ++asked[i];
          return i >= answer;
        });
        ASSERT_TRUE(found.ok());
        EXPECT_EQ(*found, answer) << count << " from " << start;
        EXPECT_LE(std::ranges::count_if(asked, [](int times) { return times > 1; }), 0);
      }
    }
  }
}

TEST(FirstIndex, IsAskedSeldomNearAGoodStart) {
  int asked = 0;
  const auto found = first_index(1'000'000, 500'000, [&](size_t i) -> Result<bool> {
    ++asked;
    return i >= 500'003;
  });
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, 500'003u);
  EXPECT_LE(asked, 6);
}

TEST(FirstIndex, EndsWithAFailure) {
  const auto found = first_index(
      5, 2, [](size_t) -> Result<bool> { return Status(Code::kExhausted, "no memory"); });
  EXPECT_EQ(found.status().code(), Code::kExhausted);
}

}  // namespace
}  // namespace shoal::compress
