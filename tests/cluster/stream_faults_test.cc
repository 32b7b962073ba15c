#include "stream_faults.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "shoal/cluster/net/channel/framed_channel.h"
#include "shoal/cluster/net/channel/memory_stream.h"
#include "shoal/cluster/net/peers_testing.h"

namespace shoal::net {
namespace {

using namespace std::chrono_literals;

ChannelOptions with(std::shared_ptr<const StreamFaultInjector> injector) {
  ChannelOptions options;
  options.beat = 1h;  // no clock decides what happens
  options.decorators = {std::move(injector)};
  return options;
}

TEST(Faults, CutTheConnection) {
  for (const auto connect : {loopback_pair, tls_pair}) {
    const auto injector = std::make_shared<StreamFaultInjector>(Faults{});
    Pair pair = connect(with(injector));
    EXPECT_TRUE(send(*pair.left, bytes_of("before")).ok());
    EXPECT_TRUE(pair.right->receive(soon()).ok());
    injector->cut_all();
    EXPECT_EQ(pair.left->receive(soon()).status().code(), Code::kUnavailable);
    EXPECT_EQ(pair.right->receive(soon()).status().code(), Code::kUnavailable);
  }
}

// Heartbeats are driven by hand.
TEST(Faults, MutePeersUntilTheyAreMissed) {
  const StreamFaultInjector injector{Faults{}};
  const ChannelOptions options;
  auto [one, other] = make_memory_streams(1 << 16);
  FramedChannel left(injector.wrap(std::move(one), {"right", ""}), {"right", ""}, options, nullptr);
  FramedChannel right(std::move(other), {"left", ""}, options, nullptr);
  const auto beat = [&](int times) {
    for (int i = 0; i < times; ++i) {
      right.beat();
      left.beat();
    }
    return left.receive(kNoWait, {}).status();
  };
  EXPECT_EQ(beat(10).code(), Code::kDeadline) << "it is there";
  injector.mute_all();
  EXPECT_EQ(beat(options.missed_beats - 1).code(), Code::kDeadline) << "not yet missed";
  const Status gone = beat(1);
  EXPECT_EQ(gone.code(), Code::kUnavailable);
  EXPECT_NE(gone.message().find("no sign of life"), std::string_view::npos) << gone.message();
}

// How many writes go through before a stream of this injector is cut.
int writes_before_cut(const StreamFaultInjector& injector) {
  auto [near, far] = make_memory_streams(1 << 16);
  const auto stream = injector.wrap(std::move(near), {"far", ""});
  const Data byte(1);
  for (int i = 0;; ++i) {
    if (!stream->write(std::array<Bytes, 1>{byte}, soon()).ok()) return i;
  }
}

// For the first streams of an injector, one after the other.
std::vector<int> strikes(uint64_t seed) {
  const StreamFaultInjector injector{Faults{.seed = seed, .cut = 0.05}};
  std::vector<int> writes;
  for (int i = 0; i < 4; ++i) writes.push_back(writes_before_cut(injector));
  return writes;
}

TEST(Faults, StrikeBySeed) {
  std::set<std::vector<int>> all;
  for (uint64_t seed = 100; seed < 120; ++seed) {
    EXPECT_EQ(strikes(seed), strikes(seed)) << "the same seed gives the same faults";
    all.insert(strikes(seed));
  }
  EXPECT_EQ(all.size(), 20u) << "another seed gives others";
}

TEST(Faults, DelayAWriteBeyondItsDeadline) {
  Pair pair = loopback_pair(
      with(std::make_shared<StreamFaultInjector>(Faults{.seed = 1, .delay = 1, .delay_time = 1h})));
  EXPECT_EQ(send(*pair.left, bytes_of("late"), {}, after(1ms)).code(), Code::kDeadline);
}

}  // namespace
}  // namespace shoal::net
