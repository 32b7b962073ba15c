#include "apps/cli/progress.h"

#include <gtest/gtest.h>

namespace shoal::cli {
namespace {

TEST(Progress, SaysWhatIsDoneAndWhatIsLeft) {
  EXPECT_EQ(progress_text(1, 4, "", 2), "[######..................] 1/4, 6 s left");
  EXPECT_EQ(progress_text(0, 4, "loss 2", 2), "[........................] 0/4, loss 2, 0 s left");
}

TEST(Progress, IsCompleteWhenMoreIsDoneThanWasPlanned) {
  EXPECT_EQ(progress_text(9, 4, "", 2), "[########################] 4/4, 0 s left");
}

TEST(Progress, LeavesOutWhatTheScreenHasNoRoomFor) {
  using Lines = std::vector<std::string>;
  const Lines lines = {"head", "a", "b", "c"};
  EXPECT_EQ(fitting(lines, 6), lines);  // with the line above, and one to spare
  EXPECT_EQ(fitting(lines, 5), (Lines{"head", "a", "and 2 more"}));
  EXPECT_EQ(fitting(lines, 1), Lines{});
}

}  // namespace
}  // namespace shoal::cli
