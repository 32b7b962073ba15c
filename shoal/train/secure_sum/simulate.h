// A whole round of secure aggregation in one process, for simulated federated rounds and for
// counting bytes and time. Every message is encoded and decoded, as between machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/train/secure_sum/messages.h"
#include "shoal/train/secure_sum/primitives.h"
#include "shoal/train/secure_sum/server.h"

namespace shoal::secure_sum {

// Real numbers as integers that add exactly, and back.
//
//   q(x) = round((clamp(x, -range, range) + range) / unit),   unit = 2 range / (2^value_bits - 1)
//
// The sum of n vectors is off by at most n * unit / 2, unless an element was clamped.

struct Quantisation {
  double range = 1;     // elements beyond are clamped
  int value_bits = 16;  // 1 to 32
};

// The most bits per element with which a sum over n clients does not wrap at 2^bits; 0 or less:
// none.
int value_bits_for(size_t clients, int bits);

// kInvalidArgument for NaN or infinite elements. REQUIRES: range > 0.
Result<std::vector<uint32_t>> quantise(std::span<const float> elements,
                                       const Quantisation& quantisation);

// The real sum of `count` vectors from the sum of their integers.
std::vector<float> sum_from(std::span<const uint32_t> sum, size_t count,
                            const Quantisation& quantisation);

// The message a client is about to send when it drops out.
enum class Moment { kAdvertise, kShare, kMask, kUnmask };

struct SimulatedRound {
  Sum sum;
  uint64_t sent = 0, received = 0;  // the most bytes of any client
  // Processor time; of clients, the mean over those in the sum.
  double client_seconds = 0, server_seconds = 0;
};

// True if the client drops out here; null: none does.
using Drops = std::function<bool(uint32_t client, Moment moment)>;
using Vectors = std::function<std::vector<uint32_t>(uint32_t client)>;

// A round with one vector per client. All secrets follow from `seed`. Fails as check(options) and
// Server do.
Result<SimulatedRound> simulate_round(const RoundOptions& options, const Vectors& vectors,
                                      const Drops& drops, const Secret& seed);

struct SecureSum {
  std::vector<float> sum;
  std::vector<uint32_t> clients;  // whose vectors are in it: indices, in order
  uint64_t sent = 0, received = 0;
  double client_seconds = 0, server_seconds = 0;
};

// The sum of vectors, by simulate_round with fresh secrets. Elements beyond `range` are clamped;
// the rest is exact to n * unit / 2, as Quantisation says, with 32 bits. kInvalidArgument for
// vectors of different lengths, fewer than 3 of them, or NaN or infinite elements. REQUIRES: range
// > 0.
Result<SecureSum> sum_securely(std::span<const std::vector<float>> vectors, double range,
                               const Drops& drops = {});

}  // namespace shoal::secure_sum
