// Whose turn it is, in virtual time.
#include "shoal/serve/queue/model_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "shoal/serve/queue/throttle.h"

namespace shoal::serve {
namespace {

using std::chrono::milliseconds;
using Ids = std::vector<uint64_t>;

constexpr Time kStart{};
Time at(int ms) { return kStart + milliseconds(ms); }

TEST(RunTimes, TakeTheNextLargerSizeOrTheLargestInProportion) {
  RunTimes times;
  EXPECT_EQ(times.of(4), Duration{0});
  times.learn(2, milliseconds(10));
  times.learn(8, milliseconds(20));
  EXPECT_EQ(times.of(1), milliseconds(10));
  EXPECT_EQ(times.of(3), milliseconds(20));
  EXPECT_EQ(times.of(16), milliseconds(40));
  for (int i = 0; i < 100; ++i) times.learn(2, milliseconds(2));
  EXPECT_NEAR(std::chrono::duration<double>(times.of(2)).count(), 2e-3, 1e-6);
}

TEST(ModelQueue, RunsWhatWaitsTogether) {
  ModelQueue queue({.max_items = 4});
  for (uint64_t id = 1; id <= 6; ++id) {
    EXPECT_TRUE(queue.admit({.id = id, .kind = 1}, kStart).status.ok());
  }
  EXPECT_TRUE(queue.next(kStart, /*may_run=*/false).batch.empty());
  Decision first = queue.next(kStart, true);
  EXPECT_EQ(first.batch, (Ids{1, 2, 3, 4}));
  EXPECT_EQ(first.items, 4);
  EXPECT_EQ(queue.next(kStart, true).batch, (Ids{5, 6}));
  EXPECT_TRUE(queue.next(kStart, true).batch.empty());
}

TEST(ModelQueue, EndsABatchBeforeAnotherKindAndBeforeWhatDoesNotFit) {
  ModelQueue queue({.max_items = 4});
  queue.admit({.id = 1, .kind = 1}, kStart);
  queue.admit({.id = 2, .kind = 2}, kStart);
  queue.admit({.id = 3, .kind = 1, .items = 3}, kStart);
  queue.admit({.id = 4, .kind = 1, .items = 2}, kStart);
  queue.admit({.id = 5, .kind = 0}, kStart);
  queue.admit({.id = 6, .kind = 0}, kStart);
  queue.admit({.id = 7, .kind = 1, .items = 9}, kStart);  // alone, and more than fits
  for (const Ids& batch : {Ids{1}, Ids{2}, Ids{3}, Ids{4}, Ids{5}, Ids{6}, Ids{7}}) {
    EXPECT_EQ(queue.next(kStart, true).batch, batch);
  }
}

// What check() says comes true, whatever was admitted and ran before.
TEST(ModelQueue, SaysBeforehandWhatItWillAdmit) {
  std::mt19937 rng(1);
  const auto draw = [&](uint64_t to) {
    return std::uniform_int_distribution<uint64_t>(0, to)(rng);
  };
  ModelQueue queue({.max_waiting = 6, .max_items = 4});
  int refused = 0, gave_way = 0;
  for (uint64_t id = 1; id <= 2000; ++id) {
    const Time now = at(static_cast<int>(id));
    const QueuedRequest request{.id = id,
                                .client = draw(3),
                                .kind = 1,
                                .priority = static_cast<uint32_t>(1 + draw(2)),
                                .arrived = now,
                                .deadline = now + milliseconds(draw(40))};
    const size_t waiting = queue.waiting();
    const Admission said = queue.check(request, now);
    EXPECT_EQ(queue.waiting(), waiting);
    const Admission done = queue.admit(request, now);
    EXPECT_EQ(said.status.code(), done.status.code());
    EXPECT_EQ(queue.waiting(), waiting + (said.status.ok() && !said.gives_way));
    EXPECT_LE(queue.waiting(), 6u);
    if (said.gives_way) {
      EXPECT_FALSE(queue.cancel(*said.gives_way));
    }
    refused += !done.status.ok();
    gave_way += done.gives_way.has_value();
    if (draw(5) > 0) continue;
    const Decision decision = queue.next(now, true);
    if (decision.items > 0) queue.learn(decision.items, milliseconds(draw(10)));
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(gave_way, 100);
}

TEST(ModelQueue, WaitsForMoreUntilTheDelayIsOver) {
  ModelQueue queue({.max_items = 4, .max_delay = milliseconds(5)});
  queue.admit({.id = 1, .kind = 1, .arrived = at(0)}, at(0));
  EXPECT_TRUE(queue.next(at(0), true).batch.empty());
  EXPECT_EQ(queue.wake(true), at(5));
  EXPECT_EQ(queue.wake(false), kNever);  // nothing may run: only another event changes that
  queue.admit({.id = 2, .kind = 1, .arrived = at(3)}, at(3));
  EXPECT_TRUE(queue.next(at(3), true).batch.empty());
  EXPECT_EQ(queue.next(at(5), true).batch, (Ids{1, 2}));
  // A full one begins at once, and so does one that shares nothing.
  queue.admit({.id = 3, .kind = 1, .items = 4, .arrived = at(6)}, at(6));
  EXPECT_EQ(queue.next(at(6), true).batch, Ids{3});
  queue.admit({.id = 4, .kind = 0, .arrived = at(6)}, at(6));
  EXPECT_EQ(queue.next(at(6), true).batch, Ids{4});
}

TEST(ModelQueue, BeginsInTimeForTheDeadline) {
  ModelQueue queue({.max_items = 4, .max_delay = milliseconds(50)});
  queue.learn(1, milliseconds(10));
  queue.admit({.id = 1, .kind = 1, .arrived = at(0), .deadline = at(30)}, at(0));
  EXPECT_EQ(queue.wake(true), at(20));
  EXPECT_TRUE(queue.next(at(19), true).batch.empty());
  EXPECT_EQ(queue.next(at(20), true).batch, Ids{1});
}

// Three items take 30 ms, two take 20 ms: a third would make the first late.
TEST(ModelQueue, KeepsABatchSmallEnoughForItsDeadlines) {
  ModelQueue queue({.max_items = 4});
  for (int items = 1; items <= 4; ++items) queue.learn(items, milliseconds(10 * items));
  queue.admit({.id = 1, .kind = 1, .deadline = at(25)}, kStart);
  queue.admit({.id = 2, .kind = 1}, kStart);
  queue.admit({.id = 3, .kind = 1}, kStart);
  EXPECT_EQ(queue.next(kStart, true).batch, (Ids{1, 2}));
  EXPECT_EQ(queue.next(kStart, true).batch, Ids{3});
}

TEST(ModelQueue, GivesUpWhoCannotBeInTimeAnyMore) {
  ModelQueue queue({});
  queue.learn(1, milliseconds(10));
  queue.admit({.id = 1, .deadline = at(15)}, at(0));
  queue.admit({.id = 2, .deadline = at(40)}, at(0));
  EXPECT_EQ(queue.wake(false), at(15));
  EXPECT_EQ(queue.next(at(15), false).late, Ids{1});
  queue.admit({.id = 3, .deadline = at(60)}, at(15));
  // 35 + 10 is after 40, and 3 can still be in time.
  Decision decision = queue.next(at(35), true);
  EXPECT_EQ(decision.late, Ids{2});
  EXPECT_EQ(decision.batch, Ids{3});
}

// Otherwise one slow run would make the model unusable for good.
TEST(ModelQueue, TriesWhoIsLateByAnEstimateOnlyIfNobodyElseWaits) {
  ModelQueue queue({});
  queue.learn(1, milliseconds(1000));
  EXPECT_TRUE(queue.admit({.id = 1, .deadline = at(20)}, at(0)).status.ok());
  EXPECT_EQ(queue.next(at(0), true).batch, Ids{1});
}

TEST(ModelQueue, PutsPrioritiesFirstAndClientsInTurn) {
  ModelQueue queue({});
  queue.admit({.id = 1, .client = 1, .priority = kLastPriority}, kStart);
  for (uint64_t id = 2; id <= 5; ++id) queue.admit({.id = id, .client = 1}, kStart);
  queue.admit({.id = 6, .client = 2}, kStart);
  queue.admit({.id = 7, .client = 3, .priority = kFirstPriority}, kStart);
  Ids order;
  for (Decision d = queue.next(kStart, true); !d.batch.empty(); d = queue.next(kStart, true)) {
    order.insert(order.end(), d.batch.begin(), d.batch.end());
  }
  EXPECT_EQ(order, (Ids{7, 2, 6, 3, 4, 5, 1}));
}

TEST(ModelQueue, RefusesWhenFullAndSaysWhenToTryAgain) {
  ModelQueue queue({.max_waiting = 4, .slots = 2});
  queue.learn(1, milliseconds(10));
  for (uint64_t id = 1; id <= 4; ++id) queue.admit({.id = id, .client = 1}, kStart);
  const Admission refused = queue.admit({.id = 5, .client = 1}, kStart);
  EXPECT_EQ(refused.status.code(), Code::kExhausted);
  EXPECT_EQ(refused.retry_after, milliseconds(20));  // four of 10 ms on two slots
  EXPECT_EQ(queue.waiting(), 4u);
}

TEST(ModelQueue, LetsTheGreedyAndTheLowerGiveWay) {
  ModelQueue queue({.max_waiting = 3});
  for (uint64_t id = 1; id <= 3; ++id) queue.admit({.id = id, .client = 1}, kStart);
  const Admission fair = queue.admit({.id = 4, .client = 2}, kStart);
  EXPECT_TRUE(fair.status.ok());
  EXPECT_EQ(fair.gives_way, 3u);
  // Two and one is fair enough.
  EXPECT_FALSE(queue.admit({.id = 5, .client = 2}, kStart).status.ok());
  const Admission first = queue.admit({.id = 6, .client = 2, .priority = kFirstPriority}, kStart);
  EXPECT_TRUE(first.status.ok());
  EXPECT_EQ(first.gives_way, 2u);
  EXPECT_FALSE(queue.admit({.id = 7, .client = 3, .priority = kLastPriority}, kStart).status.ok());
}

TEST(ModelQueue, RefusesAtOnceWhatWouldBeLate) {
  ModelQueue queue({});
  queue.learn(1, milliseconds(10));
  for (uint64_t id = 1; id <= 5; ++id) queue.admit({.id = id}, kStart);
  const Admission late = queue.admit({.id = 6, .deadline = at(59)}, kStart);
  EXPECT_EQ(late.status.code(), Code::kExhausted);
  EXPECT_EQ(late.retry_after, milliseconds(50));
  EXPECT_TRUE(queue.admit({.id = 7, .deadline = at(60)}, kStart).status.ok());
  // Behind all of them, and before.
  const auto with_priority = [&](uint64_t id, uint32_t priority) {
    return queue.admit({.id = id, .priority = priority, .deadline = at(60)}, kStart).status.ok();
  };
  EXPECT_FALSE(with_priority(8, kLastPriority));
  EXPECT_TRUE(with_priority(9, kFirstPriority));
}

// Twenty of 10 ms on two slots: 100 ms. Whoever has nothing waiting does not wait as long.
TEST(ModelQueue, RefusesWhatWouldWaitTooLong) {
  ModelQueue queue({.max_wait = milliseconds(100), .slots = 2});
  uint64_t id = 0;
  const auto admit = [&](uint64_t client) { return queue.admit({++id, client}, kStart); };
  queue.learn(1, milliseconds(10));
  while (queue.waiting() < 21) EXPECT_TRUE(admit(1).status.ok());
  const Admission refused = admit(1);
  EXPECT_EQ(refused.status.code(), Code::kExhausted);
  EXPECT_EQ(refused.retry_after, milliseconds(5));
  EXPECT_TRUE(admit(2).status.ok());
  // A few may always wait.
  ModelQueue slow({.max_wait = milliseconds(100)});
  slow.learn(1, milliseconds(10'000));
  for (id = 0; id < 8;) EXPECT_TRUE(slow.admit({++id}, kStart).status.ok());
  EXPECT_FALSE(slow.admit({++id}, kStart).status.ok());
}

// Ten at a time from a hundred clients that retry as soon as they may: the share is kept over any
// second, no client waits for longer than the longest, and a burst costs none any time.
TEST(Pace, KeepsToItsShare) {
  const PaceOptions options{.share = 0.1, .burst = milliseconds(20), .longest = milliseconds(500)};
  Pace pace(options);
  const auto cost = std::chrono::microseconds(200);
  EXPECT_EQ(pace.done(at(1000), cost), at(1000));
  std::multiset<Time> next;
  for (int i = 0; i < 100; ++i) next.insert(at(1000 + i));
  Duration done{0};
  for (Time now = *next.begin(); now < at(5000); now = *next.begin()) {
    next.erase(next.begin());
    next.insert(pace.done(now, cost));
    EXPECT_LE(*next.rbegin(), now + options.longest);
    done += cost;
  }
  EXPECT_LE(done, milliseconds(400 + 2) + 100 * cost);
  EXPECT_GE(done, milliseconds(398));
  EXPECT_EQ(pace.done(at(9000), cost), at(9000));
}

TEST(ModelQueue, CancelsAndDrains) {
  ModelQueue queue({.max_items = 8, .max_delay = milliseconds(50)});
  for (uint64_t id = 1; id <= 3; ++id) queue.admit({.id = id, .kind = 1}, kStart);
  EXPECT_TRUE(queue.cancel(2));
  EXPECT_FALSE(queue.cancel(2));
  queue.drain();
  EXPECT_EQ(queue.admit({.id = 4}, kStart).status.code(), Code::kUnavailable);
  EXPECT_EQ(queue.next(kStart, true).batch, (Ids{1, 3}));  // no other client will come: no delay
  EXPECT_EQ(queue.waiting(), 0u);
}

}  // namespace
}  // namespace shoal::serve
