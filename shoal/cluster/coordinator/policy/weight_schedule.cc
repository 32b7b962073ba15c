// Each chunk is answered, in order, by how much of its weight the worker has. That is as much as
// was sent, or more where another coordinator sends the same weight; less says that the weight was
// dropped, and it begins anew from there. Answers to chunks from before a restart only free room.
#include "shoal/cluster/coordinator/policy/weight_schedule.h"

#include <algorithm>

namespace shoal::cluster {
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
