#include "shoal/emulate/weather.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "shoal/emulate/exposure.h"
#include "shoal/emulate/trap.h"
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
    const auto made = Weather::make(folder_.path() / "weather", {"left", "right"});
    ASSERT_TRUE(made.ok()) << made.status().message();
    weather_ = *made;
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
    const auto weather = *Weather::open(folder_.path() / "weather");
    return *make_exposed_transport(cluster.identity(name), options, weather,
                                   weather->number_of(name));
  }

  static std::string control_of(net::Channel& channel, net::Deadline deadline = soon()) {
    const auto frame = channel.receive(deadline);
    return frame.ok() ? net::text_of(frame->control) : std::string(frame.status().message());
  }

  const net::TestFolder folder_;
  std::shared_ptr<Weather> weather_;
  net::Pair pair_;
};

TEST_F(Exposed, PassesWhatIsSentInFineWeather) {
  const net::Data payload = net::random_bytes(60'000, 1);
  ASSERT_TRUE(send(*pair_.left, bytes_of("control"), payload).ok());
  const auto frame = pair_.right->receive(soon());
  ASSERT_TRUE(frame.ok()) << frame.status().message();
  EXPECT_TRUE(net::equal(frame->payload.bytes, payload));
}

TEST_F(Exposed, HoldsBackWhatComesByAWayThatIsCut) {
  weather_->cut(kLeft, kRight, true);
  ASSERT_TRUE(send(*pair_.left, bytes_of("held")).ok());
  ASSERT_TRUE(send(*pair_.right, bytes_of("not held")).ok());
  EXPECT_EQ(control_of(*pair_.left), "not held");
  EXPECT_EQ(pair_.right->receive(net::after(1ms)).status().code(), Code::kDeadline);
  weather_->cut(kLeft, kRight, false);
  EXPECT_EQ(control_of(*pair_.right), "held");
}

// A reader that waits already when the way is cut.
TEST_F(Exposed, HoldsBackWhatComesToWhoWaitsAlready) {
  auto received = std::async(std::launch::async, [&] { return control_of(*pair_.right); });
  weather_->cut(kLeft, kRight, true);
  ASSERT_TRUE(send(*pair_.left, bytes_of("held")).ok());
  EXPECT_EQ(received.wait_for(10ms), std::future_status::timeout);
  weather_->cut(kLeft, kRight, false);
  EXPECT_EQ(received.get(), "held");
}

TEST_F(Exposed, MissesWhoIsCutOffForLong) {
  connect(5ms);
  ASSERT_TRUE(send(*pair_.left, bytes_of("before")).ok());
  EXPECT_EQ(control_of(*pair_.right), "before");
  weather_->cut(kLeft, kRight, true);
  EXPECT_NE(control_of(*pair_.right).find("no sign of life"), std::string::npos);
}

TEST_F(Exposed, DoesNotHearTheEndOfWhoIsCutOff) {
  weather_->cut(kLeft, kRight, true);
  pair_.left->close();
  EXPECT_EQ(pair_.right->receive(net::after(1ms)).status().code(), Code::kDeadline);
  weather_->cut(kLeft, kRight, false);
  EXPECT_EQ(pair_.right->receive(soon()).status().code(), Code::kUnavailable);
}

TEST_F(Exposed, LetsNobodyConnectByAWayThatIsCut) {
  const std::string address = pair_.listener->address();
  weather_->cut(kRight, kLeft, true);
  const auto refused = pair_.left_transport->connect(address, net::after(50ms));
  EXPECT_EQ(refused.status().code(), Code::kDeadline);
  weather_->cut(kRight, kLeft, false);
  EXPECT_TRUE(pair_.left_transport->connect(address, soon()).ok());
}

TEST_F(Exposed, DeliversLateWhatIsDelayed) {
  weather_->delay(kLeft, kRight, 30ms);
  const auto begin = Weather::Clock::now();
  ASSERT_TRUE(send(*pair_.left, bytes_of("late"), net::random_bytes(100'000, 2)).ok());
  EXPECT_EQ(control_of(*pair_.right), "late");
  EXPECT_GE(Weather::Clock::now() - begin, 30ms);
}

TEST_F(Exposed, BreaksConnectionsThatThereAre) {
  auto received = std::async(std::launch::async, [&] { return pair_.right->receive(soon()); });
  weather_->break_off(kRight, kLeft);
  EXPECT_EQ(received.get().status().code(), Code::kUnavailable);
  EXPECT_EQ(pair_.left->receive(soon()).status().code(), Code::kUnavailable);
  EXPECT_TRUE(pair_.left_transport->connect(pair_.listener->address(), soon()).ok());
}

TEST_F(Exposed, NoticesDamage) {
  weather_->damage(kLeft, kRight);
  ASSERT_TRUE(send(*pair_.left, bytes_of("damaged"), net::random_bytes(20'000, 3)).ok());
  EXPECT_EQ(pair_.right->receive(soon()).status().code(), Code::kUnavailable);
  EXPECT_FALSE(weather_->take_damage(kLeft, kRight)) << "once";
}

TEST(Weather, KnowsWorkersByName) {
  const net::TestFolder folder;
  const auto weather = Weather::make(folder.path() / "weather", {"a", "b"});
  ASSERT_TRUE(weather.ok());
  EXPECT_EQ((*weather)->number_of("b"), 1);
  EXPECT_EQ((*weather)->number_of("anyone"), plan::kCoordinator);
  EXPECT_EQ((*weather)->number_of(""), plan::kCoordinator);
  EXPECT_FALSE(Weather::open(folder.path() / "none").ok());
  EXPECT_FALSE(Weather::make(folder.path() / "x", std::vector<std::string>(65, "w")).ok());
}

TEST(Trap, HoldsWhoGetsToItsPoint) {
  const net::TestFolder folder;
  const auto ours = *Trap::open(folder.path() / "trap");
  const auto theirs = *Trap::open(folder.path() / "trap");
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

TEST(Trap, IsGivenUpWhereNobodyComes) {
  const net::TestFolder folder;
  const auto trap = *Trap::open(folder.path() / "trap");
  trap->set(0, 0);
  EXPECT_FALSE(trap->await(net::after(1ms)));
  trap->pass(0, 0);
}

}  // namespace
}  // namespace shoal::emulate
