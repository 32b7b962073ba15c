// An open loop: clients send at a fixed rate, however long the answers take.
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
  // If not 0, requests due while this many are in flight are skipped. The clients then cost as much
  // as without the limit, which keeps the two comparable on a machine that also computes the
  // answers.
  size_t most_at_once = 0;
};

// Lets every client call `request` at its times for `options.time`, each on its own thread. A
// client whose request is in flight when the next one is due skips that one. Returns when the last
// request has ended, with the number of requests. REQUIRES: clients > 0, rate > 0
uint64_t run_open_loop(const OpenLoopOptions& options,
                       const std::function<void(size_t client)>& request);

}  // namespace shoal
