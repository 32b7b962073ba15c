// WeightSchedule: decides which chunk of which weight is sent next, and to which worker.
//
// Workers take turns, chunk by chunk, at one pace for all. A chunk counts once its worker has
// acknowledged it. A weight that was corrupted, or dropped, is resent from where the worker says.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/cluster/messages/wire.h"

namespace shoal::cluster {

// The rate at which bulk data may be sent, and how much of it may be in flight.
//
// As fast as the link carries it, and no faster: data that waits in buffers delays the requests
// behind it. The rate is estimated from acknowledgements, as BBR (Cardwell et al., 2016) does. A
// window would not do: on a radio, acknowledgements wait for what was sent at once. Shared by all
// peers of a sender, which may be on one radio. No clock. Not thread-safe.
class BulkPacer {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  using Duration = Clock::duration;

  static constexpr size_t kSmallestChunk = size_t{4} << 10, kLargestChunk = size_t{1} << 20;
  static constexpr size_t kLargestWindow = 4 * kLargestChunk;

  size_t chunk_bytes() const;   // about half a millisecond of the link
  size_t window_bytes() const;  // that may be in flight
  size_t in_flight() const { return in_flight_; }

  // Whether the round-trip time of an idle link to this peer is unknown or was measured long ago:
  // links change. The next chunk to it should then travel alone.
  bool must_probe(int peer, Time now) const;
  bool may_send(Time now) const { return in_flight_ == 0 || (has_room() && now >= due_); }
  // When it may, if nothing is acknowledged before.
  Time next_time() const { return has_room() ? due_ : Time::max(); }

  // The state in which a chunk left.
  struct Departure {
    Time at;
    uint64_t delivered = 0;         // bytes that were acknowledged until then
    Time delivered_at, first_sent;  // when the last of them was acknowledged, and had been sent
  };
  Departure sent(size_t bytes, Time now);
  void acknowledged(int peer, size_t bytes, const Departure& chunk, Time now);

 private:
  // Known from chunks that travelled alone, without queueing behind others.
  struct Link {
    double shortest_seconds = 0, longest_seconds = 0;  // until an acknowledgement
    int probes = 0;
    Time probed;  // for the first time
  };
  static constexpr size_t kRounds = 10;  // that a rate is remembered for

  double bytes_per_second() const { return *std::ranges::max_element(rates_); }
  double gain() const;
  bool has_room() const { return in_flight_ + chunk_bytes() <= window_bytes(); }
  void end_round();

  std::map<int, Link> links_;  // by peer
  size_t in_flight_ = 0;
  uint64_t delivered_ = 0;
  Time delivered_at_, first_sent_;  // of the chunk that was acknowledged last
  Time due_;                        // when the next chunk may leave

  // A round ends when a chunk is acknowledged that was sent after the last one had ended.
  size_t round_ = 0;
  uint64_t round_end_ = 0;               // of delivered_
  std::array<double, kRounds> rates_{};  // the best of the last rounds
  bool starting_ = true;                 // the rate grows
  double full_rate_ = 0;                 // the best so far, while starting
  int rounds_without_growth_ = 0;
};

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

// No I/O, no threads and no clock. Not thread-safe.
class WeightSchedule {
 public:
  using Time = BulkPacer::Time;

  struct Weight {
    Hash hash;
    uint64_t bytes = 0;
    uint64_t have = 0;  // that the worker has, from the beginning. REQUIRES: at most `bytes`
  };

  // A worker fails if it acknowledges nothing for `timeout` while chunks are due.
  explicit WeightSchedule(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  // Called once for each worker.
  void add(int worker, const std::vector<Weight>& weights);

  // The next chunk, which counts as sent at `now`. nullopt: none before next_time() or the next
  // acknowledgement, or none is left.
  std::optional<WeightChunk> next(Time now);
  // The worker has the first `have` bytes of a weight.
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
