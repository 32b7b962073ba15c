// The rate of a link is the best that was seen in the last ten rounds. Chunks leave at
//
//   twice that rate                        at first, until it does not grow any more
//   0.97 of it                             then, so that no queue grows
//   1.25 of that in one round of eight     to notice when more is possible, and
//   0.75 of that in the next               so that the queue goes away that this has made
//
// At most 1.75 times the bytes are on their way that the empty link holds, and more where its delay
// varies. On a radio of 43.8 Mbit/s, in virtual time, weights use 91 % of the air beside requests,
// which take 1.8 times as long.
#include "shoal/cluster/bulk_pacer.h"

#include <cmath>

namespace shoal::cluster {
namespace {

constexpr std::chrono::seconds kProbeInterval{10};
constexpr double kChunkSeconds = 1e-3;
constexpr double kStartGain = 2, kGain = 0.97;
constexpr double kWindow = 1.75, kMostNoise = 0.1;
constexpr size_t kCycle = 8;          // rounds
constexpr double kCatchUpChunks = 4;  // after a thread woke up late

double seconds(BulkPacer::Duration time) { return std::chrono::duration<double>(time).count(); }

BulkPacer::Duration duration(double seconds) {
  constexpr double kLongest = 10;
  return std::chrono::duration_cast<BulkPacer::Duration>(
      std::chrono::duration<double>(std::min(seconds, kLongest)));
}

size_t bytes_of(double bytes, size_t least, size_t most) {
  return static_cast<size_t>(
      std::clamp(bytes, static_cast<double>(least), static_cast<double>(most)));
}

}  // namespace

size_t BulkPacer::chunk_bytes() const {
  return bytes_of(bytes_per_second() * kChunkSeconds, kSmallestChunk, kLargestChunk);
}

size_t BulkPacer::window_bytes() const {
  double longest = 0;
  for (const auto& [peer, link] : links_) {
    double time = kWindow * link.empty_seconds;
    // A delay that varies more than a queue explains: threads wake up late, or the air is noisy.
    // Then the link holds what it takes on average. Bounded, because a queue makes that grow, too.
    if (link.deviation_seconds > link.empty_seconds / 2) {
      time = std::max(time, std::min(1.25 * link.mean_seconds, link.empty_seconds + kMostNoise));
    }
    longest = std::max(longest, time);
  }
  const size_t least = 2 * chunk_bytes();
  return bytes_of(bytes_per_second() * longest, least, std::max(least, kLargestWindow));
}

bool BulkPacer::must_probe(int peer, Time now) const {
  const auto link = links_.find(peer);
  return link == links_.end() || now - link->second.probed > kProbeInterval;
}

double BulkPacer::gain() const {
  if (starting_) return kStartGain;
  if (round_ % kCycle == 0) return 1.25 * kGain;
  return round_ % kCycle == 1 ? 0.75 * kGain : kGain;
}

BulkPacer::Departure BulkPacer::sent(size_t bytes, Time now) {
  // After a pause, time is counted from here.
  if (in_flight_ == 0) first_sent_ = delivered_at_ = now;
  in_flight_ += bytes;
  const double rate = bytes_per_second() * gain();
  if (rate > 0) {
    const Duration time = duration(static_cast<double>(bytes) / rate);
    due_ = std::max(due_, now - duration(kCatchUpChunks * seconds(time))) + time;
  }
  return {now, delivered_, delivered_at_, first_sent_};
}

void BulkPacer::acknowledged(int peer, size_t bytes, const Departure& chunk, Time now) {
  const bool alone = in_flight_ == bytes;
  in_flight_ -= std::min(in_flight_, bytes);
  delivered_ += bytes;
  delivered_at_ = now;
  first_sent_ = chunk.at;
  const double took = std::max(seconds(now - chunk.at), 1e-9);
  // A probe replaces what was measured before, because the link may have become slower.
  if (alone && must_probe(peer, now)) links_[peer] = {took, now, took};
  if (const auto found = links_.find(peer); found != links_.end()) {
    Link& link = found->second;
    link.empty_seconds = std::min(link.empty_seconds, took);
    link.deviation_seconds += (std::abs(took - link.mean_seconds) - link.deviation_seconds) / 8;
    link.mean_seconds += (took - link.mean_seconds) / 8;
  }

  // Acknowledgements that come at once do not make the link faster than the chunks were sent.
  const double time =
      std::max({seconds(now - chunk.delivered_at), seconds(chunk.at - chunk.first_sent), 1e-9});
  double& best = rates_[round_ % kRounds];
  best = std::max(best, static_cast<double>(delivered_ - chunk.delivered) / time);
  if (chunk.delivered >= round_end_) end_round();
}

void BulkPacer::end_round() {
  round_end_ = delivered_;
  const double rate = bytes_per_second();
  if (rate > 1.25 * full_rate_) {
    full_rate_ = rate;
    rounds_without_growth_ = 0;
  } else if (++rounds_without_growth_ == 3 && starting_) {
    starting_ = false;
    round_ += kCycle - round_ % kCycle;  // the next is the one that empties the queue
  }
  ++round_;
  rates_[round_ % kRounds] = 0;
}

}  // namespace shoal::cluster
