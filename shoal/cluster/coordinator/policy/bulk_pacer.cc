// The rate of a link is the best that was seen in the last ten rounds. Chunks leave at
//
//   twice that rate                        at first, until it does not grow any more
//   0.97 of it                             then, so that no queue grows
//   1.25 of that in one round of eight     to notice when more is possible, and
//   0.75 of that in the next               so that the queue goes away that this has made
//
// At most 1.75 times the bytes are on their way that the empty link holds, and more where its delay
// varies. How it varies is known from chunks that travelled alone: all others may wait behind each
// other, and a window that grows with such a wait makes it longer.
#include "shoal/cluster/coordinator/policy/bulk_pacer.h"

namespace shoal::cluster {
namespace {

constexpr std::chrono::seconds kProbeInterval{10};
constexpr double kChunkSeconds = 0.5e-3;
constexpr double kStartGain = 2, kGain = 0.97;
constexpr double kWindow = 1.75, kNoise = 4, kNoisyWindow = 2;
constexpr int kProbes = 8;
constexpr double kLongSeconds = 0.05;
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
    // Threads wake up late, or the air is noisy. Where that is most of the time, chunks that wait
    // for a late one are late as well.
    const bool is_noisy = link.longest_seconds > kNoise * link.shortest_seconds;
    longest = std::max({longest, kWindow * link.shortest_seconds,
                        (is_noisy ? kNoisyWindow : 1) * link.longest_seconds});
  }
  const size_t least = 2 * chunk_bytes();
  return bytes_of(bytes_per_second() * longest, least, std::max(least, kLargestWindow));
}

bool BulkPacer::must_probe(int peer, Time now) const {
  const auto link = links_.find(peer);
  if (link == links_.end()) return true;
  // Noise is small beside the delay of a long link, on which probes take long.
  if (link->second.probes < kProbes && link->second.shortest_seconds < kLongSeconds) return true;
  return now - link->second.probed > kProbeInterval;
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
  if (alone && must_probe(peer, now)) {
    Link& link = links_[peer];
    // Probes of long ago are forgotten, because the link may have changed.
    if (link.probes == 0 || now - link.probed > kProbeInterval) link = {took, took, 0, now};
    link.shortest_seconds = std::min(link.shortest_seconds, took);
    link.longest_seconds = std::max(link.longest_seconds, took);
    ++link.probes;
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
