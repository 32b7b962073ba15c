// What holds of every channel, whatever it goes over.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "shoal/base/limits.h"
#include "shoal/cluster/net/peers_testing.h"

namespace shoal::net {
namespace {

struct Kind {
  const char* name;
  Pair (*connect)(const ChannelOptions&);
};

class Channels : public testing::TestWithParam<Kind> {
 protected:
  Pair connect(const ChannelOptions& options = {}) const { return GetParam().connect(options); }
};

INSTANTIATE_TEST_SUITE_P(All, Channels,
                         testing::Values(Kind{"Loopback", loopback_pair}, Kind{"Tls", tls_pair}),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(Channels, CarryAnyFrame) {
  Pair pair = connect();
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    const size_t largest = size_t{1} << (random() % 20);
    const Data control = random_bytes(random() % 300, random());
    Data payload = random_bytes(random() % largest, random());
    std::vector<Bytes> pieces;
    for (Bytes left(payload); !left.empty();) {
      const size_t n = std::min<size_t>(left.size(), random() % (largest + 1));
      pieces.push_back(left.first(n));
      left = left.subspan(n);
    }
    auto sent = std::async(std::launch::async, [&] {
      return pair.left->send({.control = control, .payload = pieces}, soon());
    });
    auto frame = pair.right->receive(soon());
    ASSERT_TRUE(frame.ok()) << frame.status().message();
    EXPECT_TRUE(sent.get().ok());
    EXPECT_EQ(frame->control, control);
    EXPECT_TRUE(equal(frame->payload.bytes, payload));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(frame->payload.bytes.data()) % 64, 0u);
  }
}

TEST_P(Channels, KeepTheOrderOfEachSender) {
  Pair pair = connect();
  constexpr int kSenders = 4;
  constexpr int kFrames = 100;
  std::vector<std::thread> senders;
  for (int s = 0; s < kSenders; ++s)
    senders.emplace_back([&, s] {
      for (int i = 0; i < kFrames; ++i) {
        const Data payload(static_cast<size_t>(i) * 2000, static_cast<std::byte>(s));
        const Data control = bytes_of(std::to_string(s) + " " + std::to_string(i));
        const Status status =
            s == 0 ? send_urgent(*pair.left, control) : send(*pair.left, control, payload);
        EXPECT_TRUE(status.ok()) << status.message();
      }
    });
  std::array<int, kSenders> next{};
  for (int i = 0; i < kSenders * kFrames; ++i) {
    auto frame = pair.right->receive(soon());
    ASSERT_TRUE(frame.ok()) << frame.status().message();
    const std::string text = text_of(frame->control);
    const auto s = static_cast<size_t>(text[0] - '0');
    EXPECT_EQ(text.substr(2), std::to_string(next.at(s)++));
    const Data want(frame->payload.bytes.size(), static_cast<std::byte>(s));
    EXPECT_TRUE(equal(frame->payload.bytes, want));
  }
  for (auto& sender : senders) sender.join();
}

TEST_P(Channels, CarryBothWaysAtOnce) {
  Pair pair = connect();
  const Data payload = random_bytes(size_t{3} << 20, 5);
  const auto talk = [&](Channel& channel) {
    std::thread sender([&] {
      for (int i = 0; i < 5; ++i) EXPECT_TRUE(send(channel, bytes_of("bulk"), payload).ok());
    });
    for (int i = 0; i < 5; ++i) {
      auto frame = channel.receive(soon());
      ASSERT_TRUE(frame.ok()) << frame.status().message();
      EXPECT_TRUE(equal(frame->payload.bytes, payload));
    }
    sender.join();
  };
  std::thread left([&] { talk(*pair.left); });
  talk(*pair.right);
  left.join();
}

TEST_P(Channels, LetUrgentFramesOvertakeBulk) {
  Pair pair = connect();
  const Data payload = random_bytes(size_t{4} << 20, 2);
  std::atomic<bool> stop = false;
  std::thread bulk([&] {
    while (!stop) EXPECT_TRUE(send(*pair.left, bytes_of("bulk"), payload).ok());
    EXPECT_TRUE(send(*pair.left, bytes_of("end")).ok());
  });
  std::thread urgent([&] {
    while (!stop) EXPECT_TRUE(send_urgent(*pair.left, bytes_of("urgent")).ok());
  });
  bool half_here = false;
  const Place place = [&](Bytes, size_t size) {
    half_here = true;
    return Buffer::allocate(size);
  };
  int bulks = 0;
  int overtaking = 0;
  for (std::string what; what != "end";) {
    auto frame = pair.right->receive(soon(), place);
    ASSERT_TRUE(frame.ok()) << frame.status().message();
    what = text_of(frame->control);
    if (what == "urgent" && half_here) ++overtaking;
    if (what == "bulk") {
      EXPECT_TRUE(equal(frame->payload.bytes, payload));
      half_here = false;
      ++bulks;
    }
    stop = overtaking > 0 || bulks == 1000;
  }
  bulk.join();
  urgent.join();
  EXPECT_GT(overtaking, 0);
}

TEST_P(Channels, PutThePayloadWhereTheReceiverWants) {
  Pair pair = connect();
  const Data payload = random_bytes(100'000, 3);
  std::thread sender([&] { EXPECT_TRUE(send(*pair.left, bytes_of("here"), payload).ok()); });
  auto mine = std::make_shared<Data>(payload.size());
  auto frame = pair.right->receive(soon(), [&](Bytes control, size_t size) -> Result<Buffer> {
    EXPECT_TRUE(equal(control, bytes_of("here")));
    EXPECT_EQ(size, payload.size());
    return Buffer{mine, *mine};
  });
  sender.join();
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame->payload.bytes.data(), mine->data());
  EXPECT_EQ(*mine, payload);
}

TEST_P(Channels, DropAPayloadThatHasNoPlace) {
  Pair pair = connect();
  const Data payload = random_bytes(300'000, 3);
  std::thread sender([&] {
    EXPECT_TRUE(send(*pair.left, bytes_of("unwanted"), payload).ok());
    EXPECT_TRUE(send(*pair.left, bytes_of("wanted"), payload).ok());
  });
  auto refused = pair.right->receive(
      soon(), [](Bytes, size_t) -> Result<Buffer> { return Status(Code::kNotFound, "no such"); });
  auto wanted = pair.right->receive(soon());
  sender.join();
  EXPECT_EQ(refused.status().code(), Code::kNotFound);
  ASSERT_TRUE(wanted.ok()) << wanted.status().message();
  EXPECT_EQ(text_of(wanted->control), "wanted");
  EXPECT_TRUE(equal(wanted->payload.bytes, payload));
}

TEST_P(Channels, SayThatNothingCameAndGoOn) {
  Pair pair = connect();
  auto nothing = pair.right->receive(after(std::chrono::milliseconds(1)));
  EXPECT_EQ(nothing.status().code(), Code::kDeadline);
  EXPECT_NE(nothing.status().message().find("left"), std::string_view::npos);
  EXPECT_TRUE(send(*pair.left, bytes_of("late")).ok());
  auto late = pair.right->receive(soon());
  ASSERT_TRUE(late.ok());
  EXPECT_EQ(text_of(late->control), "late");
}

TEST_P(Channels, GiveUpOnASlowReaderAndGoOn) {
  Pair pair = connect();
  const Data payload = random_bytes(size_t{24} << 20, 4);
  const Status slow =
      send(*pair.left, bytes_of("bulk"), payload, after(std::chrono::milliseconds(50)));
  EXPECT_EQ(slow.code(), Code::kDeadline);
  EXPECT_NE(slow.message().find("right"), std::string_view::npos);
  // Who reads at last finds no part of the frame that was given up.
  std::thread sender([&] { EXPECT_TRUE(send(*pair.left, bytes_of("next"), payload).ok()); });
  auto next = pair.right->receive(soon());
  sender.join();
  ASSERT_TRUE(next.ok()) << next.status().message();
  EXPECT_EQ(text_of(next->control), "next");
  EXPECT_TRUE(equal(next->payload.bytes, payload));
}

TEST_P(Channels, RefuseToSendWhatIsTooLarge) {
  Pair pair = connect();
  const Data large(kLimits.max_control_bytes + 1);
  EXPECT_EQ(send(*pair.left, large).code(), Code::kInvalidArgument);
  EXPECT_EQ(send_urgent(*pair.left, Data(kMaxUrgentBytes + 1)).code(), Code::kInvalidArgument);
  const Bytes piece(large);
  EXPECT_EQ(pair.left->send({.control = {}, .payload = {&piece, 1}, .urgent = true}, soon()).code(),
            Code::kInvalidArgument);
  EXPECT_TRUE(send(*pair.left, bytes_of("ok")).ok());
  EXPECT_TRUE(pair.right->receive(soon()).ok());
}

TEST_P(Channels, CutOffAPeerWhosePayloadExceedsTheLimit) {
  ChannelOptions options;
  options.max_payload_bytes = 1000;
  Pair pair = connect(options);
  (void)send(*pair.left, {}, Data(1001));
  EXPECT_EQ(pair.right->receive(soon()).status().code(), Code::kCorrupt);
  EXPECT_FALSE(pair.left->receive(soon()).ok());
}

TEST_P(Channels, WakeEverybodyWhenClosedHere) {
  Pair pair = connect();
  const Data payload(size_t{64} << 20);
  auto receiver =
      std::async(std::launch::async, [&] { return pair.left->receive(soon()).status(); });
  std::vector<std::future<Status>> senders;
  for (int i = 0; i < 3; ++i)
    senders.push_back(
        std::async(std::launch::async, [&] { return send(*pair.left, {}, payload); }));
  // One of the senders has begun, so that the others wait for their turn.
  ASSERT_TRUE(
      pair.right
          ->receive(soon(),
                    [](Bytes, size_t) -> Result<Buffer> { return Status(Code::kNotFound, "seen"); })
          .status()
          .code() == Code::kNotFound);
  pair.left->close();
  EXPECT_EQ(receiver.get().code(), Code::kUnavailable);
  for (auto& sender : senders) EXPECT_EQ(sender.get().code(), Code::kUnavailable);
  EXPECT_EQ(send(*pair.left, bytes_of("after")).code(), Code::kUnavailable);
}

TEST_P(Channels, SayThatThePeerIsGone) {
  Pair pair = connect();
  EXPECT_TRUE(send(*pair.right, bytes_of("last words")).ok());
  pair.right.reset();
  auto words = pair.left->receive(soon());
  ASSERT_TRUE(words.ok()) << words.status().message();
  EXPECT_EQ(text_of(words->control), "last words");
  const Status gone = pair.left->receive(soon()).status();
  EXPECT_EQ(gone.code(), Code::kUnavailable);
  EXPECT_NE(gone.message().find("right"), std::string_view::npos) << gone.message();
}

TEST_P(Channels, CountTheirTraffic) {
  Pair pair = connect();
  EXPECT_TRUE(send(*pair.left, Data(10), Data(1000)).ok());
  ASSERT_TRUE(pair.right->receive(soon()).ok());
  EXPECT_EQ(pair.left->traffic().sent, 8u + 8 + 10 + 8 + 1000);
  EXPECT_GE(pair.right->traffic().received, pair.left->traffic().sent);
}

TEST_P(Channels, OutliveTransportAndListener) {
  Pair pair = connect();
  pair.listener.reset();
  pair.left_transport.reset();
  pair.right_transport.reset();
  EXPECT_TRUE(send(*pair.left, bytes_of("still")).ok());
  EXPECT_TRUE(pair.right->receive(soon()).ok());
}

}  // namespace
}  // namespace shoal::net
