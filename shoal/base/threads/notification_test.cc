#include "shoal/base/threads/notification.h"

#include <gtest/gtest.h>

#include <thread>

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;

TEST(Notification, IsAwaitedBeforeItComesAndAfter) {
  Notification notification;
  std::thread waiter([&] { notification.wait(); });
  notification.notify();
  waiter.join();
  notification.wait();
  EXPECT_TRUE(notification.wait_until(Clock::time_point::min())) << "it has been";
}

TEST(Notification, IsNotAwaitedBeyondTheDeadline) {
  Notification notification;
  EXPECT_FALSE(notification.wait_until(Clock::now()));
}

}  // namespace
}  // namespace shoal
