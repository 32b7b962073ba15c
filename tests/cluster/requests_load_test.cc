// What becomes of requests when there are more of them than workers can answer: the decider in
// virtual time, with a worker that takes a millisecond for each.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "shoal/cluster/coordinator/policy/requests.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;
using Time = Requests::Time;
using Duration = Time::duration;

constexpr uint64_t kService = 7, kPlan = 1;

Graph one_layer() {
  Graph graph;
  graph.mark_output(*graph.add(ops::relu, {graph.add_input("x", {DType::kF32, {4}})}));
  return graph;
}

plan::Plan on_one_worker(const Graph& graph, int worker = 0) {
  const plan::NodeRange all{0, graph.nodes().size()};
  plan::Plan plan;
  plan.segments = {{all, "", {{worker, plan::whole_pieces(graph, all)}}}};
  return plan;
}

// A service of one plan on one worker, and requests to it.
class Served {
 public:
  struct Ended {
    Code code = Code::kOk;
    Duration took{};
    std::chrono::milliseconds retry_after{0};
    bool begun = false;
  };

  explicit Served(Duration each = 1ms) : each_(each) {
    deployed_ = std::make_shared<const DeployedPlan>(
        DeployedPlan{kPlan, *plan::ScheduledPlan::make(graph_, on_one_worker(graph_))});
    requests_.add(deployed_);
    requests_.offer(kService, {kPlan}, true);
  }

  Requests& requests() { return requests_; }
  Time now() const { return now_; }
  size_t window() const { return window_of(deployed_->scheduled.plan()); }
  size_t under_way() const { return under_way_; }
  const std::map<uint64_t, Ended>& ended() const { return ended_; }
  const std::vector<uint64_t>& begun() const { return begun_; }  // requests, in order
  void set_time_of_each(Duration each) { each_ = each; }

  uint64_t submit(Duration timeout, uint64_t client = 0) {
    requests_.set_time(now_);
    const uint64_t id = requests_.submit(kService, std::span(&input_, 1), now_ + timeout, client);
    open_[id] = {now_, now_ + timeout, {}, false};
    at(now_ + timeout, [this] { requests_.expire(now_); });
    collect();
    return id;
  }
  void at(Time when, std::function<void()> what) { events_.emplace(when, std::move(what)); }

  // All that happens until then; for ever if need be.
  void run(Time until = Time::max()) {
    while (!events_.empty() && events_.begin()->first <= until) {
      auto event = events_.extract(events_.begin());
      now_ = event.key();
      requests_.set_time(now_);
      event.mapped()();
      collect();
    }
    if (until != Time::max()) now_ = until;
  }

  size_t count(Code code) const {
    return static_cast<size_t>(std::ranges::count_if(
        ended_, [&](const auto& entry) { return entry.second.code == code; }));
  }

 private:
  struct Open {
    Time since, deadline;
    std::optional<uint64_t> attempt;
    bool is_begun = false;
  };

  // Carries out the steps, and holds the laws.
  void collect() {
    for (auto it = open_.begin(); it != open_.end();) {
      const uint64_t id = it->first;
      Open& open = it->second;
      if (!requests_.has_step(id)) {
        ++it;
        continue;
      }
      const RequestStep step = requests_.step(id);
      if (step.abandon) {
        --under_way_;
        open.attempt.reset();
      }
      if (step.begin && !step.end) begin(id, open, *step.begin);
      if (!step.end) {
        ++it;
        continue;
      }
      if (open.attempt) --under_way_;
      EXPECT_LE(now_, open.deadline) << "every request ends by its deadline";
      EXPECT_EQ(step.end->status.code() == Code::kExhausted, step.end->retry_after.count() > 0);
      ended_[id] = {step.end->status.code(), now_ - open.since, step.end->retry_after,
                    open.is_begun};
      it = open_.erase(it);
    }
    EXPECT_LE(under_way_, window());
    const size_t waiting = requests_.waiting(kService);
    EXPECT_LE(waiting, Requests::kMostWaiting);
    EXPECT_TRUE(waiting == 0 || under_way_ == window()) << "nobody waits where there is room";
  }

  void begin(uint64_t id, Open& open, const Attempt& attempt) {
    ++under_way_;
    begun_.push_back(id);
    open.attempt = attempt.id;
    open.is_begun = true;
    given_.push_back({attempt, open.deadline});
    if (!is_busy_) compute();
  }

  // The worker takes one after the other, and drops expired ones.
  void compute() {
    std::erase_if(given_, [&](const auto& one) { return one.second < now_; });
    is_busy_ = !given_.empty();
    if (!is_busy_) return;
    const Attempt attempt = given_.front().first;
    given_.erase(given_.begin());
    at(now_ + each_, [this, attempt] {
      answer(attempt);
      compute();
    });
  }

  void answer(const Attempt& attempt) {
    for (const plan::Transfer& transfer : attempt.deployed->scheduled.schedule().transfers) {
      if (transfer.to != plan::kCoordinator) continue;
      const auto type = requests_.expect(transfer.from, attempt.id, transfer.piece);
      ASSERT_TRUE(type.ok());
      if (*type) requests_.arrive(attempt.id, transfer.piece, input_);
    }
  }

  const Graph graph_ = one_layer();
  const Tensor input_ = Tensor::of<float>({4}, {1, 2, 3, 4});
  DeployedPlanPtr deployed_;
  Requests requests_;
  Time now_{100s};
  std::vector<std::pair<Attempt, Time>> given_;  // to the worker, with deadlines
  bool is_busy_ = false;
  Duration each_;
  size_t under_way_ = 0;
  std::multimap<Time, std::function<void()>> events_;
  std::map<uint64_t, Open> open_;
  std::map<uint64_t, Ended> ended_;
  std::vector<uint64_t> begun_;
};

TEST(AttemptWindow, FollowsFromThePlan) {
  const Graph graph = one_layer();
  EXPECT_EQ(window_of(on_one_worker(graph)), 4u);
  plan::Plan pipeline;  // of eight stages; what they compute does not matter here
  for (int worker = 0; worker < 8; ++worker) {
    pipeline.segments.push_back(on_one_worker(graph, worker).segments[0]);
  }
  EXPECT_EQ(window_of(pipeline), 18u) << "all stages can be busy";
  plan::Plan split;
  split.segments.push_back({});
  for (int worker = 0; worker < 8; ++worker) split.segments[0].tasks.push_back({worker, {}});
  EXPECT_EQ(window_of(split), 4u) << "all workers are busy with one";
  for (int i = 0; i < 100; ++i)
    pipeline.segments.push_back(on_one_worker(graph, 9 + i).segments[0]);
  EXPECT_LT(window_of(pipeline), 64u) << "no more than workers accept";
}

TEST(AttemptWindow, SaysHowLongItTakes) {
  AttemptWindow window(4);
  EXPECT_GT(window.until_begin(1), 0ms) << "a guess";
  for (int i = 0; i < 100; ++i) window.learn(8ms);
  EXPECT_EQ(window.until_begin(4), 8ms);
  EXPECT_EQ(window.until_end(2), 12ms);
  for (int i = 0; i < 100; ++i) window.learn(80ms);
  EXPECT_GT(window.until_begin(4), 70ms) << "it follows";
}

TEST(RequestLoad, WaitsWhereThereIsTimeAndEndsInOrder) {
  Served served;
  for (int i = 0; i < 100; ++i) served.submit(60s);
  EXPECT_EQ(served.requests().waiting(kService), 100 - served.window());
  served.run();
  EXPECT_EQ(served.count(Code::kOk), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(served.begun()));
}

TEST(RequestLoad, IsRefusedWhereTooManyWait) {
  Served served;
  for (int i = 0; i < 200; ++i) served.submit(60s);
  const size_t room = served.window() + Requests::kMostWaiting;
  EXPECT_EQ(served.count(Code::kExhausted), 200 - room) << "at once";
  served.run();
  EXPECT_EQ(served.count(Code::kOk), room);
}

TEST(RequestLoad, IsRefusedAtOnceWhereItWouldEndTooLate) {
  Served served;
  for (int i = 0; i < 50; ++i) served.submit(60s);
  served.run();  // it has learned
  for (int i = 0; i < 50; ++i) served.submit(60s);
  const uint64_t hasty = served.submit(5ms);
  ASSERT_TRUE(served.ended().contains(hasty));
  EXPECT_EQ(served.ended().at(hasty).code, Code::kExhausted);
  // Who comes back when it was told to is taken.
  const Time again = served.now() + served.ended().at(hasty).retry_after;
  served.run(std::max(again, served.now() + 48ms));
  const uint64_t second = served.submit(20ms);
  served.run();
  EXPECT_EQ(served.ended().at(second).code, Code::kOk);
}

// One client sends a hundred at once; another one's single request does not wait for them, and is
// not refused because of them.
TEST(RequestLoad, IsFairBetweenClients) {
  Served served;
  for (int i = 0; i < 200; ++i) served.submit(60s, 1);
  const size_t before = served.begun().size();
  const uint64_t other = served.submit(60s, 2);
  EXPECT_FALSE(served.ended().contains(other));
  served.run();
  EXPECT_EQ(served.ended().at(other).code, Code::kOk);
  const auto at = std::ranges::find(served.begun(), other) - served.begun().begin();
  EXPECT_LE(static_cast<size_t>(at), before + 1);
}

// Ten times as many as can be answered, by clients that wait for ten times as long as one takes:
// the worker answers all the time, and no client waits in vain.
TEST(RequestLoad, OfTenTimesTheCapacityCostsNothing) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 rng(seed);
    std::exponential_distribution<double> gap(10);  // in milliseconds
    Served served;
    Duration passed{};
    const Time begin = served.now();
    while (passed < 2s) {
      served.run(begin + passed);
      served.submit(12ms, rng() % 200);
      passed += std::chrono::nanoseconds(static_cast<int64_t>(1e6 * gap(rng)));
    }
    served.run();
    EXPECT_GE(served.count(Code::kOk), 1900u);
    EXPECT_LE(served.count(Code::kDeadline), 20u) << "what was taken is answered";
    for (const auto& [id, ended] : served.ended()) {
      if (ended.code != Code::kExhausted) continue;
      EXPECT_FALSE(ended.begun);
      EXPECT_EQ(ended.took, 0ms);
    }
  }
}

// A worker that answers a millisecond before each timeout: all that began are answered, and what
// cannot be answered in time any more is refused at once.
TEST(RequestLoad, OfAWorkerThatAnswersAtTheLastMoment) {
  Served served(4ms);
  for (int i = 0; i < 300; ++i) {
    served.submit(5ms);
    served.run(served.now() + 2ms);
  }
  served.run();
  EXPECT_GE(served.count(Code::kOk), 75u) << "half of what is possible";
  EXPECT_EQ(served.ended().size(), 300u);
  // A stall must not keep requests out once it is over.
  served.set_time_of_each(500ms);
  for (int i = 0; i < 10; ++i) served.submit(5ms);
  served.run();
  served.set_time_of_each(1ms);
  const Time later = served.now() + 60s;  // until the worker has caught up
  served.run(later);
  const size_t before = served.count(Code::kOk);
  for (int i = 0; i < 100; ++i) {
    served.submit(20ms);
    served.run(served.now() + 2ms);
  }
  served.run();
  EXPECT_EQ(served.count(Code::kOk), before + 100);
}

// Random loads: the laws are those of Served::collect().
TEST(RequestLoad, EndsEveryRequestOnceByItsDeadline) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 rng(seed);
    const auto draw = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(rng);
    };
    Served served(std::chrono::microseconds(draw(100, 3000)));
    size_t submitted = 0;
    for (int i = 0; i < 200; ++i) {
      const int64_t burst = draw(0, 9) == 0 ? draw(1, 100) : draw(0, 3);
      for (int64_t k = 0; k < burst; ++k) {
        const uint64_t id =
            served.submit(std::chrono::milliseconds(draw(1, draw(0, 1) == 0 ? 20 : 2000)),
                          static_cast<uint64_t>(draw(0, 5)));
        ++submitted;
        if (draw(0, 30) == 0) {
          served.at(served.now() + std::chrono::microseconds(draw(0, 5000)),
                    [&served, id] { served.requests().cancel(id); });
        }
      }
      if (draw(0, 50) == 0) {
        served.requests().lose(0, Status(Code::kUnavailable, "gone"));
        served.requests().restore(kPlan, 0);
      }
      served.run(served.now() + std::chrono::microseconds(draw(0, 4000)));
    }
    served.run();
    EXPECT_EQ(served.ended().size(), submitted);
    EXPECT_EQ(served.under_way(), 0u);
    EXPECT_EQ(served.requests().waiting(kService), 0u);
  }
}

// A worker with a full queue refuses: the caller is told to retry, and the worker is not lost.
TEST(RequestLoad, TakesAWorkerWithoutRoomForNoFault) {
  Served served(1s);
  const uint64_t request = served.submit(60s);
  served.requests().fail(0, 1, Status(Code::kExhausted, "too many requests at once"));
  served.at(served.now(), [] {});
  served.run(served.now());
  ASSERT_TRUE(served.ended().contains(request));
  EXPECT_EQ(served.ended().at(request).code, Code::kExhausted);
  EXPECT_TRUE(served.requests().is_whole(kPlan));
  EXPECT_TRUE(served.requests().usable(kService).ok());
}

}  // namespace
}  // namespace shoal::cluster
