// BulkPacer: how fast bulk data may leave, and how much of it may be on its way.
//
// As fast as the link carries it, and no faster: what waits in buffers on the way delays the
// requests behind it. The rate is estimated from acknowledgements, as BBR (Cardwell et al., 2016)
// does. A window would not do: on a radio, acknowledgements wait for what was sent at once.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>

namespace shoal::cluster {

// Shared by all peers of a sender, who may be on one radio. It has no clock. Not thread-safe.
class BulkPacer {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  using Duration = Clock::duration;

  static constexpr size_t kSmallestChunk = size_t{4} << 10, kLargestChunk = size_t{1} << 20;
  static constexpr size_t kLargestWindow = 4 * kLargestChunk;

  size_t chunk_bytes() const;   // about half a millisecond of the link
  size_t window_bytes() const;  // that may be on their way
  size_t in_flight() const { return in_flight_; }

  // Whether the time of an empty link to this peer is not known, or was measured long ago: links
  // change. Then the next chunk to it should travel alone.
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
  // What is known from chunks that travelled alone: nothing of it is the wait behind others.
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

}  // namespace shoal::cluster
