#include "shoal/base/task_thread.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <vector>

namespace shoal {
namespace {

TEST(TaskThread, RunsTasksInOrderOnOneThread) {
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  std::promise<void> done;
  TaskThread thread;
  for (int i = 0; i < 100; ++i) {
    thread.post([&, i] {
      order.push_back(i);
      threads.push_back(std::this_thread::get_id());
      if (i == 99) done.set_value();
    });
  }
  done.get_future().wait();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(order[static_cast<size_t>(i)], i);
    EXPECT_EQ(threads[static_cast<size_t>(i)], threads[0]);
  }
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST(TaskThread, WaitsForTheTaskThatRuns) {
  bool ended = false;
  std::promise<void> began, go_on;
  std::thread releases;
  {
    TaskThread thread;
    thread.post([&] {
      began.set_value();
      go_on.get_future().wait();
      ended = true;
    });
    began.get_future().wait();
    releases = std::thread([&] { go_on.set_value(); });
  }
  releases.join();
  EXPECT_TRUE(ended);
}

// Every task posts the next: were the destructor to wait for all, it would see the last.
TEST(TaskThread, DropsTasksThatHaveNotBegun) {
  constexpr int kMany = 10'000'000;  // takes seconds
  int count = 0;
  auto held = std::make_shared<int>();
  TaskThread::Task next;  // outlives the thread, which copies it until it ends
  {
    TaskThread thread;
    next = [&] {
      if (++count < kMany) thread.post(next);
    };
    thread.post(next);
    thread.post([held] {});
  }
  EXPECT_LT(count, kMany);
  EXPECT_EQ(held.use_count(), 1) << "what a dropped task holds is freed";
}

// What a task holds may post another when it is freed.
TEST(TaskThread, FreesWhatATaskHoldsWithoutItsLock) {
  std::promise<void> done;
  TaskThread thread;
  std::shared_ptr<int> held(new int, [&](int* one) {
    delete one;
    thread.post([&] { done.set_value(); });
  });
  thread.post([owned = std::move(held)] {});
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

TEST(TaskThread, TakesTasksFromItsOwn) {
  std::promise<void> done;
  TaskThread thread;
  thread.post([&] { thread.post([&] { done.set_value(); }); });
  done.get_future().wait();
}

}  // namespace
}  // namespace shoal
