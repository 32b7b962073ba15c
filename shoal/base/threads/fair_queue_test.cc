// Whose turn it is, in random histories.
#include "shoal/base/threads/fair_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace shoal {
namespace {

using Rng = std::mt19937;

uint64_t draw(Rng& rng, uint64_t low, uint64_t high) {
  return std::uniform_int_distribution<uint64_t>(low, high)(rng);
}

std::vector<uint64_t> drain(FairQueue& queue) {
  std::vector<uint64_t> order;
  while (const auto first = queue.first()) {
    order.push_back(*first);
    queue.pop();
  }
  return order;
}

// Every request comes out once, and those of one client in order.
TEST(FairQueue, LosesNothingAndKeepsTheOrderOfAClient) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    FairQueue queue;
    std::map<uint64_t, uint64_t> clients;  // of those that wait
    std::map<uint64_t, uint64_t> latest;   // request that came out, by client
    std::set<uint64_t> again;
    uint64_t next = 1;
    for (int i = 0; i < 300; ++i) {
      const uint64_t what = draw(rng, 0, 5);
      if (what <= 2) {
        clients[next] = draw(rng, 0, 4);
        queue.push(next, clients[next]);
        ++next;
      } else if (what == 3) {
        clients[next] = draw(rng, 0, 4);
        again.insert(next);
        queue.push_again(next, clients[next]);
        ++next;
      } else if (what == 4 && !clients.empty()) {
        const uint64_t one =
            std::next(clients.begin(),
                      static_cast<std::ptrdiff_t>(draw(rng, 0, clients.size() - 1)))
                ->first;
        EXPECT_TRUE(queue.remove(one));
        EXPECT_FALSE(queue.remove(one));
        again.erase(one);
        clients.erase(one);
      } else if (const auto first = queue.first()) {
        ASSERT_TRUE(clients.contains(*first));
        if (again.empty()) {
          EXPECT_GT(*first, latest[clients[*first]]);
          latest[clients[*first]] = *first;
        } else {
          EXPECT_EQ(*first, *again.begin()) << "who begins again goes first";
          again.erase(*first);
        }
        clients.erase(*first);
        queue.pop();
      }
      EXPECT_EQ(queue.size(), clients.size());
    }
    EXPECT_EQ(drain(queue).size(), clients.size());
  }
}

// Nobody has two turns while another client waits for one.
TEST(FairQueue, GivesClientsTurns) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    FairQueue queue;
    std::map<uint64_t, uint64_t> clients;
    std::map<uint64_t, size_t> waiting;
    for (uint64_t request = 1; request <= 60; ++request) {
      // The first client sends most.
      const uint64_t client = draw(rng, 0, 1) == 0 ? 0 : draw(rng, 1, 5);
      clients[request] = client;
      ++waiting[client];
      queue.push(request, client);
    }
    std::map<uint64_t, size_t> turns;
    for (const uint64_t request : drain(queue)) {
      const uint64_t client = clients[request];
      ++turns[client];
      for (const auto& [other, all] : waiting) {
        if (turns[other] == all) continue;
        EXPECT_LE(turns[client], turns[other] + 1);
      }
    }
  }
}

TEST(FairQueue, SaysHowManyComeBefore) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    FairQueue queue;
    uint64_t request = 1;
    const uint64_t others = draw(rng, 0, 40);
    while (request <= others) {
      const uint64_t client = draw(rng, 0, 4);
      draw(rng, 0, 9) == 0 ? queue.push_again(request, client) : queue.push(request, client);
      ++request;
    }
    const uint64_t turns = draw(rng, 0, queue.size());
    for (uint64_t i = 0; i < turns; ++i) queue.pop();
    const uint64_t client = draw(rng, 0, 5);
    const size_t ahead = queue.ahead_of(client);
    queue.push(request, client);
    const std::vector<uint64_t> order = drain(queue);
    const auto at = static_cast<size_t>(std::ranges::find(order, request) - order.begin());
    EXPECT_LE(at, ahead);
    EXPECT_LE(ahead, at + 5) << "others have one turn more at most";
  }
}

// If the queue is full, the newest request of the client with the most gives way to a client with
// less, and to no other.
TEST(FairQueue, LetsTheClientWithTheMostGiveWay) {
  FairQueue queue;
  EXPECT_EQ(queue.to_give_way_to(1), std::nullopt);
  for (uint64_t request : {1u, 2u, 3u}) queue.push(request, 7);
  queue.push(4, 8);
  EXPECT_EQ(queue.to_give_way_to(9), 3u);
  EXPECT_EQ(queue.to_give_way_to(8), 3u);
  EXPECT_EQ(queue.to_give_way_to(7), std::nullopt);
  queue.remove(3);
  EXPECT_EQ(queue.to_give_way_to(9), 2u);
  EXPECT_EQ(queue.to_give_way_to(8), std::nullopt) << "they would only change places";
}

}  // namespace
}  // namespace shoal
