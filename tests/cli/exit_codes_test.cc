#include "apps/cli/exit_codes.h"

#include <gtest/gtest.h>

namespace shoal::cli {
namespace {

Exit exit_for(Doing doing, Code code) { return exit_of(doing, Status(code, "")); }

TEST(ExitCodes, DependOnWhatWasBeingDone) {
  EXPECT_EQ(exit_for(Doing::kRun, Code::kInvalidArgument), Exit::kModel);
  EXPECT_EQ(exit_for(Doing::kTrain, Code::kInvalidArgument), Exit::kUsage);
  EXPECT_EQ(exit_for(Doing::kTalk, Code::kInvalidArgument), Exit::kAuth);
  EXPECT_EQ(exit_for(Doing::kTrain, Code::kCorrupt), Exit::kModel) << "it may be the model";
  EXPECT_EQ(exit_for(Doing::kUseData, Code::kCorrupt), Exit::kUsage) << "the model was opened";
  EXPECT_EQ(exit_for(Doing::kConnect, Code::kNotFound), Exit::kUsage) << "there is no cluster";
  EXPECT_EQ(exit_for(Doing::kConnect, Code::kDeadline), Exit::kNetwork);
}

TEST(ExitCodes, TellLostWorkersFromSlowOnesWhateverWasBeingDone) {
  for (Doing doing : {Doing::kRun, Doing::kTrain, Doing::kUseData, Doing::kTalk}) {
    EXPECT_EQ(exit_for(doing, Code::kUnavailable), Exit::kNetwork);
    EXPECT_EQ(exit_for(doing, Code::kDeadline), Exit::kTimeout);
  }
}

TEST(ExitCodes, AreThereForEveryCode) {
  for (Doing doing : {Doing::kRun, Doing::kTrain, Doing::kUseData, Doing::kConnect, Doing::kTalk}) {
    for (auto code = static_cast<int>(Code::kInvalidArgument);
         code <= static_cast<int>(Code::kCancelled); ++code) {
      EXPECT_NE(exit_for(doing, static_cast<Code>(code)), Exit::kOk);
    }
  }
}

TEST(ExitCodes, ComeWithTheMessage) {
  const Outcome outcome = fail(Doing::kUseData, Status(Code::kExhausted, "disk is full"));
  EXPECT_EQ(outcome.exit, Exit::kResources);
  EXPECT_EQ(outcome.message, "disk is full");
}

}  // namespace
}  // namespace shoal::cli
