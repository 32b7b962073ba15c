// A whole round of secure aggregation in one process: what a simulated federated round calls, and
// what counts bytes and time. Every message goes through its bytes, as between machines.
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

// Real numbers as small integers that can be added exactly, and their sum as real numbers.
//
//   q(x) = round((clamp(x, -range, range) + range) / unit),   unit = 2 range / (2^value_bits - 1)
//
// A sum of n vectors is off by n * unit / 2 at most, where no element was clamped.

struct Quantisation {
  double range = 1;     // elements beyond are clamped
  int value_bits = 16;  // 1 to 32
};

// The bits of elements whose sum over n clients does not wrap around at 2^bits; none left is
// 0 or less.
int value_bits_for(size_t clients, int bits);

// Refuses elements that are no numbers (kInvalidArgument). REQUIRES: range > 0.
Result<std::vector<uint32_t>> quantise(std::span<const float> elements,
                                       const Quantisation& quantisation);

// The real sum of `count` vectors from the sum of their integers.
std::vector<float> sum_from(std::span<const uint32_t> sum, size_t count,
                            const Quantisation& quantisation);

// What a client is about to send when it drops out.
enum class Moment { kAdvertise, kShare, kMask, kUnmask };

struct SimulatedRound {
  Sum sum;
  uint64_t sent = 0, received = 0;  // the most bytes of any client
  // Processor time, of a client on average over those in the sum.
  double client_seconds = 0, server_seconds = 0;
};

// Drops out, and says no more; null: nobody does.
using Drops = std::function<bool(uint32_t client, Moment moment)>;
using Vectors = std::function<std::vector<uint32_t>(uint32_t client)>;

// A round with a vector of each client. All secrets follow from `seed`. Fails as check(options)
// and Server do.
Result<SimulatedRound> simulate_round(const RoundOptions& options, const Vectors& vectors,
                                      const Drops& drops, const Secret& seed);

struct SecureSum {
  std::vector<float> sum;
  std::vector<uint32_t> clients;  // whose vectors are in it: indices, in order
  uint64_t sent = 0, received = 0;
  double client_seconds = 0, server_seconds = 0;
};

// The sum of vectors that a server computes without seeing one of them, by simulate_round with
// fresh secrets. Elements beyond `range` are clamped; the rest is exact to n * unit / 2, as
// Quantisation says, with 32 bits in all. Fails with kInvalidArgument for vectors of different
// lengths, fewer than 3 of them, or elements that are no numbers. REQUIRES: range > 0.
Result<SecureSum> sum_securely(std::span<const std::vector<float>> vectors, double range,
                               const Drops& drops = {});

}  // namespace shoal::secure_sum
