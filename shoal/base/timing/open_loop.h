// An open loop: clients that send at a rate of their own, however long the answers take.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace shoal {

struct OpenLoopOptions {
  size_t clients = 1;
  double rate = 1;  // requests per second, of all clients together
  std::chrono::duration<double> time{1};
  // Not 0: what would be sent while so many are on their way is left out. The clients then cost as
  // much as without the limit, which makes the two comparable on a machine that they share with the
  // answers.
  size_t most_at_once = 0;
};

// Lets every client call `request` at its times, on a thread of its own, for so long. A client
// whose request is on its way when the next one is due leaves that out. Returns when the last
// request has ended, with the number of requests. REQUIRES: clients > 0, rate > 0
uint64_t run_open_loop(const OpenLoopOptions& options,
                       const std::function<void(size_t client)>& request);

}  // namespace shoal
