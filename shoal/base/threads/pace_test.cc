#include "shoal/base/threads/pace.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

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

// How often the calling thread has given its core away to wait for something, as a sleep does.
long waits() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

TEST(Pace, OfAWholeCoreNeverRests) {
  const long before = waits();
  Pace pace(1);
  pace.keep();
  pace.finish();
  EXPECT_EQ(waits(), before);
}

}  // namespace
}  // namespace shoal
