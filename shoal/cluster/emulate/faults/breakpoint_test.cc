#include "shoal/cluster/emulate/faults/breakpoint.h"

#include <gtest/gtest.h>

#include <thread>

#include "shoal/cluster/net/peers_testing.h"

namespace shoal::emulate {
namespace {

TEST(Breakpoint, HoldsAMachineThatGetsToItsPoint) {
  const net::TestFolder folder;
  const auto ours = *Breakpoint::open(folder.path() / "breakpoint");
  const auto theirs = *Breakpoint::open(folder.path() / "breakpoint");
  theirs->hit(2, 3);  // not set
  ours->arm(2, 3);
  theirs->hit(2, 4);
  theirs->hit(1, 3);
  std::atomic<bool> released = false;
  std::thread caught([&] {
    theirs->hit(2, 3);
    EXPECT_TRUE(released) << "it went on before";
  });
  EXPECT_TRUE(ours->wait_hit(net::soon()));
  released = true;
  ours->release();
  caught.join();
  theirs->hit(2, 3);  // only once
}

TEST(Breakpoint, IsGivenUpWhereNobodyComes) {
  const net::TestFolder folder;
  const auto breakpoint = *Breakpoint::open(folder.path() / "breakpoint");
  breakpoint->arm(0, 0);
  EXPECT_FALSE(breakpoint->wait_hit(net::after(std::chrono::milliseconds(1))));
  breakpoint->hit(0, 0);
}

}  // namespace
}  // namespace shoal::emulate
