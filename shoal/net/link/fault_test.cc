#include "shoal/net/link/fault.h"

#include <gtest/gtest.h>

#include "shoal/net/test_peers.h"

namespace shoal::net {
namespace {

using namespace std::chrono_literals;

ChannelOptions with(std::shared_ptr<const FaultInjector> injector) {
  ChannelOptions options;
  options.beat = 5ms;
  options.decorators = {std::move(injector)};
  return options;
}

// How many frames get through before the first fault.
int frames_before_cut(uint64_t seed) {
  Pair pair =
      loopback_pair(with(std::make_shared<FaultInjector>(Faults{.seed = seed, .cut = 0.05})));
  for (int i = 0;; ++i)
    if (!send(*pair.left, bytes_of("frame")).ok() || !pair.right->receive(soon()).ok()) return i;
}

TEST(Faults, CutTheConnection) {
  for (const auto connect : {loopback_pair, tls_pair}) {
    const auto injector = std::make_shared<FaultInjector>(Faults{});
    Pair pair = connect(with(injector));
    EXPECT_TRUE(send(*pair.left, bytes_of("before")).ok());
    EXPECT_TRUE(pair.right->receive(soon()).ok());
    injector->cut_all();
    EXPECT_EQ(pair.left->receive(soon()).status().code(), Code::kUnavailable);
    EXPECT_EQ(pair.right->receive(soon()).status().code(), Code::kUnavailable);
  }
}

TEST(Faults, MutePeersUntilTheyAreMissed) {
  for (const auto connect : {loopback_pair, tls_pair}) {
    const auto injector = std::make_shared<FaultInjector>(Faults{});
    Pair pair = connect(with(injector));
    EXPECT_TRUE(send(*pair.right, bytes_of("before")).ok());
    EXPECT_TRUE(pair.left->receive(soon()).ok());
    injector->mute_all();
    const Status gone = pair.left->receive(soon()).status();
    EXPECT_EQ(gone.code(), Code::kUnavailable);
    EXPECT_NE(gone.message().find("no sign of life"), std::string_view::npos) << gone.message();
  }
}

TEST(Faults, StrikeBySeed) {
  bool differs = false;
  for (uint64_t seed = 1; seed < 6; ++seed)
    differs = differs || frames_before_cut(seed) != frames_before_cut(100);
  EXPECT_TRUE(differs);
}

TEST(Faults, DelayAWriteBeyondItsDeadline) {
  Pair pair = loopback_pair(
      with(std::make_shared<FaultInjector>(Faults{.seed = 1, .delay = 1, .delay_time = 1h})));
  EXPECT_EQ(send(*pair.left, bytes_of("late"), {}, after(1ms)).code(), Code::kDeadline);
}

}  // namespace
}  // namespace shoal::net
