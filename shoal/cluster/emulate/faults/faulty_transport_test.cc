#include "shoal/cluster/emulate/faults/faulty_transport.h"

#include <gtest/gtest.h>

#include <array>
#include <future>

#include "shoal/cluster/net/channel/framed_channel.h"
#include "shoal/cluster/net/channel/memory_stream.h"
#include "shoal/cluster/net/peers_testing.h"
#include "shoal/plan/plan.h"

namespace shoal::emulate {
namespace {

using namespace std::chrono_literals;
using net::bytes_of;
using net::soon;

constexpr int kLeft = 0, kRight = 1;

// Two connected workers, each as if in a separate process.
class FaultyTransport : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto made = SharedNetworkFaults::make(folder_.path() / "faults", {"left", "right"});
    ASSERT_TRUE(made.ok()) << made.status().message();
    faults_ = *made;
    static const net::TestCluster cluster;
    pair_ = net::connect_pair(transport(cluster, "left"), transport(cluster, "right"), ":0");
  }

  std::unique_ptr<net::Transport> transport(const net::TestCluster& cluster,
                                            const std::string& name) const {
    net::TlsOptions options;
    options.channel.beat = 10s;  // so rare that no peer is missed
    const auto faults = *SharedNetworkFaults::open(folder_.path() / "faults");
    return *make_faulty_transport(cluster.identity(name), options, faults, faults->number_of(name));
  }

  static std::string control_of(net::Channel& channel, net::Deadline deadline = soon()) {
    const auto frame = channel.receive(deadline);
    return frame.ok() ? net::text_of(frame->control) : std::string(frame.status().message());
  }

  net::TestFolder folder_;
  std::shared_ptr<SharedNetworkFaults> faults_;
  net::Pair pair_;
};

TEST_F(FaultyTransport, PassesWhatIsSentWithoutFaults) {
  const net::Data payload = net::random_bytes(60'000, 1);
  ASSERT_TRUE(send(*pair_.left, bytes_of("control"), payload).ok());
  const auto frame = pair_.right->receive(soon());
  ASSERT_TRUE(frame.ok()) << frame.status().message();
  EXPECT_TRUE(net::equal(frame->payload.bytes, payload));
}

TEST_F(FaultyTransport, HoldsBackWhatComesByAWayThatIsCut) {
  faults_->cut(kLeft, kRight, true);
  ASSERT_TRUE(send(*pair_.left, bytes_of("held")).ok());
  ASSERT_TRUE(send(*pair_.right, bytes_of("not held")).ok());
  EXPECT_EQ(control_of(*pair_.left), "not held");
  EXPECT_EQ(pair_.right->receive(net::after(1ms)).status().code(), Code::kDeadline);
  faults_->cut(kLeft, kRight, false);
  EXPECT_EQ(control_of(*pair_.right), "held");
}

TEST_F(FaultyTransport, DoesNotHearTheEndOfWhoIsCutOff) {
  faults_->cut(kLeft, kRight, true);
  pair_.left->close();
  EXPECT_EQ(pair_.right->receive(net::after(1ms)).status().code(), Code::kDeadline);
  faults_->cut(kLeft, kRight, false);
  EXPECT_EQ(pair_.right->receive(soon()).status().code(), Code::kUnavailable);
}

TEST_F(FaultyTransport, LetsNobodyConnectByAWayThatIsCut) {
  const std::string address = pair_.listener->address();
  faults_->cut(kRight, kLeft, true);
  const auto refused = pair_.left_transport->connect(address, net::after(50ms));
  EXPECT_EQ(refused.status().code(), Code::kDeadline);
  faults_->cut(kRight, kLeft, false);
  EXPECT_TRUE(pair_.left_transport->connect(address, soon()).ok());
}

TEST_F(FaultyTransport, DeliversLateWhatIsDelayed) {
  faults_->delay(kLeft, kRight, 30ms);
  const auto begin = SharedNetworkFaults::Clock::now();
  ASSERT_TRUE(send(*pair_.left, bytes_of("late"), net::random_bytes(100'000, 2)).ok());
  EXPECT_EQ(control_of(*pair_.right), "late");
  EXPECT_GE(SharedNetworkFaults::Clock::now() - begin, 30ms);
}

TEST_F(FaultyTransport, BreaksConnectionsThatThereAre) {
  auto received = std::async(std::launch::async, [&] { return pair_.right->receive(soon()); });
  faults_->break_off(kRight, kLeft);
  EXPECT_EQ(received.get().status().code(), Code::kUnavailable);
  EXPECT_EQ(pair_.left->receive(soon()).status().code(), Code::kUnavailable);
  EXPECT_TRUE(pair_.left_transport->connect(pair_.listener->address(), soon()).ok());
}

TEST_F(FaultyTransport, NoticesDamage) {
  faults_->damage(kLeft, kRight);
  ASSERT_TRUE(send(*pair_.left, bytes_of("damaged"), net::random_bytes(20'000, 3)).ok());
  EXPECT_EQ(pair_.right->receive(soon()).status().code(), Code::kUnavailable);
  EXPECT_FALSE(faults_->take_damage(kLeft, kRight)) << "once";
}

// Over a stream in memory, and with heartbeats driven by hand: no clock decides what these see.
class FaultyStream : public ::testing::Test {
 protected:
  net::TestFolder folder_;
  const std::shared_ptr<SharedNetworkFaults> faults_ =
      *SharedNetworkFaults::make(folder_.path() / "faults", {"left", "right"});
  const std::shared_ptr<const net::Decorator> right_ = make_faulty_streams(faults_, kRight);
};

// The way is cut while a reader waits, right before the bytes for which it waits come.
class CutAsBytesCome final : public net::Stream {
 public:
  CutAsBytesCome(std::unique_ptr<net::Stream> inner, std::shared_ptr<SharedNetworkFaults> faults)
      : inner_(std::move(inner)), faults_(std::move(faults)) {}

  Result<size_t> read(std::span<std::byte> into, net::Deadline deadline) override {
    auto n = inner_->read(into, deadline);
    faults_->cut(kLeft, kRight, true);
    return n;
  }
  Status write(std::span<const net::Bytes> pieces, net::Deadline deadline) override {
    return inner_->write(pieces, deadline);
  }
  Status flush(net::Deadline deadline) override { return inner_->flush(deadline); }
  void shut_down() override { inner_->shut_down(); }

 private:
  const std::unique_ptr<net::Stream> inner_;
  const std::shared_ptr<SharedNetworkFaults> faults_;
};

TEST_F(FaultyStream, HoldsBackBytesForAReaderThatWaitsAlready) {
  auto [left, right] = net::make_memory_streams(1 << 10);
  const auto reader =
      right_->wrap(std::make_unique<CutAsBytesCome>(std::move(right), faults_), {"left", ""});
  const net::Data sent = bytes_of("held");
  ASSERT_TRUE(left->write(std::array<net::Bytes, 1>{sent}, soon()).ok());
  ASSERT_TRUE(left->flush(soon()).ok());
  net::Data got(100);
  EXPECT_EQ(reader->read(got, net::after(1ms)).status().code(), Code::kDeadline);
  faults_->cut(kLeft, kRight, false);
  const auto n = reader->read(got, soon());
  ASSERT_TRUE(n.ok()) << n.status().message();
  got.resize(*n);
  EXPECT_EQ(net::text_of(got), "held");
}

TEST_F(FaultyStream, MissesAPeerThatIsCutOffForLong) {
  auto [left, right] = net::make_memory_streams(1 << 16);
  const net::ChannelOptions options;
  net::FramedChannel sender(std::move(left), {"right", ""}, options, nullptr);
  net::FramedChannel receiver(right_->wrap(std::move(right), {"left", ""}), {"left", ""}, options,
                              nullptr);
  const auto state = [&] { return receiver.receive(net::kNoWait, {}).status(); };
  for (int i = 0; i < 10; ++i) {
    sender.beat();
    receiver.beat();
  }
  EXPECT_EQ(state().code(), Code::kDeadline) << "it is there";
  faults_->cut(kLeft, kRight, true);
  for (int i = 0; i < options.missed_beats; ++i) {
    EXPECT_EQ(state().code(), Code::kDeadline) << "not yet missed";
    sender.beat();
    receiver.beat();
  }
  EXPECT_NE(state().message().find("no sign of life"), std::string_view::npos);
}

}  // namespace
}  // namespace shoal::emulate
