#include "shoal/base/threads/task_thread.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <utility>
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

// A thread whose first task waits until the test is done with the queue.
class HeldThread {
 public:
  explicit HeldThread(size_t most_bytes) : thread_(most_bytes) {
    thread_.post([this] {
      began_.set_value();
      go_on_.get_future().wait();
    });
    began_.get_future().wait();
  }
  ~HeldThread() { release(); }
  void release() {
    if (!std::exchange(released_, true)) go_on_.set_value();
  }
  TaskThread& operator*() { return thread_; }
  TaskThread* operator->() { return &thread_; }

 private:
  std::promise<void> began_, go_on_;
  bool released_ = false;
  TaskThread thread_;
};

TEST(TaskThread, TakesNoMoreThanItHasRoomFor) {
  HeldThread thread(100);
  EXPECT_TRUE(thread->post([] {}, 60));
  EXPECT_TRUE(thread->post([] {}, 40));
  EXPECT_FALSE(thread->post([] {}, 1));
  EXPECT_TRUE(thread->post([] {})) << "what holds nothing needs no room";
  std::promise<void> ran;
  EXPECT_TRUE(thread->post([&] { ran.set_value(); }));
  thread.release();
  ran.get_future().wait();
  EXPECT_TRUE(thread->post([] {}, 100)) << "all of the room is free again";
}

TEST(TaskThread, TakesWhatIsLargerThanItsRoomWhenNothingWaits) {
  HeldThread thread(100);
  EXPECT_TRUE(thread->post([] {}, 1000));
  EXPECT_FALSE(thread->post([] {}, 1));
}

// Tasks that are over give way; the others keep their order.
TEST(TaskThread, DropsWhatIsOverWhereThereIsNoRoom) {
  std::vector<int> order;
  std::promise<void> done;
  HeldThread thread(100);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(thread->post([&, i] { order.push_back(i); }, 10, [i] { return i % 2 == 0; }));
  }
  EXPECT_TRUE(thread->post([&] { order.push_back(10); }, 50));
  EXPECT_FALSE(thread->post([&] { order.push_back(11); }, 1));
  EXPECT_TRUE(thread->post([&] { done.set_value(); }));
  thread.release();
  done.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{1, 3, 5, 7, 9, 10}));
}

}  // namespace
}  // namespace shoal
