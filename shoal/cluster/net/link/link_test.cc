#include "shoal/cluster/net/link/link.h"

#include <gtest/gtest.h>

#include <thread>

#include "shoal/cluster/net/channel/chunk.h"
#include "shoal/cluster/net/link/link_clock.h"
#include "shoal/cluster/net/peers_testing.h"

namespace shoal::net {
namespace {

using namespace std::chrono_literals;
using Clock = Medium::Clock;

const Clock::time_point kStart{1000s};

LinkClock clock_of(const LinkSpec& spec, std::vector<std::shared_ptr<Medium>> media = {},
                   const std::shared_ptr<Radio>& radio = Radio::create()) {
  LinkOptions options;
  options.spec = spec;
  options.sender = options.receiver = radio;
  options.media = std::move(media);
  return LinkClock(options, 1);
}

LinkSpec megabytes_per_second(double count) {
  LinkSpec spec;
  spec.bits_per_second = 8e6 * count;
  return spec;
}

TEST(Link, TakesTheTimeOfItsBandwidthAndLatency) {
  LinkSpec spec = megabytes_per_second(1);
  spec.latency = 3ms;
  LinkClock clock = clock_of(spec);
  const auto first = clock.transfer(10'000, kStart);
  EXPECT_EQ(first.left - kStart, 10ms);
  EXPECT_EQ(first.arrives - kStart, 13ms);
  // Behind the first, although it is sent at the same time.
  EXPECT_EQ(clock.transfer(5'000, kStart).arrives - kStart, 18ms);
  // The link was free in between.
  EXPECT_EQ(clock.transfer(1'000, kStart + 1s).arrives - kStart, 1s + 4ms);
}

TEST(Link, WakesTheRadioAfterItWasIdle) {
  LinkSpec spec = megabytes_per_second(1);
  spec.wake_up = 54ms;
  spec.asleep_after = 100ms;
  LinkClock clock = clock_of(spec);
  EXPECT_EQ(clock.transfer(1'000, kStart).left - kStart, 55ms) << "asleep at first";
  EXPECT_EQ(clock.transfer(1'000, kStart + 155ms).left - kStart, 156ms) << "still awake";
  EXPECT_EQ(clock.transfer(1'000, kStart + 257ms).left - kStart, 257ms + 55ms);
}

// Idle peers do not keep each other's radios awake.
TEST(Link, LetsSignsOfLifePassWithoutWakingAnybody) {
  LinkSpec spec = megabytes_per_second(1);
  spec.wake_up = 54ms;
  spec.asleep_after = 100ms;
  LinkClock clock = clock_of(spec);
  EXPECT_EQ(clock.transfer(kChunkHeaderBytes, kStart).arrives, kStart);
  const auto woken = clock.transfer(1'000, kStart + 10ms);
  EXPECT_EQ(woken.left - kStart, 10ms + 55ms);
  EXPECT_EQ(clock.transfer(kChunkHeaderBytes, kStart + 20ms).arrives, woken.arrives)
      << "behind what is on its way";
}

TEST(Link, HasOneRadioForAllChannelsOfADevice) {
  LinkSpec spec;
  spec.wake_up = 54ms;
  spec.asleep_after = 100ms;
  const auto radio = Radio::create();
  LinkClock one = clock_of(spec, {}, radio);
  LinkClock other = clock_of(spec, {}, radio);
  EXPECT_EQ(one.transfer(1, kStart).left - kStart, 54ms);
  EXPECT_EQ(other.transfer(1, kStart + 60ms).left - kStart, 60ms);
  radio->used_until(kStart + 300ms);  // as by receiving
  EXPECT_EQ(one.transfer(1, kStart + 350ms).left - kStart, 350ms);
}

TEST(Link, WakesTheOneWhoReceives) {
  LinkOptions to_one, to_other;
  to_one.spec.wake_up = 54ms;
  to_one.spec.asleep_after = 100ms;
  to_one.sender = Radio::create();
  to_other = to_one;
  to_one.receiver = Radio::create();
  to_other.receiver = Radio::create();
  LinkClock one(to_one, 1), other(to_other, 1);
  EXPECT_EQ(one.transfer(1, kStart).left - kStart, 54ms);
  EXPECT_EQ(one.transfer(1, kStart + 10ms).left - kStart, 54ms) << "not awake yet";
  EXPECT_EQ(one.transfer(1, kStart + 60ms).left - kStart, 60ms);
  EXPECT_EQ(other.transfer(1, kStart + 60ms).left - kStart, 114ms) << "that one slept on";
  EXPECT_EQ(to_one.sender->wake(kStart + 200ms, 100ms, 54ms), kStart + 200ms);
}

TEST(Link, LetsBytesPassWhileItIsNotShaped) {
  LinkOptions options;
  options.spec = megabytes_per_second(1);
  options.sender = options.receiver = Radio::create();
  bool shaped = true;
  options.shaped = [&] { return shaped; };
  LinkClock clock(options, 1);
  EXPECT_EQ(clock.transfer(10'000, kStart).arrives - kStart, 10ms);
  shaped = false;
  EXPECT_EQ(clock.transfer(10'000, kStart + 2ms).arrives - kStart, 10ms) << "in order all the same";
  EXPECT_EQ(clock.transfer(10'000, kStart + 12ms).arrives - kStart, 12ms);
}

TEST(Link, KeepsTheOrderWhateverTheJitter) {
  LinkSpec spec;
  spec.jitter = 10ms;
  LinkClock clock = clock_of(spec);
  Clock::time_point last{};
  bool varies = false;
  for (int i = 0; i < 1000; ++i) {
    const auto now = kStart + i * 1ms;
    const auto arrives = clock.transfer(1, now).arrives;
    EXPECT_GE(arrives, last);
    EXPECT_GE(arrives, now);
    EXPECT_LE(arrives, now + 10ms);
    varies = varies || arrives != now;
    last = arrives;
  }
  EXPECT_TRUE(varies);
}

TEST(Link, PaysForPacketsThatAreLost) {
  LinkSpec spec = megabytes_per_second(1);
  spec.loss = 1;
  spec.retransmit_after = 200ms;
  spec.packet_bytes = 1'000;
  const auto transfer = clock_of(spec).transfer(3'000, kStart);
  EXPECT_EQ(transfer.left - kStart, 6ms);
  EXPECT_EQ(transfer.arrives - kStart, 206ms);
  spec.loss = 0.01;
  LinkClock clock = clock_of(spec);
  int late = 0;
  Clock::time_point now = kStart;
  for (int i = 0; i < 10'000; ++i, now += 1s)
    if (clock.transfer(1'000, now).arrives - now > 1ms) ++late;
  EXPECT_NEAR(late, 100, 50);
}

TEST(Link, SharesAMedium) {
  const auto air = Medium::create();
  LinkClock one = clock_of(megabytes_per_second(1), {air});
  LinkClock other = clock_of(megabytes_per_second(1), {air});
  EXPECT_EQ(one.transfer(10'000, kStart).left - kStart, 10ms);
  EXPECT_EQ(other.transfer(10'000, kStart).left - kStart, 20ms);
  EXPECT_EQ(one.transfer(10'000, kStart + 1ms).left - kStart, 30ms);
}

TEST(Link, NeedsTheCablesOfBothEnds) {
  const auto a = Medium::create(), b = Medium::create(), receiver = Medium::create();
  LinkClock from_a = clock_of(megabytes_per_second(1), {a, receiver});
  LinkClock from_b = clock_of(megabytes_per_second(1), {b, receiver});
  EXPECT_EQ(from_a.transfer(10'000, kStart).left - kStart, 10ms);
  EXPECT_EQ(from_b.transfer(10'000, kStart).left - kStart, 20ms);
}

TEST(Link, IsSlowerByTheDilation) {
  LinkSpec spec = megabytes_per_second(1);
  spec.latency = 3ms;
  spec.wake_up = 50ms;
  LinkClock clock = clock_of(dilated(spec, 10));
  EXPECT_EQ(clock.transfer(10'000, kStart).arrives - kStart, 10 * (50ms + 10ms + 3ms));
}

TEST(Medium, IsOneForAllWhoOpenTheSameFile) {
  const TestFolder folder;
  auto one = Medium::open(folder.path() / "air");
  auto other = Medium::open(folder.path() / "air");
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ((*one)->reserve(kStart, 10ms), kStart + 10ms);
  EXPECT_EQ((*other)->reserve(kStart, 10ms), kStart + 20ms);
  EXPECT_FALSE(Medium::open(folder.path() / "no" / "such").ok());
}

TEST(Medium, GivesEachMomentToOneThread) {
  const auto air = Medium::create();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) (void)air->reserve(kStart, 1ms);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(air->reserve(kStart, 0ms), kStart + 4s);
}

Pair pair_over(const LinkSpec& spec, Pair (*connect)(const ChannelOptions&)) {
  LinkOptions link;
  link.spec = spec;
  ChannelOptions options;
  options.decorators = {make_link(link)};
  return connect(options);
}

TEST(Link, CarriesFramesUnchanged) {
  LinkSpec spec = megabytes_per_second(200);
  spec.latency = 100us;
  spec.jitter = 100us;
  spec.loss = 0.01;
  spec.retransmit_after = 1ms;
  for (const auto connect : {loopback_pair, tls_pair}) {
    Pair pair = pair_over(spec, connect);
    std::thread sender([&] {
      for (size_t i = 0; i < 20; ++i)
        EXPECT_TRUE(
            send(*pair.left, bytes_of(std::to_string(i)), random_bytes(i * 10'000, i)).ok());
    });
    for (size_t i = 0; i < 20; ++i) {
      auto frame = pair.right->receive(soon());
      ASSERT_TRUE(frame.ok()) << frame.status().message();
      EXPECT_EQ(text_of(frame->control), std::to_string(i));
      EXPECT_TRUE(equal(frame->payload.bytes, random_bytes(i * 10'000, i)));
    }
    sender.join();
  }
}

TEST(Link, HoldsBackASenderWhoIsTooFast) {
  Pair pair = pair_over(megabytes_per_second(0.001), loopback_pair);
  const Status slow = send(*pair.left, {}, Data(size_t{1} << 20), after(20ms));
  EXPECT_EQ(slow.code(), Code::kDeadline) << slow.message();
}

TEST(Link, WakesASenderWhenItIsClosed) {
  Pair pair = pair_over(megabytes_per_second(0.001), loopback_pair);
  std::thread sender(
      [&] { EXPECT_EQ(send(*pair.left, {}, Data(size_t{1} << 20)).code(), Code::kUnavailable); });
  pair.left->close();
  sender.join();
}

}  // namespace
}  // namespace shoal::net
