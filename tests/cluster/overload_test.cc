// More requests than workers can answer, and workers that do not keep up, in this process.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <optional>
#include <thread>

#include "here.h"
#include "messages.pb.h"
#include "random_plan.h"
#include "shoal/base/threads/notification.h"
#include "shoal/cluster/coordinator/runtime/plan_encoder.h"
#include "shoal/cluster/messages/message_io.h"
#include "shoal/cluster/net/stream.h"
#include "stream_faults.h"
#include "unhurried.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Far less than the 30 s that a message may take, and far more than any machine needs.
constexpr auto kSoon = 15s;

Graph layer_of(int64_t side) {
  Graph graph;
  graph.mark_output(
      *graph.add(ops::relu, {graph.add_input("x", {DType::kF32, {1, 4, side, side}})}));
  return graph;
}

// Each of these workers computes all of it.
plan::Plan on_each(const Graph& graph, const std::vector<int>& workers) {
  const plan::NodeRange all{0, graph.nodes().size()};
  plan::Plan plan;
  plan.segments = {{all, "", {}}};
  for (int worker : workers) {
    plan.segments[0].tasks.push_back({worker, plan::whole_pieces(graph, all)});
  }
  plan.survives = static_cast<int>(workers.size()) - 1;
  return plan;
}

class Model {
 public:
  Model(Coordinator& coordinator, const std::vector<int>& workers, int64_t side = 8)
      : graph_(layer_of(side)) {
    plan::Rng rng(1);
    inputs_ = {plan::random_tensor(rng, {1, 4, side, side})};
    want_ = run_whole(graph_, inputs_);
    auto deployed = coordinator.deploy(graph_, on_each(graph_, workers));
    EXPECT_TRUE(deployed.ok()) << deployed.status().message();
    remote_ = *std::move(deployed);
  }

  Status run(const RequestOptions& options) const {
    std::vector<Tensor> outputs(1);
    const Status status = remote_->run(inputs_, outputs, options);
    if (status.ok()) plan::expect_near(outputs, want_);
    return status;
  }

 private:
  Graph graph_;
  std::vector<Tensor> inputs_, want_;
  std::unique_ptr<RemotePlan> remote_;
};

// A worker that holds when it is about to compute, until it is released.
class Held {
 public:
  WorkerOptions options() {
    return {.reached = [this](FaultPoint point) {
      if (point == FaultPoint::kComputing) go_on_.wait();
    }};
  }
  void release() { go_on_.notify(); }

 private:
  Notification go_on_;
};

// While the worker holds, requests beyond the window are refused, and do not wait for it; all are
// answered in the end.
TEST(Overload, OfTwoHundredCallersIsRefusedAtOnceAndAnsweredLater) {
  constexpr int kCallers = 200;
  Held held;
  Cluster cluster(1);
  cluster.start(0, held.options());
  auto coordinator = cluster.connect({});
  ASSERT_TRUE(coordinator.ok());
  {
    const Model model(**coordinator, {0});
    std::atomic<int> refused = 0, answered = 0;
    std::vector<std::thread> callers;
    for (int caller = 0; caller < kCallers; ++caller) {
      callers.emplace_back([&, caller] {
        bool was_refused = false;
        for (;;) {
          std::chrono::milliseconds retry_after{0};
          const Status status = model.run({.timeout = 60s,
                                           .client = static_cast<uint64_t>(caller),
                                           .retry_after = &retry_after});
          if (status.ok()) break;
          ASSERT_EQ(status.code(), Code::kExhausted) << status.message();
          ASSERT_GT(retry_after, 0ms);
          if (!std::exchange(was_refused, true)) ++refused;
          std::this_thread::sleep_for(retry_after);
        }
        ++answered;
      });
    }
    const int room = static_cast<int>(Requests::kMostWaiting) + 48;  // the largest window
    EXPECT_TRUE(eventually([&] { return refused >= kCallers - room; }));
    EXPECT_EQ(answered, 0);
    held.release();
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(answered, kCallers);
    EXPECT_EQ((*coordinator)->tally().failed, 0u);
    EXPECT_GE((*coordinator)->tally().refused, static_cast<uint64_t>(refused.load()));
  }
}

// The old plan always has something to compute; the new one does not wait for it.
TEST(Overload, OfOnePlanLeavesOthersTheirTurn) {
  constexpr int kCallers = 40, kWindow = 4;
  std::atomic<int> computing = 0, arrived = 0;
  std::atomic<bool> is_answered = false;
  Notification go_on;
  const WorkerOptions options{.reached = [&](FaultPoint point) {
    if (point == FaultPoint::kInputArrives) ++arrived;
    if (point != FaultPoint::kComputing) return;
    const int count = ++computing;
    if (count == 1) go_on.wait();
    if (count != 3) return;
    EXPECT_TRUE(eventually([&] { return is_answered.load(); }));
  }};
  Cluster cluster(1);
  cluster.start(0, options);
  auto coordinator = cluster.connect({});
  ASSERT_TRUE(coordinator.ok());
  {
    const Model busy(**coordinator, {0}), other(**coordinator, {0});
    std::vector<std::thread> callers;
    const auto call_busy = [&] { EXPECT_TRUE(busy.run({.timeout = 60s}).ok()); };
    callers.emplace_back(call_busy);
    EXPECT_TRUE(eventually([&] { return computing == 1; }));
    callers.emplace_back([&] {
      EXPECT_TRUE(other.run({.timeout = 60s}).ok());
      is_answered = true;
    });
    EXPECT_TRUE(eventually([&] { return arrived == 2; }));
    for (int i = 1; i < kCallers; ++i) callers.emplace_back(call_busy);
    EXPECT_TRUE(eventually([&] { return arrived == kWindow + 1; }));
    go_on.notify();
    for (std::thread& caller : callers) caller.join();
  }
}

// Pings go out, but what comes in stays where it is.
class NeverReads final : public net::Decorator {
 public:
  class Deaf final : public net::Stream {
   public:
    Deaf(std::unique_ptr<net::Stream> inner, const std::atomic<bool>& is_deaf)
        : inner_(std::move(inner)), is_deaf_(is_deaf) {}
    Result<size_t> read(std::span<std::byte> into, net::Deadline deadline) override {
      // In steps, so that it falls deaf while it waits.
      for (;;) {
        if (is_deaf_) {
          if (!shut_.wait_until(deadline)) return Status(Code::kDeadline, "deaf");
          return Status(Code::kUnavailable, "closed");
        }
        auto n = inner_->read(into, std::min(deadline, net::after(1ms)));
        if (n.ok() || n.status().code() != Code::kDeadline || Clock::now() >= deadline) return n;
      }
    }
    Status write(std::span<const net::Bytes> pieces, net::Deadline deadline) override {
      return inner_->write(pieces, deadline);
    }
    Status flush(net::Deadline deadline) override { return inner_->flush(deadline); }
    bool has_input() override { return true; }  // it does not miss the peer
    void shut_down() override {
      shut_.notify();
      inner_->shut_down();
    }

   private:
    const std::unique_ptr<net::Stream> inner_;
    const std::atomic<bool>& is_deaf_;
    Notification shut_;
  };

  std::unique_ptr<net::Stream> wrap(std::unique_ptr<net::Stream> stream,
                                    const net::Peer&) const override {
    return std::make_unique<Deaf>(std::move(stream), is_deaf_);
  }
  void fall_deaf() { is_deaf_ = true; }

 private:
  std::atomic<bool> is_deaf_ = false;
};

constexpr int64_t kLarge = 512;  // four megabytes: more than a connection holds

TEST(Overload, OfAWorkerThatNeverReadsEndsAtTheDeadline) {
  const auto deaf = std::make_shared<NeverReads>();
  Cluster cluster(2, deaf);
  const Model model(cluster.coordinator(), {1}, kLarge);
  EXPECT_TRUE(model.run({.timeout = 20s}).ok());
  deaf->fall_deaf();
  std::vector<std::thread> callers;
  const auto begin = Clock::now();
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      const Status status = model.run({.timeout = 300ms});
      EXPECT_TRUE(status.code() == Code::kDeadline || status.code() == Code::kExhausted)
          << status.message();
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_LT(Clock::now() - begin, kSoon);
  EXPECT_TRUE(cluster.coordinator().lost().empty()) << "it pings";
}

TEST(Overload, OfAWorkerThatNeverReadsDoesNotHoldUpTheEndOfAPlan) {
  const auto deaf = std::make_shared<NeverReads>();
  Cluster cluster(2, deaf);
  std::optional<Model> model(std::in_place, cluster.coordinator(), std::vector<int>{1}, kLarge);
  deaf->fall_deaf();
  EXPECT_FALSE(model->run({.timeout = 300ms}).ok());  // nothing more can be sent to it
  const auto begin = Clock::now();
  model.reset();
  EXPECT_LT(Clock::now() - begin, kSoon);
}

// The other worker's answers come at once, and what waits for the deaf one does not pile up.
TEST(Overload, OfAWorkerThatNeverReadsDoesNotStopASurvivingPlan) {
  const auto deaf = std::make_shared<NeverReads>();
  Cluster cluster(2, deaf);
  const Model model(cluster.coordinator(), {0, 1}, kLarge);
  deaf->fall_deaf();
  const auto begin = Clock::now();
  for (int i = 0; i < 40; ++i) {
    const Status status = model.run({.timeout = 20s});
    ASSERT_TRUE(status.ok()) << status.message();
  }
  EXPECT_LT(Clock::now() - begin, kSoon + 15s);
}

// A worker whose messages come a moment before the timeout: sometimes one wins, sometimes the
// other, and every request ends.
TEST(Overload, OfAWorkerThatAnswersAtTheLastMomentEnds) {
  const auto slow = std::make_shared<net::StreamFaultInjector>(
      net::Faults{.delay = 1, .delay_time = std::chrono::milliseconds(99)});
  Cluster cluster(2, slow);
  const Model model(cluster.coordinator(), {1});
  std::vector<std::thread> callers;
  const auto begin = Clock::now();
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int k = 0; k < 5; ++k) {
        const Code code = model.run({.timeout = 100ms}).code();
        // Heartbeats are as late as answers: on a busy machine the worker is lost.
        EXPECT_TRUE(code == Code::kOk || code == Code::kDeadline || code == Code::kExhausted ||
                    code == Code::kUnavailable);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_LT(Clock::now() - begin, kSoon);
}

// Says to a worker what no coordinator would: of each request a half, so that none can end.
TEST(Overload, OfAWorkerIsRefusedWithPlanAndRequest) {
  constexpr uint64_t kPlan = 5, kMost = 64;
  Cluster cluster(1);
  const auto own = cluster.network().transport("coordinator 2", unhurried());
  const auto channel = *own->connect(address_of(0), net::after(20s));
  const auto next = [&] {
    for (;;) {
      message::Message message;
      const auto frame = channel->receive(net::after(20s));
      EXPECT_TRUE(frame.ok() && parse(*frame, message).ok());
      if (!message.has_working()) return message;  // a busy machine compiles for seconds
    }
  };
  const Graph graph = layer_of(8);
  PlanEncoder encoder(*plan::ScheduledPlan::make(graph, on_each(graph, {0})));
  message::Assignment assignment;
  ASSERT_TRUE(encoder.encode_for(0, {{address_of(0), address_of(0)}}, assignment).ok());
  message::Message deploy, start;
  deploy.mutable_deploy()->set_plan(kPlan);
  start.mutable_start()->set_plan(kPlan);
  const std::string text = assignment.SerializeAsString();
  const net::Bytes bytes = bytes_of(text);
  ASSERT_TRUE(send(*channel, deploy, std::span(&bytes, 1)).ok());
  ASSERT_TRUE(next().has_missing());
  ASSERT_TRUE(send(*channel, start).ok());
  ASSERT_TRUE(next().has_ready());
  const plan::Piece half{graph.inputs()[0], {{0, 0, 0, 0}, {1, 2, 8, 8}}};
  const Tensor elements({DType::kF32, {1, 2, 8, 8}});
  for (uint64_t request = 1; request <= kMost + 1; ++request) {
    ASSERT_TRUE(send_piece(*channel, kPlan, request, half, elements, net::after(1h)).ok());
  }
  const message::Message refused = next();
  ASSERT_TRUE(refused.has_failed());
  EXPECT_EQ(refused.failed().plan(), kPlan);
  EXPECT_EQ(refused.failed().request(), kMost + 1);
  EXPECT_EQ(refused.failed().code(), static_cast<uint32_t>(Code::kExhausted));
}

}  // namespace
}  // namespace shoal::cluster
