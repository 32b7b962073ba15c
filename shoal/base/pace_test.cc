#include "shoal/base/pace.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

using std::chrono::milliseconds;

TEST(Pace, RestsUntilTheShareIsRight) {
  EXPECT_EQ(rest_due(0.25, milliseconds(10), milliseconds(10)), milliseconds(30));
  EXPECT_EQ(rest_due(0.5, milliseconds(7), milliseconds(7)), milliseconds(7));
  EXPECT_EQ(rest_due(1, milliseconds(7), milliseconds(7)), milliseconds(0));
}

TEST(Pace, CountsWaitingAsRest) {
  EXPECT_EQ(rest_due(0.25, milliseconds(10), milliseconds(25)), milliseconds(15));
  EXPECT_EQ(rest_due(0.25, milliseconds(10), milliseconds(90)), milliseconds(0));
}

// What is rested now is not due again: over many pieces of work the share comes out.
TEST(Pace, AddsUpOverManyPieces) {
  Nanoseconds worked(0), passed(0);
  for (int i = 1; i <= 100; ++i) {
    const Nanoseconds piece = milliseconds(i % 7);
    worked += piece;
    passed += piece;
    passed += rest_due(0.2, worked, passed);
    EXPECT_EQ(passed, 5 * worked);
  }
}

TEST(Pace, OfAWholeCoreNeverRests) {
  Pace pace(1);
  pace.keep();
  pace.finish();
}

}  // namespace
}  // namespace shoal
