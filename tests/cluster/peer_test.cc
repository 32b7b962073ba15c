// The ways from a worker to another one.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "messages.pb.h"
#include "shoal/cluster/greeting.h"
#include "shoal/cluster/message_io.h"
#include "shoal/cluster/peers.h"
#include "shoal/net/channel/loopback.h"

namespace shoal::cluster {
namespace {

using ChannelPtr = std::shared_ptr<net::Channel>;

// A worker that sends, and one end of what it sends by.
class Ways {
 public:
  Ways() { listen(); }
  ~Ways() { peers_.release(0); }

  void listen() { listener_ = *network_.transport("other")->listen("other"); }
  void vanish() { listener_.reset(); }

  std::shared_ptr<PeerConnection> at(const std::string& name = "other") {
    return *peers_.at("other", name);
  }
  void release(uint64_t plan) { peers_.release(plan); }

  // Sends a frame that holds the number of the plan.
  static Status send(PeerConnection& peer, uint64_t plan) {
    std::promise<Status> sent;
    peer.post([&] {
      sent.set_value(peer.send(plan, [&](net::Channel& channel) {
        const auto number = static_cast<std::byte>(plan);
        return channel.send({std::span(&number, 1), {}, false}, net::Deadline::max());
      }));
    });
    return sent.get_future().get();
  }

  ChannelPtr accept() { return *listener_->accept(net::Deadline::max()); }
  bool someone_waits() { return listener_->accept(net::Deadline::min()).ok(); }
  // The first plan that was told so.
  uint64_t await_cut() { return cut_.get_future().get(); }

  static uint64_t receive(net::Channel& channel) {
    return std::to_integer<uint64_t>(channel.receive(net::Deadline::max())->control[0]);
  }

 private:
  net::LoopbackNetwork network_;
  std::unique_ptr<net::Transport> transport_ = network_.transport("self");
  std::unique_ptr<net::Listener> listener_;
  std::promise<uint64_t> cut_;
  std::atomic<bool> is_told_ = false;
  Peers peers_{*transport_, [this](uint64_t plan, const std::string& name) {
                 EXPECT_EQ(name, "other");
                 if (!is_told_.exchange(true)) cut_.set_value(plan);
               }};
};

TEST(PeerConnection, IsReachedByOneConnectionForAllPlans) {
  constexpr uint64_t kPlans = 100;
  Ways ways;
  std::vector<std::shared_ptr<PeerConnection>> held;
  for (uint64_t plan = 1; plan <= kPlans; ++plan) {
    held.push_back(ways.at());
    EXPECT_TRUE(ways.send(*held.back(), plan).ok());
  }
  const ChannelPtr other = ways.accept();
  for (uint64_t plan = 1; plan <= kPlans; ++plan) EXPECT_EQ(ways.receive(*other), plan);
  EXPECT_FALSE(ways.someone_waits());
}

// What it has sent may be lost, which nobody else would notice.
TEST(PeerConnection, TakesAlongThePlansThatSentByWhatBroke) {
  Ways ways;
  const auto peer = ways.at();
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  const ChannelPtr first = ways.accept();
  EXPECT_EQ(ways.receive(*first), 1u);
  first->close();
  EXPECT_EQ(ways.await_cut(), 1u);
  EXPECT_EQ(ways.send(*peer, 1).code(), Code::kUnavailable);
  EXPECT_TRUE(ways.send(*peer, 2).ok());
  const ChannelPtr second = ways.accept();
  EXPECT_EQ(ways.receive(*second), 2u);
}

TEST(PeerConnection, IsTriedAgainForEveryPlan) {
  Ways ways;
  ways.vanish();
  const auto peer = ways.at();
  EXPECT_FALSE(ways.send(*peer, 1).ok());
  ways.listen();
  EXPECT_FALSE(ways.send(*peer, 1).ok()) << "who knows that nobody is there does not wait again";
  EXPECT_EQ(ways.at(), peer);
  EXPECT_TRUE(ways.send(*peer, 2).ok());
  EXPECT_EQ(ways.receive(*ways.accept()), 2u);
}

TEST(PeerConnection, IsLeftWithTheLastPlan) {
  Ways ways;
  std::shared_ptr<PeerConnection> peer = ways.at();
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  const ChannelPtr other = ways.accept();
  EXPECT_EQ(ways.receive(*other), 1u);
  ways.release(2);
  EXPECT_TRUE(ways.send(*peer, 1).ok()) << "a plan still holds it";
  EXPECT_EQ(ways.receive(*other), 1u);
  peer.reset();
  ways.release(1);
  EXPECT_EQ(other->receive(net::Deadline::max()).status().code(), Code::kUnavailable);
}

// Another member may have the address by now.
TEST(PeerConnection, SendsNothingToAWorkerOfAnotherName) {
  Ways ways;
  const auto peer = ways.at("someone");
  const Status sent = ways.send(*peer, 1);
  EXPECT_EQ(sent.code(), Code::kUnavailable);
  EXPECT_NE(sent.message().find("is other, not someone"), std::string_view::npos) << sent.message();
  EXPECT_EQ(ways.accept()->receive(net::Deadline::max()).status().code(), Code::kUnavailable);
}

// What was sent was dropped there. Nobody else would notice before the deadline of the request.
TEST(PeerConnection, IsCutOffFromAPeerThatDoesNotHaveThePlan) {
  Ways ways;
  const auto peer = ways.at();
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  EXPECT_TRUE(ways.send(*peer, 2).ok());
  const ChannelPtr other = ways.accept();
  message::Message failed;
  failed.mutable_failed()->set_code(static_cast<uint32_t>(Code::kUnavailable));
  failed.mutable_failed()->set_plan(77);  // which this worker never sent to
  EXPECT_TRUE(cluster::send(*other, failed).ok());
  failed.mutable_failed()->set_plan(2);
  EXPECT_TRUE(cluster::send(*other, failed).ok());
  EXPECT_EQ(ways.await_cut(), 2u);
  EXPECT_EQ(ways.send(*peer, 2).code(), Code::kUnavailable);
  EXPECT_TRUE(ways.send(*peer, 1).ok()) << "other plans go on";
  peer->forget(2);
  EXPECT_TRUE(ways.send(*peer, 2).ok()) << "the peer has it again";
}

// Remembers until when someone would wait, and does not.
class ShortTimeout final : public net::Channel {
 public:
  explicit ShortTimeout(ChannelPtr inner) : inner_(std::move(inner)) {}

  const net::Peer& peer() const override { return inner_->peer(); }
  Status send(const net::FrameView& frame, net::Deadline deadline) override {
    return inner_->send(frame, deadline);
  }
  Result<net::Frame> receive(net::Deadline deadline, const net::Place& place) override {
    waits_until = deadline;
    return inner_->receive(net::Deadline(), place);
  }
  void close() override { inner_->close(); }
  net::Traffic traffic() const override { return inner_->traffic(); }

  net::Deadline waits_until;

 private:
  const ChannelPtr inner_;
};

// Who is connected and then cut off says nothing, and nobody is to wait long for that.
TEST(Greeting, EndsAtItsDeadline) {
  net::LoopbackNetwork network;
  const auto listener = *network.transport("mute")->listen("mute");
  const auto transport = network.transport("coordinator");
  ShortTimeout channel(*transport->connect("mute", net::Deadline::max()));
  const net::Deadline deadline = net::after(std::chrono::seconds(7));
  EXPECT_EQ(greet(channel, {"mute", "mute"}, {.number = 1}, deadline).status().code(),
            Code::kDeadline);
  EXPECT_EQ(channel.waits_until, deadline);
}

}  // namespace
}  // namespace shoal::cluster
