#include "shoal/video/watch/places/place_totals.h"

#include <gtest/gtest.h>

#include <vector>

namespace shoal::watch {
namespace {

TEST(PlaceTotals, CountEntriesStaysAndCrossings) {
  PlaceTotals totals;
  const std::vector<Event> first = {{.kind = EventKind::kAppeared},
                                    {.kind = EventKind::kEntered, .place = "door"},
                                    {.kind = EventKind::kCrossed, .place = "step"}};
  const std::vector<Event> then = {
      {.kind = EventKind::kLeft, .place = "door", .seconds = 1.5},
      {.kind = EventKind::kEntered, .place = "door"},
      {.kind = EventKind::kLeft, .place = "door", .seconds = 2},
      {.kind = EventKind::kCrossed, .place = "step", .forwards = false},
      {.kind = EventKind::kCrossed, .place = "step", .forwards = false},
      {.kind = EventKind::kVanished, .seconds = 9}};
  totals.add(first);
  totals.add(then);
  ASSERT_EQ(totals.zones.size(), 1u);
  EXPECT_EQ(totals.zones["door"].entered, 2u);
  EXPECT_EQ(totals.zones["door"].seconds, 3.5);
  ASSERT_EQ(totals.lines.size(), 1u);
  EXPECT_EQ(totals.lines["step"].forwards, 1u);
  EXPECT_EQ(totals.lines["step"].backwards, 2u);
}

}  // namespace
}  // namespace shoal::watch
