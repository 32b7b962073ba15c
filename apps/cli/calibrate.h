// shoal convert --int8: runs a graph over examples and writes down where it may compute in bytes.
#pragma once

#include <string>

#include "cli.h"
#include "shoal/base/status.h"
#include "shoal/data/image.h"
#include "shoal/graph/graph.h"

namespace shoal::cli {

struct CalibrateFlags {
  std::string folder;  // images and .npy files; empty: random inputs
  size_t limit = 100;  // examples at most
  int threads = 0;
  Preprocess preprocess;
};

struct Int8Graph {
  Graph graph;
  size_t examples = 0;
  size_t products = 0;   // Conv, Gemm and MatMul nodes
  size_t quantized = 0;  // of them
};

Result<Int8Graph> quantize_calibrated(const Graph& graph, const CalibrateFlags& flags);

}  // namespace shoal::cli
