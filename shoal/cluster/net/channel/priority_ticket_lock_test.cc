#include "shoal/cluster/net/channel/priority_ticket_lock.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "shoal/cluster/net/peers_testing.h"
#include "shoal/cluster/net/stream.h"

namespace shoal::net {
namespace {

using Lane = PriorityTicketLock::Lane;
using Got = PriorityTicketLock::Got;

// Callers that come one after another while the lock is held, and write down their turns.
class Lanes : public testing::Test {
 protected:
  Lanes() { EXPECT_EQ(lock_.take(Lane::kOrdinary, soon()), Got::kTurn); }

  void come(Lane lane, char name) {
    const size_t before = lock_.waiting();
    callers_.emplace_back([this, lane, name] {
      EXPECT_EQ(lock_.take(lane, soon()), Got::kTurn);
      order_ += name;
      lock_.give();
    });
    while (lock_.waiting() == before) std::this_thread::yield();  // until it stands in its lane
  }
  // The turns, in order.
  std::string leave() {
    lock_.give();
    for (std::thread& caller : callers_) caller.join();
    return order_;
  }

  PriorityTicketLock lock_;
  std::vector<std::thread> callers_;
  std::string order_;  // guarded by lock_
};

TEST_F(Lanes, GoOneBeforeTheOther) {
  come(Lane::kBulk, 'b');
  come(Lane::kOrdinary, 'o');
  come(Lane::kBulk, 'B');
  come(Lane::kExpress, 'e');
  come(Lane::kOrdinary, 'O');
  EXPECT_EQ(leave(), "eoObB");
}

TEST_F(Lanes, DoNotStarveBulk) {
  come(Lane::kBulk, 'b');
  come(Lane::kBulk, 'b');
  for (int i = 0; i < 2 * PriorityTicketLock::kPatience + 1; ++i) come(Lane::kOrdinary, 'o');
  const std::string some(PriorityTicketLock::kPatience, 'o');
  EXPECT_EQ(leave(), some + "b" + some + "bo");
}

TEST_F(Lanes, LetOthersGoWhenAWaiterGivesUp) {
  EXPECT_EQ(lock_.take(Lane::kExpress, kNoWait), Got::kDeadline);
  EXPECT_EQ(lock_.take(Lane::kBulk, kNoWait), Got::kDeadline);
  come(Lane::kBulk, 'b');
  EXPECT_EQ(leave(), "b");
}

TEST_F(Lanes, EndForAllAtOnce) {
  std::thread stopped([&] { EXPECT_EQ(lock_.take(Lane::kBulk, soon()), Got::kStopped); });
  while (lock_.waiting() == 0) std::this_thread::yield();
  lock_.stop();
  stopped.join();
  EXPECT_EQ(lock_.take(Lane::kExpress, soon()), Got::kStopped);
}

}  // namespace
}  // namespace shoal::net
