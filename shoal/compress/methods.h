// Methods of compression: Graph -> smaller Graph, nearly the same meaning. One file each, and one
// line in list.inc.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/compress/calibration.h"
#include "shoal/device/device.h"
#include "shoal/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal::compress {

// The means that a method may use.
struct Context {
  Device& device;                             // to run the graph on
  CalibrationData examples = {};              // none: only where needs_calibration is false
  std::function<void(size_t)> progress = {};  // called before each example with its index
};

// The result of a method.
struct Compressed {
  Graph graph;
  size_t products = 0;    // Conv, Gemm and MatMul nodes
  size_t compressed = 0;  // of them
};

// A way to compress. A value; `run` may be called by several threads at once.
struct Method {
  std::string_view name;  // "int8", the file name
  bool needs_calibration = false;
  std::string_view what;  // one line for people
  // Fails with kUnsupported if there is nothing in the graph to compress, and as the examples do.
  Result<Compressed> (*run)(const Graph& graph, const Context& context);
};

// All methods, and the one of this name; null if there is none. Valid for ever.
std::span<const Method> methods();
const Method* find_method(std::string_view name);

}  // namespace shoal::compress

#pragma GCC visibility pop
