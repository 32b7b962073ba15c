// WeightSchedule: decides which chunk of which weight is sent next, and to whom.
//
// Workers take turns, chunk by chunk, at one pace for all of them (bulk_pacer.h). A chunk
// counts once its worker has acknowledged it. A weight that turned out wrong, or was dropped, is
// sent again from where the worker says.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/cluster/coordinator/policy/bulk_pacer.h"
#include "shoal/cluster/messages/wire.h"

namespace shoal::cluster {

struct WeightChunk {
  int worker = 0;
  Hash hash;
  uint64_t offset = 0;
  size_t bytes = 0;
};

// Bytes of the weights that a worker lacked, in part or as a whole.
struct WeightProgress {
  uint64_t done = 0;  // that it has
  uint64_t total = 0;
  uint64_t sent = 0;  // to it
};
using WeightsProgress = std::map<int, WeightProgress>;  // by worker
WeightProgress sum_of(const WeightsProgress& progress);

// It has no I/O, no threads and no clock: time is given in. Not thread-safe.
class WeightSchedule {
 public:
  using Time = BulkPacer::Time;

  struct Weight {
    Hash hash;
    uint64_t bytes = 0;
    uint64_t have = 0;  // that the worker has, from the beginning. REQUIRES: at most `bytes`
  };

  // A worker that acknowledges nothing for `timeout` while it should fails.
  explicit WeightSchedule(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  // Once for each worker.
  void add(int worker, const std::vector<Weight>& weights);

  // The next chunk, which counts as sent at `now`. Nothing: not before next_time() or the next
  // acknowledgement, or nothing is left.
  std::optional<WeightChunk> next(Time now);
  // The worker has so many bytes of a weight, from its beginning.
  void acknowledge(int worker, const Hash& hash, uint64_t have, Time now);

  // The worker cannot go on.
  void fail(int worker, const Status& why);

  bool is_done() const;  // all is acknowledged
  // The worker that failed, and why: kDeadline if it is silent, kCorrupt if it keeps losing a
  // weight, or as fail() was told.
  struct Failure {
    int worker = 0;
    Status status;
  };
  std::optional<Failure> failure(Time now) const;
  // When next() or failure() may have news, if nothing is acknowledged before.
  Time next_time(Time now) const;

  const WeightsProgress& progress() const { return progress_; }
  const BulkPacer& pacer() const { return pacer_; }

 private:
  struct Pending {
    Weight weight;
    uint64_t sent = 0;  // up to here; acknowledged up to weight.have
    int restarts = 0;
  };
  struct InFlight {
    size_t weight = 0;
    uint64_t end = 0;
    size_t bytes = 0;
    BulkPacer::Departure departure;
    int restarts = 0;  // of the weight, when it was sent
  };
  struct Stream {
    std::vector<Pending> weights;
    size_t current = 0;  // the first weight that is not sent whole
    std::deque<InFlight> in_flight;
    Time heard;  // the last acknowledgement, or when chunks began to wait for one
    Status status = {};
  };
  using Streams = std::map<int, Stream>;

  static bool has_more(const Stream& stream) { return stream.current < stream.weights.size(); }
  static void skip_sent(Stream& stream);
  Streams::iterator next_stream(Time now);
  Streams::const_iterator to_probe(Time now) const;
  bool is_all_sent() const;
  void restart(int worker, Stream& stream, size_t weight, uint64_t have);
  void set_have(int worker, Pending& one, uint64_t have);

  const std::chrono::milliseconds timeout_;
  BulkPacer pacer_;
  Streams streams_;  // by worker
  int last_ = -1;    // the worker of the last chunk
  WeightsProgress progress_;
};

}  // namespace shoal::cluster
