// What a worker may not do to a coordinator, whatever it says.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <future>
#include <thread>

#include "here.h"
#include "messages.pb.h"
#include "random_plan.h"
#include "shoal/cluster/coordinator/runtime/measurement.h"
#include "shoal/cluster/messages/message_io.h"
#include "visitor.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;

// A worker that says what a script tells it to. Greets properly.
class Scripted {
 public:
  using Script = std::function<void(net::Channel& channel, const message::Message& heard)>;

  Scripted(net::LoopbackNetwork& network, const std::string& name, Script script)
      : transport_(network.transport(name, unhurried(), net::Role::kWorker)),
        listener_(*transport_->listen(name)),
        script_(std::move(script)),
        thread_([this] { serve(); }) {}
  // REQUIRES: the coordinator has gone, or leave() was called.
  ~Scripted() {
    listener_->close();
    thread_.join();
  }

  // REQUIRES: the coordinator has connected.
  void leave() { channel_->close(); }

 private:
  void serve() {
    auto accepted = listener_->accept(net::Deadline::max());
    if (!accepted.ok()) return;
    channel_ = *std::move(accepted);
    for (;;) {
      const auto frame = channel_->receive(net::Deadline::max());
      message::Message heard, welcome;
      if (!frame.ok() || !parse(*frame, heard).ok()) return;
      welcome.mutable_welcome()->set_version(kProtocolVersion);
      if (heard.has_hello()) {
        EXPECT_TRUE(send(*channel_, welcome).ok());
      } else {
        script_(*channel_, heard);
      }
    }
  }

  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<net::Listener> listener_;
  const Script script_;
  std::shared_ptr<net::Channel> channel_;
  std::thread thread_;
};

void say(net::Channel& channel, const message::Message& message) {
  static_cast<void>(send(channel, message));  // the coordinator may have gone
}
void say_stored(net::Channel& channel, const message::Blob& blob) {
  message::Message message;
  message.mutable_stored()->set_hash(blob.hash());
  message.mutable_stored()->set_bytes(blob.total());  // one chunk is all of it
  EXPECT_TRUE(send(channel, message).ok());
}

void say_missing(net::Channel& channel, uint64_t plan, const std::vector<Hash>& hashes = {}) {
  message::Message message;
  message.mutable_missing()->set_plan(plan);
  for (const Hash& hash : hashes) {
    message.mutable_missing()->add_hashes(hash);
    message.mutable_missing()->add_have(0);
  }
  say(channel, message);
}
void say_ready(net::Channel& channel, uint64_t plan) {
  message::Message message;
  message.mutable_ready()->set_plan(plan);
  say(channel, message);
}
void say_failed(net::Channel& channel, uint64_t plan, uint64_t request = 0) {
  message::Message message;
  message.mutable_failed()->set_plan(plan);
  message.mutable_failed()->set_request(request);
  message.mutable_failed()->set_code(static_cast<uint32_t>(Code::kInternal));
  say(channel, message);
}

// A layer with a weight that travels apart.
Graph layer() {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, 512}});
  const ValueId w = graph.add_constant("w", Tensor({DType::kF32, {1, 512}}));
  graph.mark_output(*graph.add(ops::add, {x, w}));
  return graph;
}

plan::Plan all_on(const Graph& graph, int worker) {
  const plan::NodeRange all{0, graph.nodes().size()};
  plan::Plan plan;
  plan.segments.push_back({all, "", {{worker, plan::whole_pieces(graph, all)}}});
  return plan;
}

class HostileWorkers : public testing::Test {
 protected:
  std::unique_ptr<Coordinator> connect(const std::vector<std::string>& names) {
    std::vector<ListedWorker> workers;
    for (const std::string& name : names) workers.push_back({name, name});
    auto connected = Coordinator::connect(workers, *transport_);
    EXPECT_TRUE(connected.ok()) << connected.status().message();
    return *std::move(connected);
  }

  net::LoopbackNetwork network_;
  std::unique_ptr<net::Transport> transport_ = network_.transport("coordinator", unhurried());
};

TEST_F(HostileWorkers, AreNotBelievedWhatNobodyAskedThem) {
  std::atomic<int> blobs = 0;
  const Graph graph = layer();
  const Hash hash = hash_of(graph[ValueId{1}].constant->bytes());
  const Scripted worker(network_, "liar", [&](net::Channel& channel, const auto& heard) {
    if (heard.has_deploy()) {
      const uint64_t plan = heard.deploy().plan();
      // Late replies of exchanges that were given up.
      say_ready(channel, plan);
      say_ready(channel, plan - 1);
      say_missing(channel, plan - 1, {Hash(kHashBytes, 'x')});
      say_failed(channel, plan - 1);
      say_failed(channel, plan, 12);
      say_missing(channel, plan, {hash});
    } else if (heard.has_start()) {
      say_missing(channel, heard.start().plan() - 1, {Hash(kHashBytes, 'x')});
      say_failed(channel, heard.start().plan() - 1);
      say_ready(channel, heard.start().plan());
    } else if (heard.has_blob()) {
      ++blobs;
      say_stored(channel, heard.blob());
    }
  });
  const auto coordinator = connect({"liar"});
  const auto deployed = coordinator->deploy(graph, all_on(graph, 0));
  EXPECT_TRUE(deployed.ok()) << deployed.status().message();
  EXPECT_EQ(blobs, 1) << "what it misses, and nothing that it missed another time";
}

TEST_F(HostileWorkers, GetAWeightOnceHoweverOftenTheyMissIt) {
  std::atomic<int> blobs = 0;
  const Graph graph = layer();
  const Hash hash = hash_of(graph[ValueId{1}].constant->bytes());
  const Scripted worker(network_, "greedy", [&](net::Channel& channel, const auto& heard) {
    if (heard.has_deploy()) {
      say_missing(channel, heard.deploy().plan(), std::vector<Hash>(1000, hash));
    } else if (heard.has_start()) {
      say_ready(channel, heard.start().plan());
    } else if (heard.has_blob()) {
      ++blobs;
      say_stored(channel, heard.blob());
    }
  });
  const auto coordinator = connect({"greedy"});
  EXPECT_TRUE(coordinator->deploy(graph, all_on(graph, 0)).ok());
  EXPECT_EQ(blobs, 1);
}

// Healing must go on while one worker swaps.
TEST_F(HostileWorkers, HoldUpDeploymentsToThemselvesOnly) {
  std::promise<void> asked;
  Scripted slow(network_, "slow", [&](net::Channel&, const auto& heard) {
    if (heard.has_deploy()) asked.set_value();
  });
  Scripted quick(network_, "quick", [](net::Channel& channel, const auto& heard) {
    if (heard.has_deploy()) say_missing(channel, heard.deploy().plan());
    if (heard.has_start()) say_ready(channel, heard.start().plan());
  });
  const auto coordinator = connect({"slow", "quick"});
  const Graph graph = layer();
  std::thread waits([&] { EXPECT_FALSE(coordinator->deploy(graph, all_on(graph, 0)).ok()); });
  asked.get_future().get();
  EXPECT_TRUE(coordinator->deploy(graph, all_on(graph, 1)).ok());
  slow.leave();
  waits.join();
}

TEST_F(HostileWorkers, AreLostWhenTheySendWhatNobodyWants) {
  // An unexpected payload, a message for workers, an invalid message.
  const std::vector<std::function<void(net::Channel&)>> scripts = {
      [](net::Channel& channel) {
        message::Message ready;
        ready.mutable_ready();
        const std::vector<std::byte> bytes(1 << 20);
        const net::Bytes payload(bytes);
        static_cast<void>(send(channel, ready, std::span(&payload, 1)));
      },
      [](net::Channel& channel) {
        message::Message start;
        start.mutable_start();
        say(channel, start);
      },
      [](net::Channel& channel) { say(channel, {}); },
  };
  for (const auto& script : scripts) {
    const Scripted worker(network_, "rude",
                          [&](net::Channel& channel, const auto&) { script(channel); });
    const auto coordinator = connect({"rude"});
    const Graph graph = layer();
    EXPECT_FALSE(coordinator->deploy(graph, all_on(graph, 0)).ok());
    EXPECT_EQ(coordinator->lost(), std::vector<int>{0});
  }
}

// Pieces of requests that are over are dropped unread, and are no reason to lose a worker.
TEST_F(HostileWorkers, MayBeLate) {
  const Scripted worker(network_, "late", [](net::Channel& channel, const auto& heard) {
    if (heard.has_deploy()) {
      const Tensor much({DType::kF32, {1 << 20}});
      static_cast<void>(
          send_piece(channel, heard.deploy().plan(), 99, {ValueId{2}, {{0}, {1 << 20}}}, much));
      say_missing(channel, heard.deploy().plan());
    }
    if (heard.has_start()) say_ready(channel, heard.start().plan());
  });
  const auto coordinator = connect({"late"});
  const Graph graph = layer();
  EXPECT_TRUE(coordinator->deploy(graph, all_on(graph, 0)).ok());
  EXPECT_TRUE(coordinator->lost().empty());
}

// The measurement of a request that failed is gone, and so may its plan be.
TEST_F(HostileWorkers, MayTellTheirTimesTooLate) {
  const Scripted worker(network_, "late", [](net::Channel& channel, const auto& heard) {
    message::Message traced;
    traced.mutable_traced()->set_request(1);
    traced.mutable_traced()->add_tasks();
    if (heard.has_deploy()) say_missing(channel, heard.deploy().plan());
    if (heard.has_start()) say_ready(channel, heard.start().plan());
    if (heard.has_forget() || heard.has_release()) say(channel, traced);
  });
  const auto coordinator = connect({"late"});
  const Graph graph = layer();
  for (int i = 0; i < 2; ++i) {
    auto deployed = coordinator->deploy(graph, all_on(graph, 0), /*traced=*/true);
    ASSERT_TRUE(deployed.ok()) << deployed.status().message();
    const std::vector<Tensor> inputs = {Tensor({DType::kF32, {1, 512}})};
    std::vector<Tensor> outputs(1);
    plan::Timeline times;
    EXPECT_EQ((*deployed)->run(inputs, outputs, 1ms, &times).code(), Code::kDeadline);
  }
  EXPECT_TRUE(coordinator->lost().empty());
}

TEST_F(HostileWorkers, CannotGuessTheNumbersOfPlans) {
  const Scripted worker(network_, "curious", [](net::Channel& channel, const auto& heard) {
    if (heard.has_deploy()) say_missing(channel, heard.deploy().plan());
    if (heard.has_start()) say_ready(channel, heard.start().plan());
  });
  const auto coordinator = connect({"curious"});
  const Graph graph = layer();
  const auto one = coordinator->deploy(graph, all_on(graph, 0));
  const auto two = coordinator->deploy(graph, all_on(graph, 0));
  ASSERT_TRUE(one.ok() && two.ok());
  const uint64_t apart = (*two)->id() - (*one)->id();
  EXPECT_TRUE(apart > 1000 && apart < -uint64_t{1000});
}

TEST(Measurement, TakesNoTimesOfWorkersOutsideThePlan) {
  const Graph graph = layer();
  Measurement measurement(*plan::ScheduledPlan::make(graph, all_on(graph, 0)), 2);
  EXPECT_EQ(measurement.add(1, {}, 0).code(), Code::kCorrupt);
  EXPECT_FALSE(measurement.complete());
  message::Traced traced;
  traced.add_tasks();
  EXPECT_TRUE(measurement.add(0, traced, 0).ok());
  EXPECT_TRUE(measurement.complete());
  EXPECT_EQ(measurement.add(0, traced, 0).code(), Code::kCorrupt);
}

}  // namespace
}  // namespace shoal::cluster
