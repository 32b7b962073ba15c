// Dealer: which of several workers answers the next request of a stream, where each of them can
// answer it alone. It has no clock and no I/O.
//
// A request goes to a worker that has nothing to do, or else to the one that would be done with it
// first, by what it has to do, by how long it has been at it and by how fast it was lately. So a
// worker of two that are about as fast has its next request before it is done, and does not wait
// while an answer goes to a client and a request comes back. Turns that are dealt out beforehand
// are as good only as the speeds they were made from: of two workers, one of which became half as
// fast, the other would wait for half of the time.
#pragma once

#include <chrono>
#include <map>

namespace shoal::cluster {

// Not thread-safe.
class Dealer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // The workers, and how many requests in a round they would have: their speeds, as far as they are
  // known beforehand. What was learned of those that were there before is kept.
  void set_workers(const std::map<int, size_t>& requests);
  bool has_workers() const { return !workers_.empty(); }

  // The worker of the next request, which begins. Where nobody has anything to do, it is `usual`,
  // so that speeds of all become known. REQUIRES: there are workers.
  int begin(int usual, Time now);
  // A request of this worker has ended, with an answer or without. Others than those that
  // are there now are ignored. REQUIRES: time does not go back.
  void end(int worker, bool is_answered, Time now);

 private:
  struct Worker {
    double share = 1;     // of the requests of a round
    size_t requests = 0;  // that it has
    double seconds = 0;   // of a request; 0: not known yet
    Time since = {};      // it works at the request that ends next
  };

  std::map<int, Worker> workers_;
};

}  // namespace shoal::cluster
