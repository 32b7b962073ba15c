// Dealer: chooses the worker that answers the next request of a stream, if each worker can answer
// it alone. No clock and no I/O.
//
// A request goes to an idle worker, or else to the one that would finish it first, by the requests
// it has, the time since it began and its recent speed. So one of two about equally fast workers
// has its next request before it is done, and does not wait while an answer goes to a client and a
// request comes back. Fixed turns are only as good as the speeds they were made from: if one of two
// workers became half as fast, the other would be idle half of the time.
#pragma once

#include <chrono>
#include <map>

namespace shoal::cluster {

// Not thread-safe.
class Dealer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // The workers, and their requests in a round: their speeds, as far as these are known beforehand.
  // What was learned of workers that stay is kept.
  void set_workers(const std::map<int, size_t>& requests);
  bool has_workers() const { return !workers_.empty(); }

  // The worker of the next request, which begins. If all are idle, it is `usual`, so that the
  // speeds of all become known. REQUIRES: there are workers.
  int begin(int usual, Time now);
  // A request of this worker has ended, with an answer or without. Unknown workers are ignored.
  // REQUIRES: time does not go back.
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
