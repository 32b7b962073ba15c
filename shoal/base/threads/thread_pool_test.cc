#include "shoal/base/threads/thread_pool.h"

#include <gtest/gtest.h>

#include <latch>
#include <numeric>

namespace shoal {
namespace {

TEST(ThreadPool, CallsEveryIndexOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t n : {0, 1, 2, 7, 1000}) {
      std::vector<int> calls(static_cast<size_t>(n), 0);
      pool.parallel_for(n, [&](int64_t i, int) { ++calls[static_cast<size_t>(i)]; });
      EXPECT_TRUE(std::ranges::all_of(calls, [](int c) { return c == 1; })) << threads << " " << n;
    }
  }
}

TEST(ThreadPool, GivesEachThreadASlotOfItsOwn) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> users(4);
  for (int round = 0; round < 50; ++round) {
    pool.parallel_for(64, [&](int64_t, int slot) {
      std::atomic<int>& user = users[static_cast<size_t>(slot)];
      EXPECT_EQ(user.fetch_add(1), 0);
      user.fetch_sub(1);
    });
  }
}

TEST(ThreadPool, RangesCoverAllAndKeepTheGrain) {
  ThreadPool pool(3);
  for (int64_t n : {0, 1, 5, 99, 100, 101, 5000}) {
    std::vector<int> calls(static_cast<size_t>(n), 0);
    pool.parallel_ranges(n, 50, [&](int64_t begin, int64_t end) {
      EXPECT_TRUE(end - begin >= 50 || end - begin == n) << begin << " " << end;
      for (int64_t i = begin; i < end; ++i) ++calls[static_cast<size_t>(i)];
    });
    EXPECT_TRUE(std::ranges::all_of(calls, [](int c) { return c == 1; })) << n;
  }
}

TEST(ThreadPool, RunsALoopInsideALoop) {
  ThreadPool pool(3);
  std::atomic<int> calls = 0;
  pool.parallel_for(10, [&](int64_t, int) {
    pool.parallel_for(10, [&](int64_t, int slot) {
      EXPECT_EQ(slot, 0);
      ++calls;
    });
  });
  EXPECT_EQ(calls, 100);
}

TEST(ThreadPool, ServesSeveralCallersAtOnce) {
  ThreadPool pool(2);
  std::vector<int64_t> sums(4, 0);
  std::vector<std::thread> callers;
  for (int64_t& sum : sums) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        std::vector<int64_t> squares(20);
        pool.parallel_for(20, [&](int64_t i, int) { squares[static_cast<size_t>(i)] = i * i; });
        sum += std::accumulate(squares.begin(), squares.end(), int64_t{0});
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (int64_t sum : sums) EXPECT_EQ(sum, 200 * 2470);
}

// Each call returns only when all have begun: one thread that stayed asleep would hang the test.
TEST(ThreadPool, WakesEveryThread) {
  ThreadPool pool(3);
  for (int round = 0; round < 100; ++round) {
    std::latch all_here(3);
    pool.parallel_for(3, [&](int64_t, int) { all_here.arrive_and_wait(); });
  }
}

// Two callers on two cores leave no place for a third thread: it goes when it has done the index it
// is at, and the caller does the rest.
TEST(ThreadPool, LeavesTheCoresToOtherCallers) {
  ThreadPool pool({.threads = 2, .cores = 2}), other({.threads = 2, .cores = 2});
  std::latch both_here(2), other_here(1), done(1);
  std::thread second([&] {
    both_here.wait();
    other.parallel_for(2, [&](int64_t index, int) {
      if (index > 0) return;
      other_here.count_down();
      done.wait();
    });
  });
  pool.parallel_for(20, [&](int64_t index, int slot) {
    if (index == 0 || index == 10) {  // with which the two threads begin
      both_here.arrive_and_wait();
      other_here.wait();
    } else {
      EXPECT_EQ(slot, 0);
    }
  });
  done.count_down();
  second.join();
}

TEST(ThreadPool, PinnedThreadsWork) {
  ThreadPool pool({.threads = 3, .pin = true});
  std::latch all_here(3);
  pool.parallel_for(3, [&](int64_t, int) { all_here.arrive_and_wait(); });
}

}  // namespace
}  // namespace shoal
