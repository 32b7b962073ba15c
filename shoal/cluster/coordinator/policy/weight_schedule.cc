// Each chunk is answered, in order, with the bytes of its weight that the worker has. That is as
// much as was sent, or more if another coordinator sends the same weight; less means that the
// weight was dropped, and it begins anew from there. Answers to chunks from before a restart only
// free window.
#include "shoal/cluster/coordinator/policy/weight_schedule.h"

#include <algorithm>

namespace shoal::cluster {

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

namespace {

constexpr int kMaxRestarts = 2;  // of one weight

}  // namespace

WeightProgress sum_of(const WeightsProgress& progress) {
  WeightProgress all;
  for (const auto& [worker, one] : progress) {
    all.done += one.done;
    all.total += one.total;
    all.sent += one.sent;
  }
  return all;
}

void WeightSchedule::add(int worker, const std::vector<Weight>& weights) {
  Stream& stream = streams_[worker];
  WeightProgress& progress = progress_[worker];
  for (const Weight& weight : weights) {
    stream.weights.push_back({weight, weight.have});
    progress.done += weight.have;
    progress.total += weight.bytes;
  }
  skip_sent(stream);
}

void WeightSchedule::skip_sent(Stream& stream) {
  while (has_more(stream)) {
    const Pending& one = stream.weights[stream.current];
    if (one.sent < one.weight.bytes) return;
    ++stream.current;
  }
}

std::optional<WeightChunk> WeightSchedule::next(Time now) {
  const auto found = next_stream(now);
  if (found == streams_.end()) return std::nullopt;
  auto& [worker, stream] = *found;
  last_ = worker;
  Pending& one = stream.weights[stream.current];
  const auto bytes =
      static_cast<size_t>(std::min<uint64_t>(pacer_.chunk_bytes(), one.weight.bytes - one.sent));
  WeightChunk chunk{worker, one.weight.hash, one.sent, bytes};
  one.sent += bytes;
  // A worker that had nothing to acknowledge was not silent.
  if (stream.in_flight.empty()) stream.heard = now;
  stream.in_flight.push_back(
      {stream.current, one.sent, bytes, pacer_.sent(bytes, now), one.restarts});
  progress_[worker].sent += bytes;
  skip_sent(stream);
  return chunk;
}

// Measuring an empty link comes first: until then, nothing is known about how full it is.
WeightSchedule::Streams::const_iterator WeightSchedule::to_probe(Time now) const {
  return std::ranges::find_if(streams_, [&](const auto& entry) {
    return has_more(entry.second) && pacer_.must_probe(entry.first, now);
  });
}

WeightSchedule::Streams::iterator WeightSchedule::next_stream(Time now) {
  if (const auto probed = to_probe(now); probed != streams_.end()) {
    return pacer_.in_flight() == 0 ? streams_.find(probed->first) : streams_.end();
  }
  if (!pacer_.may_send(now)) return streams_.end();
  const auto sends = [](const auto& entry) { return has_more(entry.second); };
  const auto after = streams_.upper_bound(last_);
  const auto found = std::find_if(after, streams_.end(), sends);
  return found != streams_.end() ? found : std::find_if(streams_.begin(), streams_.end(), sends);
}

void WeightSchedule::acknowledge(int worker, const Hash& hash, uint64_t have, Time now) {
  const auto found = streams_.find(worker);
  if (found == streams_.end() || found->second.in_flight.empty()) return;
  Stream& stream = found->second;
  const InFlight chunk = stream.in_flight.front();
  Pending& one = stream.weights[chunk.weight];
  if (one.weight.hash != hash || have > one.weight.bytes) {
    stream.status = Status(Code::kCorrupt, "acknowledges what it was not sent");
    return;
  }
  stream.in_flight.pop_front();
  stream.heard = now;
  pacer_.acknowledged(worker, chunk.bytes, chunk.departure, now);
  if (chunk.restarts != one.restarts) return;
  if (have < chunk.end) return restart(worker, stream, chunk.weight, have);
  set_have(worker, one, std::max(have, one.weight.have));
  one.sent = std::max(one.sent, have);
  skip_sent(stream);
}

void WeightSchedule::restart(int worker, Stream& stream, size_t weight, uint64_t have) {
  Pending& one = stream.weights[weight];
  if (++one.restarts > kMaxRestarts) {
    stream.status = Status(Code::kCorrupt, "does not keep a weight that it is sent");
  }
  set_have(worker, one, have);
  one.sent = have;
  stream.current = std::min(stream.current, weight);
}

void WeightSchedule::set_have(int worker, Pending& one, uint64_t have) {
  WeightProgress& progress = progress_[worker];
  progress.done = progress.done - one.weight.have + have;
  one.weight.have = have;
}

void WeightSchedule::fail(int worker, const Status& why) {
  const auto found = streams_.find(worker);
  if (found != streams_.end() && found->second.status.ok()) found->second.status = why;
}

bool WeightSchedule::is_all_sent() const {
  return std::ranges::none_of(streams_, [](const auto& entry) { return has_more(entry.second); });
}

bool WeightSchedule::is_done() const { return is_all_sent() && pacer_.in_flight() == 0; }

std::optional<WeightSchedule::Failure> WeightSchedule::failure(Time now) const {
  for (const auto& [worker, stream] : streams_) {
    if (!stream.status.ok()) return Failure{worker, stream.status};
    if (stream.in_flight.empty() || now - stream.heard < timeout_) continue;
    return Failure{worker, Status(Code::kDeadline, "has taken no weights for " +
                                                       std::to_string(timeout_.count()) + " ms")};
  }
  return std::nullopt;
}

WeightSchedule::Time WeightSchedule::next_time(Time now) const {
  // A probe waits for acknowledgements, not for a time.
  const bool waits = is_all_sent() || to_probe(now) != streams_.end();
  Time first = waits ? Time::max() : pacer_.next_time();
  for (const auto& [worker, stream] : streams_) {
    if (!stream.in_flight.empty()) first = std::min(first, stream.heard + timeout_);
  }
  return first;
}

}  // namespace shoal::cluster
