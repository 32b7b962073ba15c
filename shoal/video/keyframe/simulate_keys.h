// A pipeline of key frames in virtual time: a device sends encoded frames to a server, which
// answers them (mao 4.4).
//
//   latency = encode + upload + decode + answer, and the waiting before each
//
// A server that computes one frame after the other takes long for key frames, and frames after them
// wait; one that computes features of key frames meanwhile (async_features.h) takes the same for
// each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/plan/profile.h"

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

// Answers all, in their order. The first frame is a key frame, whatever it says; in asynchronous
// order it waits for its features. REQUIRES: arrivals in the order of their times.
std::vector<AnsweredFrame> simulate(std::span<const Arrival> frames, Order order);

// A device with a camera, and its way to the server. A value.
struct Camera {
  int64_t period_us = 33333;  // from one frame to the next
  int64_t encode_us = 0, decode_us = 0;
  plan::LinkProfile link = {};  // in both directions as fast
};

// When frames of these sizes arrive, decoded. The camera takes no frame that would have to wait for
// the link: it drops frames instead, until the link is free when the frame is encoded. What is left
// for the caller to say is which are key frames, and what they take.
std::vector<Arrival> send(std::span<const double> bytes, const Camera& camera);

// Quantiles of latencies, in milliseconds, by nearest rank.
struct Latencies {
  double p50_ms = 0, p99_ms = 0, worst_ms = 0;
  double mean_ms = 0;  // from one answer to the next
};

// Of these frames without the first `leave_out`, which wait until the features of the very first
// are there. REQUIRES: leave_out < frames.
Latencies latencies_of(std::span<const AnsweredFrame> frames, size_t leave_out);

// The furthest that a frame is from its reference, in frames.
size_t furthest(std::span<const AnsweredFrame> frames);

}  // namespace shoal::keyframe
