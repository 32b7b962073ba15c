// Random histories of a scheduler in virtual time, and a model in overload.
#include "shoal/serve/queue/queue_scheduler.h"

#include <gtest/gtest.h>

#include <map>
#include <queue>
#include <random>
#include <set>

namespace shoal::serve {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Rng = std::mt19937;

int64_t draw(Rng& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

constexpr size_t kMostWaiting = 10;
constexpr int64_t kMostItems = 4;

struct Running {
  uint64_t model = 0;
  int64_t items = 0;
  Time began;
};

// Requests come, are cancelled, and batches end, in any order. The scheduler's decisions are
// checked against its inputs.
class History {
 public:
  explicit History(unsigned seed) : rng_(seed), slots_(static_cast<size_t>(draw(rng_, 1, 3))) {
    scheduler_ = std::make_unique<Scheduler>(slots_);
    for (uint64_t model = 1; model <= 2; ++model) {
      scheduler_->add(model, {.max_waiting = kMostWaiting,
                              .max_items = kMostItems,
                              .max_delay = milliseconds(draw(rng_, 0, 3)),
                              .slots = slots_});
    }
  }

  void run() {
    for (int i = 0; i < 400; ++i) {
      now_ += microseconds(draw(rng_, 0, 1500));
      switch (draw(rng_, 0, 5)) {
        case 0:
          end_one();
          break;
        case 1:
          cancel_one();
          break;
        default:
          submit();
      }
      decide();
    }
    // Time alone, and batches that end, must bring everything to an end.
    for (int i = 0; i < 1000 && !(waiting_.empty() && running_.empty()); ++i) {
      if (!running_.empty()) end_one();
      const Time wake = scheduler_->wake();
      if (running_.empty() && wake != kNever) now_ = std::max(now_, wake);
      decide();
    }
    EXPECT_TRUE(waiting_.empty());
    EXPECT_TRUE(scheduler_->is_idle(1) && scheduler_->is_idle(2));
    EXPECT_EQ(scheduler_->wake(), kNever);
  }

 private:
  void submit() {
    const uint64_t model = static_cast<uint64_t>(draw(rng_, 1, 2));
    const QueuedRequest request{
        .id = ++last_id_,
        .client = static_cast<uint64_t>(draw(rng_, 1, 4)),
        .kind = static_cast<uint64_t>(draw(rng_, 0, 2)),
        .items = draw(rng_, 1, kMostItems + 1),
        .priority = static_cast<uint32_t>(draw(rng_, 1, 3)),
        .arrived = now_,
        .deadline = draw(rng_, 0, 1) == 0 ? kNever : now_ + microseconds(draw(rng_, 1, 20000))};
    const Admission admission = scheduler_->admit(model, request, now_);
    if (admission.gives_way) {
      const auto it = waiting_.find(*admission.gives_way);
      ASSERT_NE(it, waiting_.end());
      EXPECT_EQ(models_[it->first], model);
      EXPECT_GE(it->second.priority, request.priority);
      waiting_.erase(it);
    }
    if (!admission.status.ok()) return;
    waiting_[request.id] = request;
    models_[request.id] = model;
    EXPECT_LE(scheduler_->waiting(model), kMostWaiting);
  }

  void cancel_one() {
    if (waiting_.empty()) return;
    const uint64_t id = waiting_.begin()->first;
    EXPECT_TRUE(scheduler_->cancel(models_[id], id));
    waiting_.erase(id);
  }

  void end_one() {
    if (running_.empty()) return;
    const Running one = running_.back();
    running_.pop_back();
    now_ += microseconds(draw(rng_, 100, 4000));
    scheduler_->ended(one.model, one.items, now_ - one.began);
  }

  void decide() {
    for (;;) {
      const SchedulerDecision decision = scheduler_->next(now_);
      for (uint64_t id : decision.late) {
        ASSERT_EQ(waiting_.count(id), 1u);
        EXPECT_NE(waiting_[id].deadline, kNever);
        waiting_.erase(id);
      }
      if (decision.batch.empty()) return;
      check_batch(decision);
      running_.push_back({decision.model, decision.items, now_});
      EXPECT_LE(running_.size(), slots_);
    }
  }

  void check_batch(const SchedulerDecision& decision) {
    int64_t items = 0;
    std::set<uint64_t> kinds;
    for (uint64_t id : decision.batch) {
      ASSERT_EQ(waiting_.count(id), 1u);  // it waited, and was in no batch before
      const QueuedRequest& request = waiting_[id];
      EXPECT_EQ(models_[id], decision.model);
      EXPECT_GT(request.deadline, now_);
      items += request.items;
      kinds.insert(request.kind);
      waiting_.erase(id);
    }
    EXPECT_EQ(items, decision.items);
    if (decision.batch.size() == 1) return;
    EXPECT_LE(items, kMostItems);
    EXPECT_EQ(kinds.size(), 1u);
    EXPECT_EQ(kinds.count(0), 0u);
  }

  Rng rng_;
  const size_t slots_;
  std::unique_ptr<Scheduler> scheduler_;
  Time now_{};
  uint64_t last_id_ = 0;
  std::map<uint64_t, QueuedRequest> waiting_;
  std::map<uint64_t, uint64_t> models_;  // by request
  std::vector<Running> running_;
};

TEST(Scheduler, EndsEveryRequestOnceInRandomHistories) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    History(seed).run();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Scheduler, LetsModelsTakeTurns) {
  Scheduler scheduler(1);
  for (uint64_t model = 1; model <= 2; ++model) scheduler.add(model, {});
  for (uint64_t id = 1; id <= 4; ++id) scheduler.admit(1, {.id = id}, Time{});
  for (uint64_t id = 5; id <= 6; ++id) scheduler.admit(2, {.id = id}, Time{});
  std::vector<uint64_t> turns;
  for (SchedulerDecision d = scheduler.next(Time{}); !d.batch.empty(); d = scheduler.next(Time{})) {
    turns.push_back(d.model);
    EXPECT_TRUE(scheduler.next(Time{}).batch.empty());  // the only slot is taken
    scheduler.ended(d.model, d.items, milliseconds(1));
  }
  EXPECT_EQ(turns, (std::vector<uint64_t>{1, 2, 1, 2, 1, 1}));
  EXPECT_EQ(scheduler.admit(3, {.id = 9}, Time{}).status.code(), Code::kNotFound);
}

TEST(Scheduler, KnowsWhatARequestTakesThatRunsAtOnce) {
  Scheduler scheduler(1);
  scheduler.add(1, {});
  EXPECT_EQ(scheduler.expected(1), std::nullopt);  // nothing ran yet
  EXPECT_EQ(scheduler.expected(2), std::nullopt);  // there is no such model
  scheduler.learn(1, 1, milliseconds(3));
  EXPECT_EQ(scheduler.expected(1), milliseconds(3));
  scheduler.admit(1, {.id = 1}, Time{});
  EXPECT_EQ(scheduler.expected(1), std::nullopt);  // another one waits
  EXPECT_EQ(scheduler.next(Time{}).batch.size(), 1u);
  EXPECT_EQ(scheduler.expected(1), std::nullopt);  // the only slot is taken
  scheduler.ended(1, 1, std::nullopt);
  EXPECT_EQ(scheduler.expected(1), milliseconds(3));
}

// Ten times as many requests as one slot can answer, each to be answered within 50 ms: most are
// refused, and the slot answers as many in time as it can.
TEST(Scheduler, KeepsAnsweringInTimeInOverload) {
  constexpr milliseconds kRun{2};
  Scheduler scheduler(1);
  scheduler.add(1, {.max_waiting = 256, .max_items = 1});
  Time busy_until{};
  bool busy = false;
  size_t answered = 0;
  std::map<uint64_t, Time> deadlines;
  uint64_t running = 0;
  const Time end = Time{} + std::chrono::seconds(10);
  uint64_t id = 0;
  for (Time now{}; now < end; now += microseconds(200)) {
    if (busy && busy_until <= now) {
      busy = false;
      scheduler.ended(1, 1, kRun);
      answered += busy_until <= deadlines[running] ? 1 : 0;
    }
    const Time deadline = now + milliseconds(50);
    deadlines[++id] = deadline;
    scheduler.admit(1, {.id = id, .client = id % 7, .arrived = now, .deadline = deadline}, now);
    const SchedulerDecision decision = scheduler.next(now);
    if (decision.batch.empty()) continue;
    busy = true;
    running = decision.batch[0];
    busy_until = now + kRun;
  }
  EXPECT_GE(answered, 4500u);  // of 5,000
}

}  // namespace
}  // namespace shoal::serve
