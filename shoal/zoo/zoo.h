// Standard networks built as graphs, with seeded random weights: the workloads of every
// benchmark, so that nobody needs a download.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/graph/graph.h"

namespace shoal::zoo {

struct Entry {
  std::string_view name;  // "resnet18"
  std::string_view what;  // "ResNet-18, 224 x 224, 11,689,512 parameters"
};

// In the order a reader would want them: small to large.
std::span<const Entry> list();

struct Options {
  uint64_t seed = 1;
  int64_t batch = 1;
  // Smaller siblings, for trying things out; the classes stay what they are.
  double width = 1;  // this share of the channels of every layer, at least one
  int64_t size = 0;  // rows and columns of images, tokens of texts; 0: as published
};

Result<Graph> build(std::string_view name, const Options& options = {});

}  // namespace shoal::zoo
