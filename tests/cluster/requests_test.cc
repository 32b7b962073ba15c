// What becomes of requests, without workers: the test plays all of them.
#include "shoal/cluster/coordinator/policy/requests.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "random_plan.h"
#include "shoal/engine/device/device.h"
#include "shoal/plan/cost/plan_stats.h"

namespace shoal::cluster {
namespace {

using plan::Rng;

constexpr uint64_t kService = 7;
const Requests::Time kNow{std::chrono::seconds(100)};
const Requests::Time kDeadline = kNow + std::chrono::seconds(5);
const Status kGone(Code::kUnavailable, "worker x: gone");

// A network, its answer, and plans for it.
class Case {
 public:
  explicit Case(unsigned seed) : rng_(seed) {
    do {
      graph_ = plan::random_network(rng_);
    } while (graph_.nodes().empty());
    inputs_ = {plan::random_tensor(rng_, graph_[graph_.inputs()[0]].type.shape)};
    const auto device = make_reference_device();
    answer_.resize(graph_.outputs().size());
    EXPECT_TRUE((*device->compile(graph_))->run(inputs_, answer_, {}).ok());
  }

  // By these workers only, which are numbered as they are.
  DeployedPlanPtr deployed(uint64_t id, const std::vector<int>& workers) {
    plan::Plan plan = plan::random_plan(rng_, graph_, static_cast<int>(workers.size()));
    for (plan::Segment& segment : plan.segments) {
      for (plan::Task& task : segment.tasks) {
        task.worker = workers[static_cast<size_t>(task.worker)];
      }
    }
    auto scheduled = plan::ScheduledPlan::make(graph_, plan);
    EXPECT_TRUE(scheduled.ok());
    return std::make_shared<const DeployedPlan>(DeployedPlan{id, *std::move(scheduled)});
  }

  // What workers send to the coordinator, each piece up to three times, in any order.
  std::vector<plan::Transfer> arrivals(const DeployedPlan& deployed) {
    std::vector<plan::Transfer> all;
    for (const plan::Transfer& transfer : deployed.scheduled.schedule().transfers) {
      if (transfer.to != plan::kCoordinator || transfer.from == plan::kCoordinator) continue;
      all.insert(all.end(), static_cast<size_t>(plan::draw(rng_, 1, 3)), transfer);
    }
    std::ranges::shuffle(all, rng_);
    return all;
  }

  // From allowed senders, the right elements come.
  void arrive(Requests& requests, uint64_t attempt, const plan::Transfer& transfer) {
    const auto type = requests.expect(transfer.from, attempt, transfer.piece);
    ASSERT_TRUE(type.ok()) << type.status().message();
    if (!*type) return;
    const auto at = std::ranges::find(graph_.outputs(), transfer.piece.value);
    const Tensor& whole = answer_[static_cast<size_t>(at - graph_.outputs().begin())];
    requests.arrive(attempt, transfer.piece, crop(whole, transfer.piece.region));
  }

  Rng& rng() { return rng_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  const std::vector<Tensor>& answer() const { return answer_; }

 private:
  Rng rng_;
  Graph graph_;
  std::vector<Tensor> inputs_, answer_;
};

TEST(Requests, AnswerOnceWhateverComesTwice) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Case example(seed);
    Requests requests;
    const DeployedPlanPtr deployed = example.deployed(1, {0, 1, 2});
    requests.add(deployed);
    requests.offer(kService, {1});
    const uint64_t request = requests.submit(kService, example.inputs(), kDeadline);
    const RequestStep step = requests.step(request);
    ASSERT_TRUE(step.begin);
    std::optional<RequestOutcome> outcome = step.end;
    for (const plan::Transfer& transfer : example.arrivals(*deployed)) {
      example.arrive(requests, step.begin->id, transfer);
      if (outcome) {
        EXPECT_FALSE(requests.knows(step.begin->id));
      } else if (requests.has_step(request)) {
        outcome = requests.step(request).end;
      }
    }
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->status.ok());
    EXPECT_FALSE(outcome->replayed);
    plan::expect_near(outcome->outputs, example.answer());
  }
}

// A worker that comes back has the plan again, but not the pieces it missed: an attempt that began
// without it cannot count on it when another is lost.
TEST(Requests, DoNotCountOnWhoCameBackTooLate) {
  Case example(1);
  plan::Plan plan;
  const Graph graph = example.deployed(9, {0})->scheduled.graph();
  const plan::NodeRange all{0, graph.nodes().size()};
  plan.segments = {{all, "twice", {}}};
  for (int worker : {0, 1}) {
    plan.segments[0].tasks.push_back({worker, plan::whole_pieces(graph, all)});
  }
  plan.survives = 1;
  auto scheduled = plan::ScheduledPlan::make(graph, plan);
  ASSERT_TRUE(scheduled.ok());
  Requests requests;
  requests.add(std::make_shared<const DeployedPlan>(DeployedPlan{1, *std::move(scheduled)}));
  requests.offer(kService, {1});
  requests.lose(0, kGone);
  EXPECT_EQ(requests.missing(1), std::vector<int>{0});
  EXPECT_EQ(requests.having(1), std::vector<int>{1});
  const uint64_t request = requests.submit(kService, example.inputs(), kDeadline);
  const RequestStep first = requests.step(request);
  ASSERT_TRUE(first.begin);
  requests.restore(1, 0);
  EXPECT_TRUE(requests.is_whole(1));
  EXPECT_FALSE(requests.has_step(request));
  requests.lose(1, kGone);
  ASSERT_TRUE(requests.has_step(request));
  const RequestStep second = requests.step(request);
  ASSERT_TRUE(second.begin) << "it is replayed by who came back";
  EXPECT_NE(second.begin->id, first.begin->id);
}

// Workers that receive from a worker notice its silence before the coordinator does.
TEST(Requests, AvoidWhoIsGoneFromAnotherPlan) {
  int cases = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Case example(seed);
    Requests requests;
    const DeployedPlanPtr all = example.deployed(1, {0, 1, 2});
    const DeployedPlanPtr with = example.deployed(2, {1, 2}), without = example.deployed(3, {0, 1});
    for (const DeployedPlanPtr& deployed : {all, with, without}) requests.add(deployed);
    requests.offer(kService, {1, 2, 3});
    const auto uses = [](const DeployedPlanPtr& deployed) {
      return std::ranges::count(plan::workers_of(deployed->scheduled.plan()), 2) > 0;
    };
    if (!uses(all) || !uses(with)) continue;
    ++cases;
    requests.cut_off(1, 2, 0, kGone);
    const uint64_t request = requests.submit(kService, example.inputs(), kDeadline);
    const RequestStep step = requests.step(request);
    ASSERT_TRUE(step.begin);
    EXPECT_EQ(step.begin->deployed->id, 3u);
  }
  EXPECT_GT(cases, 5);
}

// A connection between two workers broke, and both say that they do not hear the other any more:
// without one of them, nothing is missing.
TEST(Requests, DoWithoutOneOfTwoWhoLostEachOther) {
  Case example(1);
  Requests requests;
  requests.add(example.deployed(1, {0, 1, 2}));
  requests.offer(kService, {1});
  const size_t all = requests.having(1).size();
  requests.cut_off(1, 1, 2, kGone);
  requests.cut_off(1, 2, 1, kGone);
  EXPECT_EQ(requests.missing(1), std::vector<int>{1});
  EXPECT_EQ(requests.having(1).size(), all - 1);
  requests.cut_off(1, 2, 0, kGone);
  EXPECT_EQ(requests.missing(1), (std::vector<int>{1, 2})) << "others count";
}

// A member must not make others lose their plans.
TEST(Requests, IgnoreBlameOfOrByWorkersOutsideThePlan) {
  Case network(3);
  Requests requests;
  const DeployedPlanPtr deployed = network.deployed(1, {0, 1});
  const std::vector<int> workers = plan::workers_of(deployed->scheduled.plan());
  requests.add(deployed);
  requests.offer(kService, {1});
  const uint64_t attempt =
      requests.step(requests.submit(kService, network.inputs(), kDeadline)).begin->id;
  for (int worker : workers) {
    requests.cut_off(1, worker, 2, kGone);
    requests.fail(2, attempt, kGone, worker);
  }
  requests.cut_off(1, 2, workers[0], kGone);
  requests.fail(2, attempt, kGone);
  requests.fail(2, attempt, Status(Code::kInternal, "broken"));
  EXPECT_EQ(requests.having(1), workers);
  EXPECT_TRUE(requests.knows(attempt));
}

// A loss before, in the middle of, or after the answer: it is replayed by the remaining workers, if
// it needed the lost one.
TEST(Requests, AreReplayedByWhoIsLeft) {
  int replays = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Case example(seed);
    Requests requests;
    const DeployedPlanPtr all = example.deployed(1, {0, 1, 2}), rest = example.deployed(2, {0, 2});
    for (const DeployedPlanPtr& deployed : {all, rest}) requests.add(deployed);
    requests.offer(kService, {1, 2});
    const uint64_t request = requests.submit(kService, example.inputs(), kDeadline);
    RequestStep step = requests.step(request);
    ASSERT_TRUE(step.begin);
    const uint64_t first = step.begin->id;
    const auto arrivals = example.arrivals(*all);
    const auto before = plan::draw(example.rng(), 0, std::ssize(arrivals));
    for (int64_t i = 0; i < before; ++i) {
      example.arrive(requests, first, arrivals[static_cast<size_t>(i)]);
    }
    requests.lose(1, kGone);
    if (!step.end && requests.has_step(request)) step = requests.step(request);
    if (!step.end && step.begin->id != first) {
      ++replays;
      EXPECT_EQ(step.begin->deployed, rest);
      EXPECT_EQ(step.abandon->id, first);
      for (const plan::Transfer& late : arrivals) example.arrive(requests, first, late);
      EXPECT_FALSE(requests.has_step(request)) << "what the first attempt sends is not mixed in";
      for (const auto& transfer : example.arrivals(*rest)) {
        example.arrive(requests, step.begin->id, transfer);
      }
      step = requests.step(request);
      EXPECT_TRUE(step.end->replayed);
    }
    if (!step.end) {  // it does not need the worker that is gone
      for (const plan::Transfer& transfer : arrivals) example.arrive(requests, first, transfer);
      step = requests.step(request);
    }
    ASSERT_TRUE(step.end);
    EXPECT_TRUE(step.end->status.ok()) << step.end->status.message();
    plan::expect_near(step.end->outputs, example.answer());
  }
  EXPECT_GT(replays, 20);
}

// A request that ends its workers must not end all of them.
TEST(Requests, AreReplayedAFewTimesOnly) {
  Case example(3);
  Requests requests;
  std::vector<uint64_t> plans;
  for (int worker = 0; worker < Requests::kMostReplays + 2; ++worker) {
    plans.push_back(static_cast<uint64_t>(worker) + 1);
    requests.add(example.deployed(plans.back(), {worker}));
  }
  requests.offer(kService, plans);
  const uint64_t request = requests.submit(kService, example.inputs(), kDeadline);
  for (int worker = 0; worker <= Requests::kMostReplays; ++worker) {
    EXPECT_EQ(requests.step(request).begin->deployed->id, plans[static_cast<size_t>(worker)]);
    requests.lose(worker, kGone);
  }
  const RequestStep last = requests.step(request);
  EXPECT_FALSE(last.begin);
  ASSERT_TRUE(last.end);
  EXPECT_EQ(last.end->status.code(), Code::kUnavailable);
  EXPECT_EQ(last.end->status.message(), kGone.message());
}

// Another worker hears nothing of it, and then the coordinator does not either: that is one loss,
// whatever the number of replays.
TEST(Requests, AreReplayedAgainWhereASuspectIsLost) {
  Case example(3);
  DeployedPlanPtr both;
  do {
    both = example.deployed(1, {0, 1});
  } while (plan::workers_of(both->scheduled.plan()).size() < 2);
  Requests requests;
  requests.add(both);
  requests.add(example.deployed(2, {1}));
  std::vector<uint64_t> later;
  for (int worker = 2; worker < Requests::kMostReplays + 2; ++worker) {
    later.push_back(static_cast<uint64_t>(worker) + 1);
    requests.add(example.deployed(later.back(), {worker}));
  }
  requests.offer(kService, {1, 2}, true);
  const uint64_t request = requests.submit(kService, example.inputs(), kDeadline);
  requests.fail(0, requests.step(request).begin->id, kGone, 1);
  EXPECT_EQ(requests.step(request).begin->deployed->id, 2u) << "all plans use the suspect";
  requests.lose(1, kGone);
  ASSERT_FALSE(requests.step(request).end);
  requests.offer(kService, later, true);
  for (uint64_t id : later) {
    EXPECT_EQ(requests.step(request).begin->deployed->id, id);
    requests.lose(static_cast<int>(id) - 1, kGone);
  }
  EXPECT_TRUE(requests.step(request).end) << "as many losses again as there are replays";
}

TEST(Requests, FailAtOnceWhereNobodyMakesANewPlan) {
  Case example(3);
  Requests requests;
  requests.add(example.deployed(1, {0}));
  requests.offer(kService, {1});
  requests.lose(0, kGone);
  const RequestStep step = requests.step(requests.submit(kService, example.inputs(), kDeadline));
  ASSERT_TRUE(step.end);
  EXPECT_EQ(step.end->status.message(), kGone.message());
}

TEST(Requests, WaitForTheNextPlanWhereSomebodyMakesOne) {
  Case example(3);
  Requests requests;
  requests.add(example.deployed(1, {0}));
  requests.add(example.deployed(2, {1}));
  requests.offer(kService, {1}, true);
  requests.lose(0, kGone);
  const uint64_t patient = requests.submit(kService, example.inputs(), kDeadline);
  const uint64_t hasty = requests.submit(kService, example.inputs(), kNow);
  EXPECT_FALSE(requests.has_step(patient));
  requests.expire(kNow);
  EXPECT_TRUE(requests.step(hasty).end);
  requests.offer(kService, {2}, true);
  EXPECT_EQ(requests.step(patient).begin->deployed->id, 2u);
}

// A failover deployment that has given up offers the rest of its plans: that is no hope.
TEST(Requests, FailAtOnceAfterSomebodyHasGivenUp) {
  Case example(3);
  Requests requests;
  requests.add(example.deployed(1, {0}));
  requests.add(example.deployed(2, {0}));
  requests.offer(kService, {1, 2}, true);
  requests.lose(0, kGone);
  requests.give_up(kService, Status(Code::kExhausted, "no plan"));
  requests.offer(kService, {1}, true);
  const RequestStep step = requests.step(requests.submit(kService, example.inputs(), kDeadline));
  ASSERT_TRUE(step.end);
  EXPECT_EQ(step.end->status.code(), Code::kExhausted);
  requests.add(example.deployed(3, {1}));
  requests.offer(kService, {3}, true);
  EXPECT_TRUE(requests.step(requests.submit(kService, example.inputs(), kDeadline)).begin);
}

TEST(Requests, AreNotTriedAgainWhereAWorkerCannotDoThem) {
  Case example(3);
  Requests requests;
  for (uint64_t id : {1u, 2u}) requests.add(example.deployed(id, {static_cast<int>(id)}));
  requests.offer(kService, {1, 2});
  const uint64_t request = requests.submit(kService, example.inputs(), kDeadline);
  const uint64_t attempt = requests.step(request).begin->id;
  requests.fail(1, attempt, Status(Code::kInternal, "broken"));
  const RequestStep step = requests.step(request);
  ASSERT_TRUE(step.end);
  EXPECT_EQ(step.end->status.code(), Code::kInternal);
  EXPECT_TRUE(requests.usable(kService).ok()) << "the next one may be another";
}

// The unreachable worker is avoided, not the one that reports it.
TEST(Requests, AvoidWhomAWorkerCannotReach) {
  Case example(3);
  Requests requests;
  const DeployedPlanPtr all = example.deployed(1, {0, 1, 2});
  const int unreached = plan::workers_of(all->scheduled.plan()).back();
  requests.add(all);
  requests.add(example.deployed(2, {unreached}));
  requests.add(example.deployed(3, {unreached == 0 ? 1 : 0}));
  requests.offer(kService, {1, 2, 3});
  const uint64_t request = requests.submit(kService, example.inputs(), kDeadline);
  requests.fail(0, requests.step(request).begin->id, kGone, unreached);
  EXPECT_EQ(requests.step(request).begin->deployed->id, 3u);
  const auto next = [&] {
    const uint64_t another = requests.submit(kService, example.inputs(), kDeadline);
    return requests.step(another).begin->deployed->id;
  };
  EXPECT_EQ(next(), 3u) << "others will perhaps not reach it either";
  requests.restore(1, unreached);
  EXPECT_EQ(next(), 1u);
}

TEST(Requests, NameThoseWhoAreLate) {
  Case example(3);
  Requests requests;
  requests.add(example.deployed(1, {2}));
  requests.offer(kService, {1});
  const uint64_t request = requests.submit(kService, example.inputs(), kDeadline);
  const uint64_t attempt = requests.step(request).begin->id;
  requests.expire(kDeadline - std::chrono::nanoseconds(1));
  EXPECT_FALSE(requests.has_step(request));
  requests.expire(kDeadline);
  const RequestStep step = requests.step(request);
  EXPECT_EQ(step.end->status.code(), Code::kDeadline);
  EXPECT_EQ(step.end->awaited, std::vector<int>{2});
  EXPECT_EQ(step.abandon->id, attempt);
}

TEST(Requests, RefuseWhatThePlanDoesNotKnow) {
  Case example(3);
  Requests requests;
  const DeployedPlanPtr deployed = example.deployed(1, {2});
  requests.add(deployed);
  requests.offer(kService, {1});
  const uint64_t request = requests.submit(kService, example.inputs(), kDeadline);
  const uint64_t attempt = requests.step(request).begin->id;
  const plan::Transfer transfer = example.arrivals(*deployed).front();
  EXPECT_FALSE(requests.expect(1, attempt, transfer.piece).ok()) << "from another worker";
  EXPECT_FALSE(requests.expect(2, attempt, {transfer.piece.value, {}}).ok());
  EXPECT_FALSE(requests.expect(2, attempt + 1, transfer.piece)->has_value());
}

TEST(Requests, LeaveAPlanThatIsWithdrawn) {
  Case example(3);
  Requests requests;
  for (uint64_t id : {1u, 2u}) requests.add(example.deployed(id, {0}));
  requests.offer(kService, {1, 2});
  const uint64_t request = requests.submit(kService, example.inputs(), kDeadline);
  EXPECT_EQ(requests.step(request).begin->deployed->id, 1u);
  EXPECT_TRUE(requests.in_use(1));
  requests.remove(1);
  EXPECT_EQ(requests.step(request).begin->deployed->id, 2u);
  EXPECT_FALSE(requests.in_use(1));
}

TEST(Requests, EndWithACodeOfTheirOwnWhenTheyAreCancelled) {
  Case example(4);
  const DeployedPlanPtr deployed = example.deployed(1, {0, 1});
  Requests requests;
  requests.add(deployed);
  requests.offer(kService, {1});
  const uint64_t request = requests.submit(kService, example.inputs(), kDeadline);
  const RequestStep first = requests.step(request);
  ASSERT_TRUE(first.begin);
  requests.cancel(request);
  const RequestStep last = requests.step(request);
  ASSERT_TRUE(last.end);
  EXPECT_EQ(last.end->status.code(), Code::kCancelled);
  ASSERT_TRUE(last.abandon) << "its workers may forget it";
  EXPECT_EQ(last.abandon->id, first.begin->id);
  EXPECT_FALSE(requests.knows(first.begin->id));
  requests.cancel(request);  // it is over: nothing happens
  requests.cancel(12345);
}

TEST(Requests, SendNothingWhenTheyAreCancelledBeforeTheyBegin) {
  Case example(4);
  Requests requests;
  requests.add(example.deployed(1, {0, 1}));
  requests.offer(kService, {1});
  const uint64_t request = requests.submit(kService, example.inputs(), kDeadline);
  requests.cancel(request);
  const RequestStep step = requests.step(request);
  EXPECT_FALSE(step.begin);
  EXPECT_FALSE(step.abandon);
  ASSERT_TRUE(step.end);
  EXPECT_EQ(step.end->status.code(), Code::kCancelled);
}

}  // namespace
}  // namespace shoal::cluster
