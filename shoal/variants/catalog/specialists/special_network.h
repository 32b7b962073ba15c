// The parts of a special network: a smaller last layer, precomputed features, and cascade
// thresholds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/shrink/exits/thresholds/thresholds.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/run/setup/feature_cache.h"

namespace shoal::catalog {

// The network for a few classes: the body of a trained network up to some value, and a fresh linear
// head (retarget [Han 2016]).

// Where the body ends: a value's name; kAuto: the value nearest to a third of the network's work;
// kHead: the input of its last layer.
inline constexpr const char *kAuto = "auto", *kHead = "head";

// The name of that value. kInvalidArgument if the network has none.
Result<std::string> end_of_body(const Graph& network, const std::string& at);

// The body up to the value of this name: features [batch, n]. Feature images are averaged over
// windows, because all features are stored.
Result<Graph> body_of(const Graph& network, const std::string& end);

// Linear scores of `classes` classes, from features [batch, n]. Weights follow from the seed.
Result<Graph> make_head(const TensorType& features, int64_t classes, uint64_t seed);

// One after the other. REQUIRES: the head reads what the body gives.
Result<Graph> joined(const Graph& body, const Graph& head);

// Pre-forward [Han 2016]: a frozen body's features of all examples, and the general network's
// answers to the calibration examples, computed once and stored. Later heads need no run of either.

struct Preforward {
  fit::Features training, held_out;
  Tensor general;  // i64 [held-out examples]: the class that the general network answers
};

// A text that differs when a file in the folder does: names, sizes and times of last change. Fails
// as the folder does.
Result<std::string> fingerprint_of(const std::filesystem::path& folder);

// The file in a cache folder for this key.
std::filesystem::path file_for(const std::filesystem::path& cache, const std::string& key);

// Writes and reads; kNotFound if there is no file for the key, kCorrupt if it is damaged or of
// another key.
Status write_preforward(const std::filesystem::path& cache, const std::string& key,
                        const Preforward& preforward);
Result<Preforward> read_preforward(const std::filesystem::path& cache, const std::string& key);

// The cascade of a special and a general network [Han 2016]: the general one answers if the special
// one says "another class" or is not sure.
//
//   E[cost] = cost of the special one + P(it does not answer) * cost of the general one
//
// Pure, but for answers_of().

// Examples of a stream with few classes: all of these classes, and others that make up the share
// `other` of all.
struct Stream {
  std::vector<size_t> examples;  // ascending
  std::vector<int64_t> targets;  // the index in `classes`, or classes.size() for another class
};

// Other classes are sampled by the seed, and each of the classes beyond `per_class`; 0: all.
// REQUIRES: 0 <= other < 1, per_class >= 0.
Stream stream_of(std::span<const int64_t> labels, std::span<const int64_t> classes, double other,
                 uint64_t seed, int64_t per_class = 0);

// Of an image: the class with the highest score, and its probability.
struct Answer {
  int64_t best = 0;
  double probability = 0;
};

// The answers to batches that go through their data once. Fails as device and data do. REQUIRES:
// the batches are of the network's size, and its output is scores of f32.
Result<std::vector<Answer>> answers_of(Device& device, const Graph& network,
                                       const Batches& batches);

// The cascade as a network with one exit. The answer `other`, "another class", never counts.
// REQUIRES: as many of each.
exits::Verdicts cascade_of(std::span<const Answer> special, std::span<const int64_t> targets,
                           int64_t other, std::span<const int64_t> general,
                           std::span<const int64_t> labels);

// The special network's threshold with the least work that loses at most `max_drop` points against
// the general one; exits::kNever if none.
double threshold_for(const exits::Verdicts& cascade, double max_drop,
                     std::span<const int64_t> macs);

}  // namespace shoal::catalog
