// Standard networks built as graphs, with seeded random weights. They are the workloads of every
// benchmark, so that none needs a download. Any threads may call these functions at once.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal::zoo {

// A network of the zoo.
struct Entry {
  std::string_view name;  // "resnet18"
  std::string_view what;  // "ResNet-18, 224 x 224, 11,689,512 parameters"
};

// All networks, from small to large.
std::span<const Entry> list();

// The size of a network and the seed of its weights.
struct Options {
  uint64_t seed = 1;  // of the weights
  int64_t batch = 1;  // images or texts a run
  // Smaller variants, for trying things out; the number of classes is unchanged.
  double width = 1;  // this share of the channels of every layer, at least one
  int64_t size = 0;  // rows and columns of images, tokens of texts; 0: as published
};

// A network by name, as list() has it. kNotFound for another name, kInvalidArgument for options
// that no network can be built with.
Result<Graph> build(std::string_view name, const Options& options = {});

}  // namespace shoal::zoo

#pragma GCC visibility pop
