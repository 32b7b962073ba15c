#include "shoal/emulate/breakpoint.h"

#include <gtest/gtest.h>

#include <thread>

#include "shoal/net/test_peers.h"

namespace shoal::emulate {
namespace {

TEST(Breakpoint, HoldsAMachineThatGetsToItsPoint) {
  const net::TestFolder folder;
  const auto ours = *Breakpoint::open(folder.path() / "breakpoint");
  const auto theirs = *Breakpoint::open(folder.path() / "breakpoint");
  theirs->pass(2, 3);  // not set
  ours->set(2, 3);
  theirs->pass(2, 4);
  theirs->pass(1, 3);
  std::atomic<bool> released = false;
  std::thread caught([&] {
    theirs->pass(2, 3);
    EXPECT_TRUE(released) << "it went on before";
  });
  EXPECT_TRUE(ours->await(net::soon()));
  released = true;
  ours->release();
  caught.join();
  theirs->pass(2, 3);  // only once
}

TEST(Breakpoint, IsGivenUpWhereNobodyComes) {
  const net::TestFolder folder;
  const auto breakpoint = *Breakpoint::open(folder.path() / "breakpoint");
  breakpoint->set(0, 0);
  EXPECT_FALSE(breakpoint->await(net::after(std::chrono::milliseconds(1))));
  breakpoint->pass(0, 0);
}

}  // namespace
}  // namespace shoal::emulate
