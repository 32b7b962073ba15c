// Which workers are left out for which accusations.
#include "shoal/cluster/coordinator/policy/strikes.h"

#include <gtest/gtest.h>

#include "random_plan.h"
#include "shoal/plan/plan.h"

namespace shoal::cluster {
namespace {

using plan::draw;
using plan::kCoordinator;
using plan::Rng;

TEST(Strikes, TwoAndAWorkerIsLeftOut) {
  Strikes strikes(1);
  strikes.add({{2, kCoordinator}});
  EXPECT_TRUE(strikes.left_out().empty());
  strikes.add({});
  strikes.add({{2, kCoordinator}});
  EXPECT_EQ(strikes.left_out(), std::set<int>{2});
  EXPECT_EQ(strikes.strikes_of(2), 2);
}

TEST(Strikes, OneRequestIsOneStrikeHoweverManySayIt) {
  Strikes strikes(1);
  strikes.add({{2, 0}, {2, 1}, {2, 3}, {2, kCoordinator}});
  EXPECT_TRUE(strikes.left_out().empty());
}

TEST(Strikes, AWorkerThatNoticesItsOwnErrorsIsLeftOutForThem) {
  Strikes strikes(1);
  for (int i = 0; i < 2; ++i) strikes.add({{2, 2}});
  EXPECT_EQ(strikes.left_out(), std::set<int>{2});
}

// A worker that accuses others falsely has one of them left out, until it accuses another.
TEST(Strikes, WhoAccusesTooManyAloneIsNotBelieved) {
  Strikes strikes(1);
  for (int i = 0; i < 2; ++i) strikes.add({{0, 3}});
  EXPECT_EQ(strikes.left_out(), std::set<int>{0});
  strikes.add({{1, 3}});
  EXPECT_EQ(strikes.left_out(), std::set<int>{3});
  EXPECT_EQ(strikes.strikes_of(0), 0);
}

// Laws over random histories of one liar among honest workers.
//   A liar that sends wrong values: only it is ever left out, and it is after two strikes.
//   A liar that reports falsely: it is left out as soon as it has accused two, and no other worker
//   stays left out.
TEST(Strikes, OneLiarNeverCostsAnHonestWorkerForGood) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const int workers = static_cast<int>(draw(rng, 3, 6));
    const int liar = static_cast<int>(draw(rng, 0, workers - 1));
    const bool sends = draw(rng, 0, 1) == 1;
    const auto other = [&] {
      const auto w = static_cast<int>(draw(rng, 0, workers - 2));
      return w + (w >= liar ? 1 : 0);
    };
    Strikes strikes(1);
    int lies = 0;
    std::set<int> accused;
    for (int request = 0; request < 20; ++request) {
      std::vector<Accusation> accusations;
      if (draw(rng, 0, 2) == 0) {
        ++lies;
        for (int64_t n = draw(rng, 1, 3); n > 0; --n) {
          const int who = draw(rng, 0, 3) == 0 ? kCoordinator : other();
          if (sends) {
            accusations.push_back({liar, who});
          } else {
            accusations.push_back({other(), liar});
            accused.insert(accusations.back().sender);
          }
        }
      }
      strikes.add(accusations);
      const std::set<int> out = strikes.left_out();
      if (sends) {
        EXPECT_EQ(out, lies >= 2 ? std::set<int>{liar} : std::set<int>());
      } else if (accused.size() >= 2) {
        EXPECT_EQ(out, std::set<int>{liar});
      } else {
        EXPECT_LE(out.size(), 1u);
      }
    }
  }
}

}  // namespace
}  // namespace shoal::cluster
