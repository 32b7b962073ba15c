#include "shoal/base/processes/stop_signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "shoal/base/threads/notification.h"

namespace shoal {
namespace {

// In a process of its own, in which no thread was started before.
class StopSignalsDeathTest : public testing::Test {
 protected:
  StopSignalsDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(StopSignalsDeathTest, AreAnEventOnAnotherThread) {
  const auto wait_for_signal = [](int signal) {
    Notification stop;
    const StopSignals signals([&] { stop.notify(); });
    kill(getpid(), signal);
    stop.wait();
    _exit(7);
  };
  EXPECT_EXIT(wait_for_signal(SIGTERM), testing::ExitedWithCode(7), "");
  EXPECT_EXIT(wait_for_signal(SIGINT), testing::ExitedWithCode(7), "");
}

TEST_F(StopSignalsDeathTest, EndTheProgramTheSecondTime) {
  const auto signal_twice = [] {
    Notification stop;
    const StopSignals signals([&] { stop.notify(); });
    kill(getpid(), SIGTERM);
    stop.wait();
    kill(getpid(), SIGINT);
    Notification().wait();
  };
  EXPECT_EXIT(signal_twice(), testing::ExitedWithCode(128 + SIGINT), "");
}

TEST_F(StopSignalsDeathTest, AreNotMissedWhereNoneCame) {
  const auto end_without = [] {
    bool called = false;
    {
      const StopSignals signals([&] { called = true; });
    }
    _exit(called ? 1 : 0);
  };
  EXPECT_EXIT(end_without(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace shoal
