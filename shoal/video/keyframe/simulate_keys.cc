#include "shoal/video/keyframe/simulate_keys.h"

#include <algorithm>
#include <cmath>

#include "shoal/base/round_up.h"
#include "shoal/base/status.h"
#include "shoal/video/keyframe/async_features.h"

namespace shoal::keyframe {
namespace {

// One frame after the other; key frames first compute their features.
class SequentialServer {
 public:
  AnsweredFrame answer(size_t number, const Arrival& frame, int64_t begin) {
    const bool is_key = frame.is_key || number == 0;
    if (is_key) key_ = number;
    const int64_t took =
        (is_key ? frame.times.key_us : frame.times.inter_us) + frame.times.other_us;
    return {begin, begin + took, 0, key_};
  }

 private:
  size_t key_ = 0;
};

// Features on a unit of their own.
class AsynchronousServer {
 public:
  explicit AsynchronousServer(std::span<const Arrival> frames) : frames_(frames) {}

  AnsweredFrame answer(size_t number, const Arrival& frame, int64_t begin) {
    while (keys_.computing() && complete_us_ <= begin) publish();
    auto decision = keys_.on_frame(number, frame.is_key);
    if (decision.start) complete_us_ = begin + frame.times.key_us;
    if (!decision.reference) {  // the first
      begin = complete_us_;
      publish();
      decision.reference = number;
      return {begin, begin + frame.times.other_us, 0, number};
    }
    return {begin, begin + frame.times.inter_us + frame.times.other_us, 0, *decision.reference};
  }

 private:
  void publish() {
    const auto next = keys_.on_features();
    if (next) complete_us_ += frames_[*next].times.key_us;
  }

  std::span<const Arrival> frames_;
  AsyncKeys keys_;
  int64_t complete_us_ = 0;  // when the features are that are computed now
};

template <class Server>
std::vector<AnsweredFrame> answer_all(std::span<const Arrival> frames, Server server) {
  std::vector<AnsweredFrame> all;
  int64_t free_us = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    const int64_t begin = std::max(free_us, frames[i].arrived_us);
    all.push_back(server.answer(i, frames[i], begin));
    free_us = all.back().answered_us;
    all.back().latency_us = free_us - frames[i].captured_us;
  }
  return all;
}

}  // namespace

std::vector<AnsweredFrame> simulate(std::span<const Arrival> frames, Order order) {
  if (order == Order::kSequential) return answer_all(frames, SequentialServer());
  return answer_all(frames, AsynchronousServer(frames));
}

std::vector<Arrival> send(std::span<const double> bytes, const Camera& camera) {
  SHOAL_CHECK(camera.period_us > 0);
  std::vector<Arrival> arrivals;
  int64_t captured = 0, link_free = 0, decoder_free = 0;
  for (const double size : bytes) {
    const double seconds = plan::seconds_of(size, camera.link, camera.link);
    const int64_t upload = std::llround(1e6 * seconds);
    const int64_t earliest = std::max(captured, link_free - camera.encode_us);
    captured = round_up(earliest, camera.period_us);
    const int64_t sent = captured + camera.encode_us + upload;
    link_free = sent;
    decoder_free = std::max(sent, decoder_free) + camera.decode_us;
    arrivals.push_back({.captured_us = captured, .arrived_us = decoder_free});
    captured += camera.period_us;
  }
  return arrivals;
}

Latencies latencies_of(std::span<const AnsweredFrame> frames, size_t leave_out) {
  SHOAL_CHECK(leave_out < frames.size());
  const auto counted = frames.subspan(leave_out);
  std::vector<int64_t> sorted;
  for (const AnsweredFrame& answered_frame : counted) sorted.push_back(answered_frame.latency_us);
  std::ranges::sort(sorted);
  const auto quantile = [&](double share) {
    const auto rank = std::ceil(share * static_cast<double>(sorted.size()));
    return static_cast<double>(sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1]) / 1e3;
  };
  Latencies latencies{quantile(0.5), quantile(0.99), quantile(1), 0};
  const int64_t since = leave_out > 0 ? frames[leave_out - 1].answered_us : 0;
  latencies.mean_ms = static_cast<double>(counted.back().answered_us - since) / 1e3 /
                      static_cast<double>(counted.size());
  return latencies;
}

size_t furthest(std::span<const AnsweredFrame> frames) {
  size_t most = 0;
  for (size_t i = 0; i < frames.size(); ++i) most = std::max(most, i - frames[i].reference);
  return most;
}

}  // namespace shoal::keyframe
