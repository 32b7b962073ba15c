// Two workers that send to each other over one channel.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "here.h"
#include "random_plan.h"
#include "shoal/base/threads/notification.h"
#include "shoal/cluster/members/folder.h"
#include "shoal/cluster/net/peers_testing.h"
#include "shoal/cluster/net/stream.h"
#include "shoal/cluster/net/tls/membership.h"
#include "shoal/cluster/net/tls/tls.h"
#include "shoal/plan/layout.h"
#include "visitor.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;

// Knows the channels of a machine by the peer's name.
class ChannelCount final : public net::Decorator {
 public:
  std::unique_ptr<net::Stream> wrap(std::unique_ptr<net::Stream> stream,
                                    const net::Peer& peer) const override;
  int with(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return made_[name];
  }
  // Whether the machine reads one of them, by which it also sends from then on.
  bool reads(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return read_.contains(name);
  }

 private:
  class Counted;
  mutable std::mutex mutex_;
  mutable std::map<std::string, int> made_;
  mutable std::set<std::string> read_;
};

class ChannelCount::Counted final : public net::Stream {
 public:
  Counted(std::unique_ptr<net::Stream> inner, std::string name, const ChannelCount& count)
      : inner_(std::move(inner)), name_(std::move(name)), count_(count) {}

  Result<size_t> read(std::span<std::byte> into, net::Deadline deadline) override {
    {
      const std::lock_guard lock(count_.mutex_);
      count_.read_.insert(name_);
    }
    return inner_->read(into, deadline);
  }
  Status write(std::span<const net::Bytes> pieces, net::Deadline deadline) override {
    return inner_->write(pieces, deadline);
  }
  Status flush(net::Deadline deadline) override { return inner_->flush(deadline); }
  bool has_input() override { return inner_->has_input(); }
  void shut_down() override { inner_->shut_down(); }

 private:
  const std::unique_ptr<net::Stream> inner_;
  const std::string name_;
  const ChannelCount& count_;
};

std::unique_ptr<net::Stream> ChannelCount::wrap(std::unique_ptr<net::Stream> stream,
                                                const net::Peer& peer) const {
  const std::lock_guard lock(mutex_);
  ++made_[peer.name];
  return std::make_unique<Counted>(std::move(stream), peer.name, *this);
}

// Two convolutions, split by channels: each worker sends its share of the first to all others.
TEST(Pair, OfWorkersHasOneChannel) {
  constexpr int kWorkers = 3;
  plan::Rng rng(5);
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, 4, 12, 12}});
  for (int64_t in : {4, 12}) {
    const ValueId w = graph.add_constant("w", plan::random_tensor(rng, {12, in, 3, 3}));
    x = *graph.add(ops::conv, {x, w});
  }
  graph.mark_output(x);
  const plan::Layout layout{plan::Cut::kChannels, {0, 1, 2}, {1, 1, 1}, 1};
  plan::Plan plan;
  for (const plan::NodeRange nodes : {plan::NodeRange{0, 1}, {1, 2}}) {
    plan.segments.push_back({nodes, layout.describe(), *plan::tasks_of(graph, nodes, layout)});
  }
  const auto count = std::make_shared<ChannelCount>();
  Cluster cluster(kWorkers, count);
  std::vector<std::unique_ptr<RemotePlan>> held;
  for (int deployed = 0; deployed < 2; ++deployed) {
    auto remote = cluster.coordinator().deploy(graph, plan);
    ASSERT_TRUE(remote.ok()) << remote.status().message();
    held.push_back(*std::move(remote));
    // The others connect to this one when the plan starts. It would, too, if it had to send before.
    for (int other : {0, 1}) {
      ASSERT_TRUE(eventually([&] { return count->reads(address_of(other)); }));
    }
    for (int request = 0; request < 5; ++request) {
      const std::vector<Tensor> inputs = {plan::random_tensor(rng, {1, 4, 12, 12})};
      std::vector<Tensor> outputs(1);
      const Status status = held.back()->run(inputs, outputs, 20s);
      ASSERT_TRUE(status.ok()) << status.message();
      plan::expect_near(outputs, run_whole(graph, inputs));
    }
    EXPECT_EQ(count->with(address_of(0)), 1);
    EXPECT_EQ(count->with(address_of(1)), 1);
  }
}

constexpr uint64_t kPlan = 31, kOtherPlan = 32;
constexpr int kIn = 7, kOut = 8;

Graph relu_of_four() {
  Graph graph;
  graph.mark_output(*graph.add(ops::relu, {graph.add_input("x", {DType::kF32, {4}})}));
  return graph;
}

// Answers what the peer sends.
message::Assignment answers_to(const std::string& peer, const std::string& address) {
  message::Assignment assignment;
  message::Peer& to = *assignment.add_peers();
  to.set_worker(0);
  to.set_name(peer);
  to.set_address(address);
  assignment.add_senders(peer);
  add_task(assignment, relu_of_four(), kIn, kOut);
  add_send(assignment, piece_of(kOut, 0, 4), 0);
  return assignment;
}

// Answers what the coordinator sends.
message::Assignment answers_to_coordinator() {
  message::Assignment assignment;
  add_task(assignment, relu_of_four(), kIn, kOut);
  add_send(assignment, piece_of(kOut, 0, 4), plan::kCoordinator);
  return assignment;
}

// The worker "hall", and what its peers and coordinators see of it.
class Hall : public testing::Test {
 protected:
  explicit Hall(WorkerOptions options = {}) {
    options.name = "hall";
    worker_ = std::make_unique<Worker>(std::move(options), *device_, *transport_);
    worker_->serve(*transport_->listen("hall"));
  }

  std::unique_ptr<net::Listener> listen(const std::string& name) {
    return *network_.transport(name, unhurried(), net::Role::kWorker)->listen(name);
  }
  Visitor coordinator() { return {network_, "hall", "coordinator", net::Role::kCoordinator}; }
  // Whether the next that the coordinator hears is the answer to a request.
  static bool hears_nothing_else(Visitor& coordinator) {
    if (!coordinator.serve(kOtherPlan, answers_to_coordinator()).has_ready()) return false;
    coordinator.send_data(kOtherPlan, 1, piece_of(kIn, 0, 4), four_floats());
    return coordinator.hear().has_data();
  }
  // The peer sends a piece and gets the answer, over the same channel.
  static void expect_answer(Visitor& peer, uint64_t request) {
    peer.send_data(kPlan, request, piece_of(kIn, 0, 4), four_floats());
    const message::Message reply = peer.hear();
    EXPECT_TRUE(reply.has_data() && reply.data().request() == request) << reply.kind_case();
  }

  net::LoopbackNetwork network_;
  std::unique_ptr<net::Transport> transport_ =
      network_.transport("hall", unhurried(), net::Role::kWorker);
  std::unique_ptr<Device> device_ = make_reference_device();
  std::unique_ptr<Worker> worker_;
};

TEST_F(Hall, AnswersOverTheChannelThatAPeerOpened) {
  const auto listener = listen("attic");
  Visitor owner = coordinator();
  ASSERT_TRUE(owner.serve(kPlan, answers_to("attic", "attic")).has_ready());
  Visitor attic(network_, "hall", "attic", net::Role::kWorker);
  for (uint64_t request = 1; request <= 3; ++request) expect_answer(attic, request);
  EXPECT_FALSE(listener->accept(net::Deadline::min()).ok()) << "it dials nobody";
}

TEST_F(Hall, TakesPiecesFromAPeerThatItDialled) {
  const auto listener = listen("shed");
  Visitor owner = coordinator();
  ASSERT_TRUE(owner.serve(kPlan, answers_to("shed", "shed")).has_ready());
  Visitor shed(*listener->accept(net::Deadline::max()));
  for (uint64_t request = 1; request <= 3; ++request) expect_answer(shed, request);
}

TEST_F(Hall, ReportsABrokenChannelOnce) {
  const auto listener = listen("shed");
  Visitor owner = coordinator();
  ASSERT_TRUE(owner.serve(kPlan, answers_to("shed", "shed")).has_ready());
  Visitor shed(*listener->accept(net::Deadline::max()));
  expect_answer(shed, 1);  // both have sent
  shed.leave();
  const message::Message cut = owner.hear();
  ASSERT_TRUE(cut.has_cut());
  EXPECT_EQ(cut.cut().plan(), kPlan);
  EXPECT_EQ(cut.cut().from(), "shed");
  EXPECT_TRUE(hears_nothing_else(owner));
}

// As when it was killed and started again.
TEST_F(Hall, GoesOnWithAPeerThatCameBack) {
  const auto listener = listen("shed");
  Visitor owner = coordinator();
  ASSERT_TRUE(owner.serve(kPlan, answers_to("shed", "shed")).has_ready());
  message::Message rejoin;
  rejoin.mutable_rejoin()->set_plan(kPlan);
  rejoin.mutable_rejoin()->set_worker(0);
  for (uint64_t life = 1; life <= 3; ++life) {
    Visitor shed(*listener->accept(net::Deadline::max()));
    expect_answer(shed, life);
    shed.leave();
    ASSERT_TRUE(owner.hear().has_cut());
    ASSERT_TRUE(owner.ask(rejoin).has_ready());
  }
}

// A member says the same on a channel that it was dialled by as on its own, and gets no further.
TEST_F(Hall, RefusesWhatAPeerThatItDialledMayNotSay) {
  const auto listener = listen("shed");
  Visitor owner = coordinator();
  message::Assignment sends_only = answers_to("shed", "shed");
  sends_only.clear_senders();
  ASSERT_TRUE(owner.serve(kPlan, sends_only).has_ready());
  Visitor shed(*listener->accept(net::Deadline::max()));
  const auto code_of = [](const message::Message& reply) {
    return reply.has_failed() ? status_of(reply.failed()).code() : Code::kOk;
  };
  EXPECT_EQ(code_of(shed.deploy(kPlan + 1, sends_only)), Code::kInvalidArgument);
  message::Message release;
  release.mutable_release()->set_plan(kPlan);
  EXPECT_EQ(code_of(shed.ask(release)), Code::kInvalidArgument);
  shed.send_data(kPlan, 1, piece_of(kIn, 0, 4), four_floats());
  EXPECT_EQ(code_of(shed.hear()), Code::kInvalidArgument) << "the plan does not name it";
  message::Message failed;  // of a plan that sent it nothing: no peer is cut off
  failed.mutable_failed()->set_code(static_cast<uint32_t>(Code::kUnavailable));
  failed.mutable_failed()->set_plan(kPlan);
  shed.say(failed);
  message::Message traced;
  traced.mutable_traced();
  EXPECT_EQ(code_of(shed.ask(traced)), Code::kCorrupt);
  EXPECT_EQ(shed.hear().kind_case(), message::Message::KIND_NOT_SET) << "it is disconnected";
  EXPECT_TRUE(hears_nothing_else(owner)) << "nobody was blamed";
}

class SmallHall : public Hall {
 protected:
  SmallHall() : Hall({.peer_bytes = 1 << 20}) {}
};

TEST_F(SmallHall, CountsWhatComesFromAPeerThatItDialled) {
  const auto listener = listen("shed");
  Visitor owner = coordinator();
  ASSERT_TRUE(owner.serve(kPlan, answers_to("shed", "shed")).has_ready());
  Visitor shed(*listener->accept(net::Deadline::max()));
  message::Message data;
  data.mutable_data()->set_plan(kPlan);
  data.mutable_data()->set_request(2);
  shed.say(data, std::string(2 << 20, 'x'));
  const message::Message refused = owner.hear();
  EXPECT_EQ(status_of(refused.failed()).code(), Code::kExhausted);
  EXPECT_EQ(refused.failed().request(), 2u);
}

// Holds each task before it is computed.
class HeldHall : public Hall {
 protected:
  struct Gate {
    Notification computing, go_on;
  };

  HeldHall() : HeldHall(std::make_shared<Gate>()) {}

  const std::shared_ptr<Gate> gate_;

 private:
  explicit HeldHall(const std::shared_ptr<Gate>& gate)
      : Hall({.reached =
                  [gate](FaultPoint point) {
                    if (point != FaultPoint::kComputing) return;
                    gate->computing.notify();
                    gate->go_on.wait();
                  }}),
        gate_(gate) {}
};

// The thread that computes looks at all plans, and lets go of one that was released only then.
TEST_F(HeldHall, ClosesTheChannelOfAPlanThatIsReleasedWhileAnotherIsComputed) {
  const auto listener = listen("shed");
  Visitor owner = coordinator();
  ASSERT_TRUE(owner.serve(kPlan, answers_to("shed", "shed")).has_ready());
  const auto shed = *listener->accept(net::Deadline::max());
  ASSERT_TRUE(owner.serve(kOtherPlan, answers_to_coordinator()).has_ready());
  owner.send_data(kOtherPlan, 1, piece_of(kIn, 0, 4), four_floats());
  gate_->computing.wait();
  message::Message release;
  release.mutable_release()->set_plan(kPlan);
  owner.say(release);
  ASSERT_TRUE(owner.deploy(kPlan, answers_to_coordinator()).has_missing()) << "it is taken out";
  gate_->go_on.notify();
  EXPECT_TRUE(owner.hear().has_data());
  EXPECT_EQ(shed->receive(net::after(20s)).status().code(), Code::kUnavailable);
}

// Two workers that refuse each other's pieces must not both wait until the other one reads.
TEST_F(Hall, ReadsOnWhileItsRefusalsAreNotRead) {
  Visitor attic(network_, "hall", "attic", net::Role::kWorker);
  std::atomic<bool> sent = false;
  std::thread flood([&] {
    for (uint64_t request = 1; request <= 20000; ++request) {
      attic.send_data(kPlan, request, piece_of(kIn, 0, 4), four_floats());
    }
    sent = true;
  });
  EXPECT_TRUE(eventually([&] { return sent.load(); }));
  attic.leave();
  flood.join();
}

std::unique_ptr<net::Transport> transport_of(const std::shared_ptr<net::Membership>& membership) {
  net::TlsOptions tls;
  tls.membership = membership;
  tls.channel.beat = 1min;
  return *net::make_tls_transport(membership->identity(), std::move(tls));
}

// Although this worker opened it, and the thief only sends over it.
TEST(Pair, HasNoChannelWithWhoWasRemoved) {
  const net::TestFolder folder;
  const auto now = net::TestCluster::now();
  const ClusterFolder owner = *ClusterFolder::create(folder.path() / "c", now);
  const auto member = [&](const std::string& name, net::Role role) {
    return *net::Membership::make(*owner.authority()->issue(name, now, {.role = role}));
  };
  const auto hall = member("hall", net::Role::kWorker);
  const auto transport = transport_of(hall);
  const auto device = make_reference_device();
  Worker worker({.name = "hall", .membership = hall}, *device, *transport);
  auto door = *transport->listen(":0");
  const std::string address = door->address();
  worker.serve(std::move(door));

  const auto thiefs = transport_of(member("thief", net::Role::kWorker));
  const auto listener = *thiefs->listen(":0");
  const auto desks = transport_of(member("desk", net::Role::kCoordinator));
  Visitor desk(*desks->connect(address, net::soon()));
  ASSERT_TRUE(desk.serve(kPlan, answers_to("thief", listener->address())).has_ready());
  Visitor thief(*listener->accept(net::soon()));
  thief.send_data(kPlan, 1, piece_of(kIn, 0, 4), four_floats());
  ASSERT_TRUE(thief.hear().has_data());

  ASSERT_TRUE(owner.add({"thief", listener->address()}).ok());
  ASSERT_TRUE(owner.remove("thief", now).ok());
  ASSERT_TRUE(transport->learn((*owner.membership())->denied()->text()).ok());
  EXPECT_EQ(thief.hear().kind_case(), message::Message::KIND_NOT_SET);
  EXPECT_TRUE(desk.hear().has_cut());
}

}  // namespace
}  // namespace shoal::cluster
