// The ways from a worker to another one.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>

#include "shoal/cluster/messages/greeting.h"
#include "shoal/cluster/worker/peers.h"
#include "shoal/cluster/worker/thread_group.h"
#include "visitor.h"

namespace shoal::cluster {
namespace {

using ChannelPtr = std::shared_ptr<net::Channel>;

constexpr bool kPeerSends = true;
constexpr uint64_t kNewPlan = 100;  // that has sent nothing yet

// A sending worker, and one end of its channels.
class Ways {
 public:
  explicit Ways(const std::string& self = "self") : peers_(self, transport_, admitted()) {
    listen();
    door_ = *transport_.listen("self");
  }
  ~Ways() {
    peers_.close_unused();
    for (const ChannelPtr& channel : arrived_) channel->close();
    readers_.join();
  }

  void listen() { listener_ = *other_->listen("other"); }
  void vanish() { listener_.reset(); }
  // Connects that begin from now on wait until then.
  void hold_connects() { transport_.hold(); }
  void let_connect() { transport_.let_go(); }
  void await_connect() { transport_.await_one(); }

  std::shared_ptr<PeerConnection> at(const std::string& name = "other", bool peer_sends = false) {
    auto peer = *peers_.at("other", name);
    peer->expect(kNewPlan, peer_sends);
    return peer;
  }
  Peers& peers() { return peers_; }

  // The other worker connects. Returns its end.
  ChannelPtr arrive(net::Role role = net::Role::kWorker) {
    ChannelPtr theirs = *network_.transport("other", unhurried(), role)
                             ->connect("self", net::after(kMessageTimeout));
    arrived_.push_back(*door_->accept(net::Deadline::max()));
    EXPECT_TRUE(admit(arrived_.back(), OpenedBy::kPeer).ok());
    return theirs;
  }

  const ChannelPtr& arrived() const { return arrived_.back(); }  // this end of it

  // Returns when all that was posted before is done.
  static void finish_tasks(PeerConnection& peer) {
    std::promise<void> reached;
    peer.post([&] { reached.set_value(); });
    reached.get_future().wait();
  }

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
  // Waits for a channel that has closed, and returns the plans that have sent over it.
  std::set<uint64_t> await_cut() { return cut_.get_future().get(); }

  static uint64_t receive(net::Channel& channel) {
    return std::to_integer<uint64_t>(channel.receive(net::Deadline::max())->control[0]);
  }
  static bool is_closed(net::Channel& channel) {
    return channel.receive(net::Deadline::max()).status().code() == Code::kUnavailable;
  }

 private:
  // Holds up connects.
  class Slow final : public net::Transport {
   public:
    explicit Slow(std::unique_ptr<net::Transport> inner) : inner_(std::move(inner)) {}

    using net::Transport::connect;
    Result<ChannelPtr> connect(std::string_view address, net::Deadline deadline) override {
      auto channel = inner_->connect(address, deadline);
      std::unique_lock lock(mutex_);
      ++begun_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !holds_; });
      return channel;
    }
    Result<std::unique_ptr<net::Listener>> listen(std::string_view address) override {
      return inner_->listen(address);
    }

    void hold() {
      const std::lock_guard lock(mutex_);
      holds_ = true;
    }
    void let_go() {
      const std::lock_guard lock(mutex_);
      holds_ = false;
      changed_.notify_all();
    }
    void await_one() {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return begun_ > 0; });
    }

   private:
    const std::unique_ptr<net::Transport> inner_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool holds_ = false;
    int begun_ = 0;
  };

  Peers::Admit admitted() {
    return [this](const ChannelPtr& channel) { return admit(channel, OpenedBy::kUs); };
  }
  Status admit(const ChannelPtr& channel, OpenedBy by) {
    peers_.add(channel, by);
    EXPECT_TRUE(readers_.run([this, channel] {
      while (channel->receive(net::Deadline::max()).ok()) {
      }
      channel->close();
      const std::set<uint64_t> plans = peers_.remove(channel);
      if (!plans.empty() && !is_told_.exchange(true)) cut_.set_value(plans);
    }));
    return {};
  }

  net::LoopbackNetwork network_;
  Slow transport_{network_.transport("self", unhurried(), net::Role::kWorker)};
  std::unique_ptr<net::Transport> other_ =
      network_.transport("other", unhurried(), net::Role::kWorker);
  std::unique_ptr<net::Listener> listener_, door_;
  std::vector<ChannelPtr> arrived_;
  std::promise<std::set<uint64_t>> cut_;
  std::atomic<bool> is_told_ = false;
  Peers peers_;
  ThreadGroup readers_;
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

TEST(PeerConnection, UsesTheChannelThatThePeerOpened) {
  Ways ways;
  const ChannelPtr theirs = ways.arrive();
  const auto peer = ways.at();
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  EXPECT_EQ(ways.receive(*theirs), 1u);
  EXPECT_FALSE(ways.someone_waits());
}

// Its machine also coordinates, perhaps over this channel.
TEST(PeerConnection, DialsAnOwnerWhoHasConnected) {
  Ways ways;
  const ChannelPtr theirs = ways.arrive(net::Role::kOwner);
  const auto peer = ways.at();
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  EXPECT_EQ(ways.receive(*ways.accept()), 1u);
}

// Otherwise both would connect whenever a plan starts.
TEST(PeerConnection, LetsThePeerOfTheLesserNameDial) {
  Ways ways("self");
  const auto peer = ways.at("other", kPeerSends);
  ways.finish_tasks(*peer);
  EXPECT_FALSE(ways.someone_waits());
  const ChannelPtr theirs = ways.arrive();
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  EXPECT_EQ(ways.receive(*theirs), 1u);
  EXPECT_FALSE(ways.someone_waits());
}

TEST(PeerConnection, DialsThePeerOfTheGreaterName) {
  Ways ways("kitchen");
  const auto peer = ways.at("other", kPeerSends);
  const ChannelPtr other = ways.accept();
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  EXPECT_EQ(ways.receive(*other), 1u);
}

// Perhaps it cannot connect.
TEST(PeerConnection, DialsAPeerThatHasNotDialled) {
  Ways ways("self");
  const auto peer = ways.at("other", kPeerSends);
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  EXPECT_EQ(ways.receive(*ways.accept()), 1u);
}

// A way may be closed in one direction only.
TEST(PeerConnection, UsesWhatThePeerOpenedWhileItCouldNotDial) {
  Ways ways("self");
  ways.vanish();
  ways.hold_connects();
  const auto peer = ways.at("other", kPeerSends);
  std::future<Status> sent = std::async([&] { return ways.send(*peer, 1); });
  ways.await_connect();
  const ChannelPtr theirs = ways.arrive();
  ways.let_connect();
  EXPECT_TRUE(sent.get().ok());
  EXPECT_EQ(ways.receive(*theirs), 1u);
}

// Nothing tells it that the channel of its last life is dead.
TEST(PeerConnection, UsesTheNewChannelOfAPeerThatWasStartedAgain) {
  Ways ways;
  const ChannelPtr before = ways.arrive(), after = ways.arrive();
  const auto peer = ways.at();
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  EXPECT_EQ(ways.receive(*after), 1u);
}

TEST(PeerConnection, GoesOnOverTwoChannelsWhereBothHaveDialled) {
  Ways ways("self");
  ways.hold_connects();
  const auto peer = ways.at();
  ways.await_connect();
  const ChannelPtr theirs = ways.arrive();
  ways.let_connect();
  const ChannelPtr ours = ways.accept();
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  EXPECT_EQ(ways.receive(*ours), 1u);
  ours->close();
  EXPECT_EQ(ways.await_cut(), std::set<uint64_t>{1});
  EXPECT_TRUE(ways.send(*peer, 2).ok());
  EXPECT_EQ(ways.receive(*theirs), 2u) << "what is left is used";
  EXPECT_FALSE(ways.someone_waits());
}

// Its pieces may be lost, which no other part would notice.
TEST(PeerConnection, TakesAlongThePlansThatSentByWhatBroke) {
  Ways ways;
  const auto peer = ways.at();
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  EXPECT_TRUE(ways.send(*peer, 2).ok());
  const ChannelPtr first = ways.accept();
  EXPECT_EQ(ways.receive(*first), 1u);
  first->close();
  EXPECT_EQ(ways.await_cut(), (std::set<uint64_t>{1, 2}));
  EXPECT_EQ(ways.send(*peer, 1).code(), Code::kUnavailable);
  EXPECT_TRUE(ways.send(*peer, 3).ok());
  const ChannelPtr second = ways.accept();
  EXPECT_EQ(ways.receive(*second), 3u);
}

// A plan that was ended may have computed on, and sent pieces that were not awaited.
TEST(PeerConnection, ForgivesAPlanThatIsStartedAgain) {
  Ways ways;
  const auto peer = ways.at();
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  peer->forget(1);
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  ways.accept()->close();
  EXPECT_EQ(ways.await_cut(), std::set<uint64_t>{1});
  peer->expect(1, !kPeerSends);
  EXPECT_TRUE(ways.send(*peer, 1).ok());
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

// The connect that fails began before the peer was back.
TEST(PeerConnection, IsTriedAgainAfterAConnectThatWasGoingOn) {
  Ways ways;
  ways.vanish();
  ways.hold_connects();
  const auto peer = ways.at();
  ways.await_connect();
  ways.listen();
  peer->expect(1, !kPeerSends);
  ways.let_connect();
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  EXPECT_EQ(ways.receive(*ways.accept()), 1u);
}

TEST(PeerConnection, IsLeftWithTheLastPlan) {
  Ways ways;
  std::shared_ptr<PeerConnection> peer = ways.at();
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  const ChannelPtr other = ways.accept();
  EXPECT_EQ(ways.receive(*other), 1u);
  ways.peers().close_unused();
  EXPECT_TRUE(ways.send(*peer, 1).ok()) << "a plan still holds it";
  EXPECT_EQ(ways.receive(*other), 1u);
  peer.reset();
  ways.peers().close_unused();
  EXPECT_TRUE(ways.is_closed(*other));
}

// The plan that sends may be over here, while another one of the peer sends the other way.
TEST(PeerConnection, StaysOpenForAPlanThatThePeerSendsTo) {
  Ways ways;
  std::shared_ptr<PeerConnection> peer = ways.at();
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  const ChannelPtr other = ways.accept();
  EXPECT_EQ(ways.receive(*other), 1u);
  auto senders = *ways.peers().with("other");
  peer.reset();
  ways.peers().close_unused();
  EXPECT_EQ(other->receive(net::after(std::chrono::milliseconds(20))).status().code(),
            Code::kDeadline);
  senders.reset();
  ways.peers().close_unused();
  EXPECT_TRUE(ways.is_closed(*other));
}

// Only the peer knows whether it still needs it.
TEST(PeerConnection, LeavesOpenWhatThePeerOpened) {
  Ways ways;
  const ChannelPtr theirs = ways.arrive();
  std::shared_ptr<PeerConnection> peer = ways.at();
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  EXPECT_EQ(ways.receive(*theirs), 1u);
  peer.reset();
  ways.peers().close_unused();
  EXPECT_EQ(theirs->receive(net::after(std::chrono::milliseconds(20))).status().code(),
            Code::kDeadline);
}

// Another member may have the address by now.
TEST(PeerConnection, SendsNothingToAWorkerOfAnotherName) {
  Ways ways;
  const auto peer = ways.at("someone");
  const Status sent = ways.send(*peer, 1);
  EXPECT_EQ(sent.code(), Code::kUnavailable);
  EXPECT_NE(sent.message().find("is other, not someone"), std::string_view::npos) << sent.message();
  EXPECT_TRUE(ways.is_closed(*ways.accept()));
}

// The pieces were dropped there. This would be unnoticed until the deadline of the request.
TEST(PeerConnection, IsCutOffFromAPeerThatDoesNotHaveThePlan) {
  Ways ways;
  const ChannelPtr theirs = ways.arrive();
  const auto peer = ways.at();
  EXPECT_TRUE(ways.send(*peer, 1).ok());
  EXPECT_TRUE(ways.send(*peer, 2).ok());
  EXPECT_FALSE(ways.peers().lose(ways.arrived(), 77)) << "which this worker never sent to";
  EXPECT_TRUE(ways.peers().lose(ways.arrived(), 2));
  EXPECT_FALSE(ways.peers().lose(ways.arrived(), 2)) << "it is known";
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

// A worker that connects and is then cut off sends nothing, and the greeting must not wait long.
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
