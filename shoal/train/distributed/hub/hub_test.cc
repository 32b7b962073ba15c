#include "shoal/train/distributed/hub/hub.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "shoal/cluster/chaos/sim_clock.h"

namespace shoal::learn {
namespace {

using chaos::Clock;
using chaos::Random;
using std::chrono::milliseconds;
using Kind = HubAction::Kind;

Hub::Time at(int64_t ms) { return Hub::Time(milliseconds(ms)); }

std::vector<HubAction> assignments(Hub& hub) {
  std::vector<HubAction> found;
  for (const HubAction& action : hub.take_actions()) {
    if (action.kind == Kind::kAssign) found.push_back(action);
  }
  return found;
}

void join(Hub& hub, int workers) {
  for (int i = 0; i < workers; ++i) hub.join(i, at(0));
  for (int i = 0; i < workers; ++i) hub.synced(i, at(0));
}

// The first step has no speeds: the first worker that is ready takes all. From then on, shares
// follow what was measured.
TEST(Hub, SharesByMeasuredSpeed) {
  Hub hub({.levels = 3, .steps = 9});
  join(hub, 1);
  ASSERT_EQ(assignments(hub).size(), 1u);
  hub.join(1, at(0));
  hub.synced(1, at(0));
  hub.push(0, 0, 0, 8, at(80));  // 10 ms each
  std::vector<HubAction> given = assignments(hub);
  ASSERT_EQ(given.size(), 2u);  // the other counts as equal
  hub.push(0, 1, 0, 4, at(120));
  hub.push(1, 1, 4, 8, at(200));  // 30 ms each
  given = assignments(hub);
  ASSERT_EQ(given.size(), 2u);
  EXPECT_EQ(given[0].end - given[0].first, 6);
  EXPECT_EQ(given[1].end - given[1].first, 2);
}

TEST(Hub, WaitsWithTheFirstStepForAllThatJoined) {
  Hub hub({.levels = 3, .steps = 2});
  for (const int worker : {0, 1}) hub.join(worker, at(0));
  hub.synced(0, at(0));
  EXPECT_TRUE(assignments(hub).empty());
  hub.synced(1, at(1));
  EXPECT_EQ(assignments(hub).size(), 2u);
}

// Messages that queue for one medium do not make a worker slow.
TEST(Hub, SharesByTheTimeThatWorkersComputed) {
  Hub hub({.levels = 3, .steps = 9});
  join(hub, 2);
  hub.take_actions();
  hub.push(0, 0, 0, 4, at(100), 0.04);
  hub.push(1, 0, 4, 8, at(100), 0.12);
  const std::vector<HubAction> given = assignments(hub);
  ASSERT_EQ(given.size(), 2u);
  EXPECT_EQ(given[0].end - given[0].first, 6);
}

TEST(Hub, GivesTheWorkOfALostWorkerToTheOthers) {
  Hub hub({.levels = 2, .steps = 1});
  join(hub, 1);
  hub.take_actions();
  hub.join(1, at(0));
  hub.synced(1, at(0));
  hub.take_actions();
  hub.lose(0, at(5));
  const std::vector<HubAction> given = assignments(hub);
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(given[0].worker, 1);
  EXPECT_EQ(hub.push(1, 0, 0, 4, at(9)), Verdict::kAccept);
  EXPECT_TRUE(hub.is_over());
}

// One that is done does not wait for another that is not, and leaves it its part.
TEST(Hub, GivesTheWorkOfALostWorkerToThoseThatAreDone) {
  Hub hub({.levels = 4, .steps = 1, .fixed_shares = true});
  join(hub, 4);
  EXPECT_EQ(assignments(hub).size(), 4u);
  hub.push(1, 0, 4, 8, at(10));
  hub.push(2, 0, 8, 12, at(11));
  hub.lose(0, at(12));
  std::vector<HubAction> given = assignments(hub);
  ASSERT_EQ(given.size(), 2u);
  int64_t done = 0;
  for (const HubAction& task : given) done += task.end - task.first;
  EXPECT_EQ(done, 3);  // of 4: two of three workers
  hub.push(3, 0, 12, 16, at(20));
  const std::vector<HubAction> rest = assignments(hub);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].worker, 3);
  for (const HubAction& task : {given[0], given[1], rest[0]}) {
    EXPECT_FALSE(hub.is_over());
    EXPECT_EQ(hub.push(task.worker, 0, task.first, task.end, at(30)), Verdict::kAccept);
  }
  EXPECT_TRUE(hub.is_over());
}

// Two steps ended without it: what it pushes for them is late, and until then it is asked for
// nothing more.
TEST(Hub, AsksAStragglerForNothingUntilItAnswers) {
  Hub hub({.levels = 2, .steps = 9, .slack = 1.1, .fixed_shares = true});
  join(hub, 3);
  const int straggler = 2;
  std::vector<HubAction> left;
  int64_t now = 0;
  const auto do_step = [&](bool with_straggler) {
    const std::vector<HubAction> given = assignments(hub);
    now += 20;
    for (const HubAction& task : given) {
      if (task.worker == straggler && !with_straggler) {
        left.push_back(task);
      } else {
        EXPECT_EQ(hub.push(task.worker, task.step, task.first, task.end, at(now)),
                  Verdict::kAccept);
      }
    }
    now += 100;
    hub.tick(at(now));
    return given.size();
  };
  EXPECT_EQ(do_step(true), 3u);
  EXPECT_EQ(do_step(false), 3u);
  EXPECT_EQ(do_step(false), 3u);
  EXPECT_EQ(do_step(false), 2u);
  EXPECT_EQ(hub.step(), 4);
  ASSERT_EQ(left.size(), 2u);
  for (const HubAction& late : left) {
    EXPECT_EQ(hub.push(straggler, late.step, late.first, late.end, at(now)), Verdict::kLate);
  }
  EXPECT_EQ(do_step(true), 2u);
  EXPECT_EQ(do_step(true), 3u);
}

TEST(Hub, RefusesWhatItDidNotAskFor) {
  Hub hub({.levels = 2, .steps = 2});
  join(hub, 1);
  EXPECT_EQ(hub.push(0, 0, 0, 3, at(1)), Verdict::kRefuse);
  EXPECT_EQ(hub.push(0, 1, 0, 4, at(1)), Verdict::kRefuse);
  EXPECT_EQ(hub.push(7, 0, 0, 4, at(1)), Verdict::kRefuse);
  EXPECT_EQ(hub.push(0, 0, 0, 4, at(1)), Verdict::kAccept);
  EXPECT_EQ(hub.push(0, 0, 0, 4, at(1)), Verdict::kRefuse);
}

TEST(Hub, GivesUpWithoutWorkersAndDropsThoseThatDoNotAnswer) {
  Hub hub({.drop_after = milliseconds(100), .timeout = milliseconds(1000)});
  hub.join(0, at(0));
  ASSERT_EQ(hub.next_tick(), at(100));
  hub.tick(at(100));
  EXPECT_EQ(hub.take_actions().back().kind, Kind::kDrop);
  ASSERT_EQ(hub.next_tick(), at(1100));
  hub.tick(at(1100));
  EXPECT_EQ(hub.take_actions().back().kind, Kind::kGiveUp);
  EXPECT_TRUE(hub.is_over());
}

TEST(Hub, EndsAfterTheStepWhenItIsStopped) {
  Hub hub({.levels = 0, .steps = 100});
  join(hub, 1);
  hub.stop();
  hub.push(0, 0, 0, 1, at(1));
  EXPECT_TRUE(hub.is_over());
  EXPECT_EQ(hub.take_actions().back().kind, Kind::kGoodbye);
  hub.join(3, at(2));
  EXPECT_EQ(hub.take_actions().back().kind, Kind::kGoodbye);
}

// Shares and lags are those of the last step that ended; a late one's lag counts from the first
// gradients of its own step.
TEST(Hub, TellsWhatWorkersDid) {
  using State = DeviceRow::State;
  Hub hub({.levels = 2, .steps = 9, .slack = 1.1, .fixed_shares = true});
  join(hub, 3);  // which have shares of 2, 1 and 1
  EXPECT_EQ(hub.devices().at(0), (DeviceRow{.state = State::kWorking}));
  hub.push(0, 0, 0, 2, at(40), 0.04);
  hub.push(1, 0, 2, 3, at(50), 0.02);
  hub.push(2, 0, 3, 4, at(70), 0.02);
  EXPECT_EQ(hub.devices().at(0), (DeviceRow{State::kWorking, {}, 2, 0.02, 0, 1, 0}));
  EXPECT_EQ(hub.devices().at(2), (DeviceRow{State::kWorking, {}, 1, 0.02, 0.03, 1, 0}));
  hub.push(0, 1, 0, 2, at(100), 0.04);
  hub.push(1, 1, 2, 3, at(105), 0.02);
  hub.tick(at(1000));  // ends the step without the third
  ASSERT_EQ(hub.step(), 2);
  EXPECT_EQ(hub.devices().at(2), (DeviceRow{State::kWorking, {}, 0, 0.02, 0.03, 2, 1}));
  hub.push(2, 1, 3, 4, at(1100), 0.02);
  EXPECT_DOUBLE_EQ(hub.devices().at(2).lag_seconds, 1.0);
  hub.lose(1, at(1200));
  EXPECT_EQ(hub.devices().at(1).state, State::kLost);
  EXPECT_EQ(hub.devices().at(1).changed, 2);
  hub.join(1, at(1300));
  EXPECT_EQ(hub.devices().at(1).state, State::kJoining);
  hub.push(0, 2, 0, 2, at(1400), 0.04);
  hub.push(2, 2, 3, 4, at(1410), 0.02);
  hub.tick(at(9000));  // without what was the lost one's
  ASSERT_EQ(hub.step(), 3);
  hub.synced(1, at(9100));
  EXPECT_EQ(hub.devices().at(1).state, State::kWorking);
  EXPECT_EQ(hub.devices().at(1).changed, 3);
}

// A run of the hub in virtual time, with workers that compute, are killed, come back, are slow for
// a while, or whose weights are damaged. Weights are a number that every merge changes.
struct Faults {
  int kills = 0;
  int slow = 0;
  int damages = 0;
  bool all_die = false;    // and nobody comes back
  int slow_each_step = 0;  // a factor for another worker in each step; all are equally fast then
};

class SimulatedRun {
 public:
  SimulatedRun(uint64_t seed, const HubOptions& options, int workers, const Faults& faults)
      : random_(seed), options_(options), hub_(options), workers_(static_cast<size_t>(workers)) {
    for (size_t i = 0; i < workers_.size(); ++i) {
      workers_[i].each = milliseconds(random_.between(1, 20));
      clock_.after(milliseconds(random_.between(0, 30)), [this, i] { start(i); });
    }
    for (int k = 0; k < faults.kills; ++k) plan([this](size_t i) { kill(i, true); });
    for (int k = 0; k < faults.slow; ++k) plan([this](size_t i) { workers_[i].slow = 10; });
    for (int k = 0; k < faults.damages; ++k) plan([this](size_t i) { workers_[i].weights ^= 1; });
    if (faults.slow_each_step > 0) {
      slow_each_step_ = faults.slow_each_step;
      for (Worker& worker : workers_) worker.each = milliseconds(10);
      most_delay_ = 100'000;
    }
    if (faults.all_die) {
      for (size_t i = 0; i < workers_.size(); ++i) {
        clock_.after(milliseconds(random_.between(40, 300)), [this, i] { kill(i, false); });
      }
    }
  }

  // What went wrong; empty if nothing did.
  std::string run() {
    for (int events = 0; !hub_.is_over() && problem_.empty(); ++events) {
      if (events > 100'000) return "it does not end";
      if (!clock_.step()) return "it hangs in step " + std::to_string(hub_.step());
    }
    if (!problem_.empty() || gave_up_) return problem_;
    if (merges_ != options_.steps) return "there were " + std::to_string(merges_) + " merges";
    int64_t on_the_way = 0;
    for (const Worker& worker : workers_) on_the_way += worker.unsent;
    if (computed_ != merged_ + carried_ + lost_ + on_the_way)
      return "gradients were lost or counted twice";
    return {};
  }

  bool gave_up() const { return gave_up_; }
  chaos::Time now() const { return clock_.now(); }
  chaos::Time mean_step() const { return last_merge_ / merges_; }

 private:
  struct Worker {
    bool alive = false;
    int life = 0;          // messages of an earlier one are dropped
    int connection = 0;    // the life that the hub sends to
    int64_t version = -1;  // of its weights: steps done; -1: none
    uint64_t weights = 0;
    std::optional<chaos::Time> unequal = {};  // since it told the hub that its weights are
    chaos::Time each{0};                      // per micro-batch
    int slow = 1;                             // in the next task
    std::optional<HubAction> task = {};
    chaos::Time begun{0}, pace{0};        // of the task
    chaos::Time last_in{0}, last_out{0};  // messages of a channel arrive in order
    int64_t unsent = 0;                   // micro-batches computed, not yet at the hub
  };

  Hub::Time now_for_hub() const { return Hub::Time(clock_.now()); }

  void plan(const std::function<void(size_t)>& fault) {
    const auto worker = static_cast<size_t>(random_.between(0, std::ssize(workers_) - 1));
    clock_.after(milliseconds(random_.between(0, 400)), [fault, worker] { fault(worker); });
  }

  void fail(const std::string& what) {
    if (problem_.empty()) problem_ = what + " in step " + std::to_string(version_);
  }

  chaos::Time delay(chaos::Time& last) {
    last = std::max(last, clock_.now() + chaos::Time(random_.between(0, most_delay_)));
    return last - clock_.now();
  }
  void to_worker(size_t i, std::function<void()> what) {
    clock_.after(delay(workers_[i].last_in), [this, i, life = workers_[i].connection, what] {
      if (workers_[i].alive && workers_[i].life == life) what();
    });
  }
  void to_hub(size_t i, std::function<void()> what) {
    clock_.after(delay(workers_[i].last_out), [this, i, life = workers_[i].life, what] {
      if (workers_[i].life != life || hub_.is_over()) return;
      what();
      carry_out();
    });
  }

  void start(size_t i) {
    if (hub_.is_over()) return;
    Worker& worker = workers_[i];
    worker.alive = true;
    ++worker.life;
    worker.last_in = worker.last_out = clock_.now();
    to_hub(i, [this, i] {
      workers_[i].connection = workers_[i].life;
      hub_.join(static_cast<int>(i), now_for_hub());
    });
  }

  // The hub learns of it half a second later, as heartbeats would tell.
  void kill(size_t i, bool returns) {
    Worker& worker = workers_[i];
    if (!worker.alive) return;
    lost_ += worker.unsent;
    const int life = worker.life + 1;
    Worker dead;
    dead.each = worker.each;
    dead.life = life;
    dead.connection = worker.connection;
    worker = dead;
    clock_.after(milliseconds(500), [this, i, life] {
      if (hub_.is_over() || workers_[i].life != life) return;
      hub_.lose(static_cast<int>(i), now_for_hub());
      carry_out();
    });
    if (!returns) return;
    clock_.after(milliseconds(random_.between(10, 1500)), [this, i, life] {
      if (workers_[i].life == life) start(i);
    });
  }

  void compute(size_t i, const HubAction& task) {
    Worker& worker = workers_[i];
    if (worker.version != task.step) fail("a worker computes with weights of another step");
    if (worker.task) fail("a worker has two tasks");
    const bool is_known = worker.unequal && clock_.now() - *worker.unequal > milliseconds(20);
    if (is_known) fail("a worker goes on with other weights");
    worker.task = task;
    worker.begun = clock_.now();
    worker.pace = worker.each * worker.slow;
    worker.slow = 1;
    const int64_t size = task.end - task.first;
    clock_.after(worker.pace * size, [this, i, task, size, life = worker.life] {
      Worker& sender = workers_[i];
      if (sender.life != life || sender.task != task) return;
      sender.task.reset();
      sender.unsent += size;
      computed_ += size;
      to_hub(i, [this, i, task] { push(i, task); });
    });
  }

  // Leaves the task, and says how much of it was done.
  int64_t leave_task(Worker& worker) {
    if (!worker.task) return 0;
    worker.task.reset();
    return (clock_.now() - worker.begun) / worker.pace;
  }

  void push(size_t i, const HubAction& task) {
    const int64_t size = task.end - task.first;
    workers_[i].unsent -= size;
    switch (hub_.push(static_cast<int>(i), task.step, task.first, task.end, now_for_hub())) {
      case Verdict::kAccept:
        for (int64_t k = task.first; k < task.end; ++k) {
          if (!step_.insert(k).second) fail("a micro-batch is merged twice");
        }
        return;
      case Verdict::kLate:
        carried_ += size;
        return;
      case Verdict::kRefuse:
        lost_ += size;
        return;  // it has been sent the state again
    }
  }

  void merge(const HubAction& action) {
    if (action.step != version_) fail("steps are merged out of order");
    const int64_t all = int64_t{1} << options_.levels;
    const auto size = static_cast<int64_t>(step_.size());
    if (options_.slack == 0 ? size != all : 2 * size <= all) fail("micro-batches are missing");
    check_table(size);
    merged_ += size;
    step_.clear();
    ++version_;
    ++merges_;
    weights_ = weights_ * 31 + static_cast<uint64_t>(size);
    last_merge_ = clock_.now();
    if (slow_each_step_ > 1) {
      workers_[static_cast<size_t>(version_) % workers_.size()].slow = slow_each_step_;
    }
    for (const int number : hub_.workers()) {
      const auto i = static_cast<size_t>(number);
      to_worker(i, [this, i, step = action.step, weights = weights_, size] {
        pull(i, step, weights, size);
      });
    }
  }

  // What people see: every micro-batch that was merged is in one share, and those that are there,
  // and only those, are not lost.
  void check_table(int64_t merged) {
    const std::vector<int> there = hub_.workers();
    for (const auto& [worker, row] : hub_.devices()) {
      merged -= row.share;
      const bool is_there = std::ranges::binary_search(there, worker);
      if (is_there == (row.state == DeviceRow::State::kLost)) fail("the table of workers is wrong");
      if (row.late > row.steps) fail("a worker is late more often than it was asked");
    }
    if (merged != 0) fail("shares are not the step");
  }

  void pull(size_t i, int64_t step, uint64_t weights, int64_t size) {
    Worker& worker = workers_[i];
    if (worker.version < 0) return;  // the state comes later, and has this step in it
    if (worker.version != step) return fail("a worker applies another step than the next");
    const int64_t done = leave_task(worker);
    computed_ += done;
    carried_ += done;
    ++worker.version;
    worker.weights = worker.weights * 31 + static_cast<uint64_t>(size);
    const Hub::Applied report{.step = step, .equal = worker.weights == weights, .done = done};
    if (!report.equal && !worker.unequal) worker.unequal = clock_.now();
    to_hub(i, [this, i, report] { hub_.applied(static_cast<int>(i), report, now_for_hub()); });
  }

  void take_state(size_t i, int64_t version, uint64_t weights) {
    leave_task(workers_[i]);  // its weights were wrong
    workers_[i].version = version;
    workers_[i].weights = weights;
    workers_[i].unequal.reset();
    to_hub(i, [this, i] { hub_.synced(static_cast<int>(i), now_for_hub()); });
  }

  void carry_out() {
    for (const HubAction& action : hub_.take_actions()) {
      const auto i = static_cast<size_t>(action.worker);
      switch (action.kind) {
        case Kind::kSendState:
          if (action.step != version_) fail("a state of another step is sent");
          to_worker(i, [this, i, version = version_, weights = weights_] {
            take_state(i, version, weights);
          });
          break;
        case Kind::kAssign:
          to_worker(i, [this, i, action] { compute(i, action); });
          break;
        case Kind::kMerge:
          merge(action);
          break;
        case Kind::kDrop:
          kill(i, true);
          break;
        case Kind::kGoodbye:
          break;
        case Kind::kGiveUp:
          gave_up_ = true;
          break;
      }
    }
    const std::optional<Hub::Time> next = hub_.next_tick();
    if (!next || planned_ == next) return;
    planned_ = next;
    const chaos::Time wait = std::max(chaos::Time(0), next->time_since_epoch() - clock_.now());
    clock_.after(wait, [this] {
      if (hub_.is_over()) return;
      hub_.tick(now_for_hub());
      carry_out();
    });
  }

  Clock clock_;
  Random random_;
  HubOptions options_;
  Hub hub_;
  std::vector<Worker> workers_;
  std::string problem_;
  int64_t version_ = 0;
  uint64_t weights_ = 1;
  int64_t merges_ = 0, computed_ = 0, merged_ = 0, carried_ = 0, lost_ = 0;
  std::set<int64_t> step_;  // micro-batches that were accepted
  bool gave_up_ = false;
  chaos::Time last_merge_{0};
  int slow_each_step_ = 1;
  std::optional<Hub::Time> planned_;  // the next tick
  int64_t most_delay_ = 3'000'000;    // of a message, in nanoseconds
};

// B10, B11: whatever happens to workers, the run ends with all steps, none of them twice, and every
// micro-batch that was computed was merged, carried along, or died with its worker.
TEST(Hub, DoesEveryStepOnceWhateverHappens) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    HubOptions options{.levels = static_cast<int>(random.between(0, 5)),
                       .steps = random.between(1, 12),
                       .slack = random.between(0, 1) == 0 ? 0 : 1.2};
    options.drop_after = std::chrono::seconds(20);
    const Faults faults{.kills = static_cast<int>(random.between(0, 5)),
                        .slow = static_cast<int>(random.between(0, 4)),
                        .damages = static_cast<int>(random.between(0, 2))};
    SimulatedRun run(seed, options, static_cast<int>(random.between(1, 6)), faults);
    EXPECT_EQ(run.run(), "") << "seed " << seed;
    EXPECT_FALSE(run.gave_up()) << "seed " << seed;
  }
}

TEST(Hub, NeverHangsWithoutWorkers) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SimulatedRun run(seed, {.levels = 3, .steps = 1000, .slack = 1.2}, 4, {.all_die = true});
    EXPECT_EQ(run.run(), "") << "seed " << seed;
    EXPECT_TRUE(run.gave_up()) << "seed " << seed;
  }
}

// B12: each step another worker is ten times slower. With slack, the step does not wait for it.
TEST(Hub, DoesNotWaitForStragglers) {
  const auto mean_step = [](double slack, int slow) {
    SimulatedRun run(3, {.levels = 6, .steps = 100, .slack = slack}, 8, {.slow_each_step = slow});
    EXPECT_EQ(run.run(), "");
    return run.mean_step().count();
  };
  const auto calm = static_cast<double>(mean_step(1.1, 1));
  EXPECT_LE(static_cast<double>(mean_step(1.1, 10)), 1.15 * calm);
  EXPECT_GE(static_cast<double>(mean_step(0, 10)), 5 * calm);  // waiting is that slow
}

// A history follows from its seed alone.
TEST(Hub, RepeatsItself) {
  const auto end = [] {
    SimulatedRun run(7, {.levels = 4, .steps = 20, .slack = 1.2}, 4, {.kills = 3, .slow = 3});
    EXPECT_EQ(run.run(), "");
    return run.now();
  };
  EXPECT_EQ(end(), end());
}

}  // namespace
}  // namespace shoal::learn
