#include "shoal/emulate/network_faults.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "shoal/emulate/breakpoint.h"
#include "shoal/emulate/faulty_transport.h"
#include "shoal/net/test_peers.h"
#include "shoal/plan/plan.h"

namespace shoal::emulate {
namespace {

using namespace std::chrono_literals;
using net::bytes_of;
using net::soon;

constexpr int kLeft = 0, kRight = 1;

// Two workers that are connected, each as if it were a process of its own.
class Exposed : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto made = SharedNetworkFaults::make(folder_.path() / "faults", {"left", "right"});
    ASSERT_TRUE(made.ok()) << made.status().message();
    faults_ = *made;
    connect(10s);  // so seldom that nobody is missed
  }

  void connect(std::chrono::milliseconds beat) {
    static const net::TestCluster cluster;
    pair_ = {};
    pair_ = net::connect_pair(transport(cluster, "left", beat), transport(cluster, "right", beat),
                              ":0");
  }

  std::unique_ptr<net::Transport> transport(const net::TestCluster& cluster,
                                            const std::string& name,
                                            std::chrono::milliseconds beat) const {
    net::TlsOptions options;
    options.channel.beat = beat;
    const auto faults = *SharedNetworkFaults::open(folder_.path() / "faults");
    return *make_faulty_transport(cluster.identity(name), options, faults, faults->number_of(name));
  }

  static std::string control_of(net::Channel& channel, net::Deadline deadline = soon()) {
    const auto frame = channel.receive(deadline);
    return frame.ok() ? net::text_of(frame->control) : std::string(frame.status().message());
  }

  const net::TestFolder folder_;
  std::shared_ptr<SharedNetworkFaults> faults_;
  net::Pair pair_;
};

TEST_F(Exposed, PassesWhatIsSentWithoutFaults) {
  const net::Data payload = net::random_bytes(60'000, 1);
  ASSERT_TRUE(send(*pair_.left, bytes_of("control"), payload).ok());
  const auto frame = pair_.right->receive(soon());
  ASSERT_TRUE(frame.ok()) << frame.status().message();
  EXPECT_TRUE(net::equal(frame->payload.bytes, payload));
}

TEST_F(Exposed, HoldsBackWhatComesByAWayThatIsCut) {
  faults_->cut(kLeft, kRight, true);
  ASSERT_TRUE(send(*pair_.left, bytes_of("held")).ok());
  ASSERT_TRUE(send(*pair_.right, bytes_of("not held")).ok());
  EXPECT_EQ(control_of(*pair_.left), "not held");
  EXPECT_EQ(pair_.right->receive(net::after(1ms)).status().code(), Code::kDeadline);
  faults_->cut(kLeft, kRight, false);
  EXPECT_EQ(control_of(*pair_.right), "held");
}

// A reader that waits already when the way is cut.
TEST_F(Exposed, HoldsBackWhatComesToWhoWaitsAlready) {
  auto received = std::async(std::launch::async, [&] { return control_of(*pair_.right); });
  faults_->cut(kLeft, kRight, true);
  ASSERT_TRUE(send(*pair_.left, bytes_of("held")).ok());
  EXPECT_EQ(received.wait_for(10ms), std::future_status::timeout);
  faults_->cut(kLeft, kRight, false);
  EXPECT_EQ(received.get(), "held");
}

TEST_F(Exposed, MissesWhoIsCutOffForLong) {
  connect(5ms);
  ASSERT_TRUE(send(*pair_.left, bytes_of("before")).ok());
  EXPECT_EQ(control_of(*pair_.right), "before");
  faults_->cut(kLeft, kRight, true);
  EXPECT_NE(control_of(*pair_.right).find("no sign of life"), std::string::npos);
}

TEST_F(Exposed, DoesNotHearTheEndOfWhoIsCutOff) {
  faults_->cut(kLeft, kRight, true);
  pair_.left->close();
  EXPECT_EQ(pair_.right->receive(net::after(1ms)).status().code(), Code::kDeadline);
  faults_->cut(kLeft, kRight, false);
  EXPECT_EQ(pair_.right->receive(soon()).status().code(), Code::kUnavailable);
}

TEST_F(Exposed, LetsNobodyConnectByAWayThatIsCut) {
  const std::string address = pair_.listener->address();
  faults_->cut(kRight, kLeft, true);
  const auto refused = pair_.left_transport->connect(address, net::after(50ms));
  EXPECT_EQ(refused.status().code(), Code::kDeadline);
  faults_->cut(kRight, kLeft, false);
  EXPECT_TRUE(pair_.left_transport->connect(address, soon()).ok());
}

TEST_F(Exposed, DeliversLateWhatIsDelayed) {
  faults_->delay(kLeft, kRight, 30ms);
  const auto begin = SharedNetworkFaults::Clock::now();
  ASSERT_TRUE(send(*pair_.left, bytes_of("late"), net::random_bytes(100'000, 2)).ok());
  EXPECT_EQ(control_of(*pair_.right), "late");
  EXPECT_GE(SharedNetworkFaults::Clock::now() - begin, 30ms);
}

TEST_F(Exposed, BreaksConnectionsThatThereAre) {
  auto received = std::async(std::launch::async, [&] { return pair_.right->receive(soon()); });
  faults_->break_off(kRight, kLeft);
  EXPECT_EQ(received.get().status().code(), Code::kUnavailable);
  EXPECT_EQ(pair_.left->receive(soon()).status().code(), Code::kUnavailable);
  EXPECT_TRUE(pair_.left_transport->connect(pair_.listener->address(), soon()).ok());
}

TEST_F(Exposed, NoticesDamage) {
  faults_->damage(kLeft, kRight);
  ASSERT_TRUE(send(*pair_.left, bytes_of("damaged"), net::random_bytes(20'000, 3)).ok());
  EXPECT_EQ(pair_.right->receive(soon()).status().code(), Code::kUnavailable);
  EXPECT_FALSE(faults_->take_damage(kLeft, kRight)) << "once";
}

TEST(SharedNetworkFaults, KnowsWorkersByName) {
  const net::TestFolder folder;
  const auto faults = SharedNetworkFaults::make(folder.path() / "faults", {"a", "b"});
  ASSERT_TRUE(faults.ok());
  EXPECT_EQ((*faults)->number_of("b"), 1);
  EXPECT_EQ((*faults)->number_of("anyone"), plan::kCoordinator);
  EXPECT_EQ((*faults)->number_of(""), plan::kCoordinator);
  EXPECT_FALSE(SharedNetworkFaults::open(folder.path() / "none").ok());
  EXPECT_FALSE(
      SharedNetworkFaults::make(folder.path() / "x", std::vector<std::string>(65, "w")).ok());
}

TEST(Breakpoint, HoldsWhoGetsToItsPoint) {
  const net::TestFolder folder;
  const auto ours = *Breakpoint::open(folder.path() / "breakpoint");
  const auto theirs = *Breakpoint::open(folder.path() / "breakpoint");
  theirs->pass(2, 3);  // not set
  ours->set(2, 3);
  theirs->pass(2, 4);
  theirs->pass(1, 3);
  std::atomic<bool> went_on = false;
  std::thread caught([&] {
    theirs->pass(2, 3);
    went_on = true;
  });
  EXPECT_TRUE(ours->await(soon()));
  EXPECT_FALSE(went_on);
  ours->release();
  caught.join();
  theirs->pass(2, 3);  // only once
}

TEST(Breakpoint, IsGivenUpWhereNobodyComes) {
  const net::TestFolder folder;
  const auto breakpoint = *Breakpoint::open(folder.path() / "breakpoint");
  breakpoint->set(0, 0);
  EXPECT_FALSE(breakpoint->await(net::after(1ms)));
  breakpoint->pass(0, 0);
}

}  // namespace
}  // namespace shoal::emulate
