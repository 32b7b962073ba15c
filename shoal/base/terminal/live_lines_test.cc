#include <gtest/gtest.h>

#include "shoal/base/terminal/progress_bar.h"

namespace shoal {
namespace {

using Lines = std::vector<std::string>;

TEST(LiveLines, TakeThePlaceOfThoseBefore) {
  EXPECT_EQ(redrawing({"a", "b"}, 0), "\r\033[J\033[?7la\nb\033[?7h");
  EXPECT_EQ(redrawing({"a"}, 1), "\r\033[J\033[?7la\033[?7h");
  EXPECT_EQ(redrawing({"a"}, 3), "\r\033[2A\033[J\033[?7la\033[?7h");
  EXPECT_EQ(redrawing({}, 3), "\r\033[2A\033[J");
}

TEST(LiveLines, LeaveOutWhatTheScreenHasNoRoomFor) {
  const Lines lines = {"head", "a", "b", "c"};
  EXPECT_EQ(fitting(lines, 5), lines);
  EXPECT_EQ(fitting(lines, 4), (Lines{"head", "a", "and 2 more"}));
  EXPECT_EQ(fitting(lines, 1), Lines{});
  EXPECT_EQ(fitting(lines, 0), Lines{});
}

TEST(LiveLines, AreSilentInAFile) {
  testing::internal::CaptureStderr();
  LiveLines live;
  live.draw({"a", "b"});
  live.erase();
  live.keep();
  EXPECT_FALSE(live.is_due());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace shoal
