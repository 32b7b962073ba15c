// The cascade of a special and a general network [Han 2016]: the special one answers first, the
// general one where the answer is "another class" or not sure enough.
//
//   E[cost] = cost of the special one + P(it does not answer) * cost of the general one
//
// Pure, but for answers_of().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/exits/thresholds/thresholds.h"
#include "shoal/train/data/batches.h"

namespace shoal::catalog {

// The examples of a stream in which few classes are seen: all of these classes, and so many of
// others that they are the share `other` of all.
struct Stream {
  std::vector<size_t> examples;  // ascending
  std::vector<int64_t> targets;  // the index in `classes`, or classes.size() for another class
};

// Examples of other classes are drawn by the seed, and so are those of each of the classes where it
// has more than `per_class`; 0: all. REQUIRES: 0 <= other < 1, per_class >= 0.
Stream stream_of(std::span<const int64_t> labels, std::span<const int64_t> classes, double other,
                 uint64_t seed, int64_t per_class = 0);

// Of an image: the class with the highest score, and its probability.
struct Answer {
  int64_t best = 0;
  double probability = 0;
};

// The answers of a network to batches that go through their data once. Fails as device and data do.
// REQUIRES: the batches are of the network's size, and its output is scores of f32.
Result<std::vector<Answer>> answers_of(Device& device, const Graph& network,
                                       const Batches& batches);

// The two networks as a network with one exit. An answer "another class", which is the index
// `other`, never counts as an answer. REQUIRES: as many of each.
exits::Verdicts cascade_of(std::span<const Answer> special, std::span<const int64_t> targets,
                           int64_t other, std::span<const int64_t> general,
                           std::span<const int64_t> labels);

// The threshold of the special network with the least work at which at most `max_drop` points are
// lost against the general one; exits::kNever if there is none.
double threshold_for(const exits::Verdicts& cascade, double max_drop,
                     std::span<const int64_t> macs);

}  // namespace shoal::catalog
