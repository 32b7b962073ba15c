// A pipeline of key frames in virtual time: a device sends encoded frames to a server, which
// answers them [Mao 2019].
//
//   latency = encode + upload + decode + answer, and the waiting before each
//
// A server that computes one frame after the other takes long for key frames, and frames after them
// wait; one that computes features of key frames meanwhile (async_keys.h) takes the same for each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/round_up.h"
#include "shoal/base/status.h"
#include "shoal/plan/profile.h"
#include "shoal/video/keyframe/async_keys.h"

namespace shoal::keyframe {

// What each frame takes. A value.
struct FrameTimes {
  int64_t key_us = 0;    // features and task
  int64_t inter_us = 0;  // flow, warping and task
  int64_t other_us = 0;  // in any case
};

// A frame that comes to a server.
struct Arrival {
  int64_t captured_us = 0, arrived_us = 0;
  bool is_key = false;
  FrameTimes times = {};
};

enum class Order : uint8_t {
  kSequential,   // a key frame is answered when its own features are complete
  kAsynchronous  // every frame is answered from features that are
};

struct AnsweredFrame {
  int64_t begun_us = 0, answered_us = 0;
  int64_t latency_us = 0;  // since it was captured
  size_t reference = 0;    // the key frame that it was answered from
};

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

// Answers all, in their order. The first frame is a key frame, whatever it says; in asynchronous
// order it waits for its features. REQUIRES: arrivals in the order of their times.
inline std::vector<AnsweredFrame> simulate(std::span<const Arrival> frames, Order order) {
  if (order == Order::kSequential) return answer_all(frames, SequentialServer());
  return answer_all(frames, AsynchronousServer(frames));
}

// A device with a camera, and its way to the server. A value.
struct Camera {
  int64_t period_us = 33333;  // from one frame to the next
  int64_t encode_us = 0, decode_us = 0;
  plan::LinkProfile link = {};  // in both directions as fast
};

// When frames of these sizes arrive, decoded. The camera takes no frame that would have to wait for
// the link: it drops frames instead, until the link is free when the frame is encoded. What is left
// for the caller to say is which are key frames, and what they take.
inline std::vector<Arrival> send(std::span<const double> bytes, const Camera& camera) {
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

// Quantiles of latencies, in milliseconds, by nearest rank.
struct Latencies {
  double p50_ms = 0, p99_ms = 0, worst_ms = 0;
  double mean_ms = 0;  // from one answer to the next
};

// Of these frames without the first `leave_out`, which wait until the features of the very first
// are there. REQUIRES: leave_out < frames.
inline Latencies latencies_of(std::span<const AnsweredFrame> frames, size_t leave_out) {
  SHOAL_CHECK(leave_out < frames.size());
  const auto counted = frames.subspan(leave_out);
  std::vector<int64_t> sorted;
  for (const AnsweredFrame& one : counted) sorted.push_back(one.latency_us);
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

// The furthest that a frame is from its reference, in frames.
inline size_t furthest(std::span<const AnsweredFrame> frames) {
  size_t most = 0;
  for (size_t i = 0; i < frames.size(); ++i) most = std::max(most, i - frames[i].reference);
  return most;
}

}  // namespace shoal::keyframe
