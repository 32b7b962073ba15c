// Compression methods: Graph -> smaller Graph, nearly the same meaning. One file each, and one line
// in list.inc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/quantization/calibration.h"
#include "shoal/shrink/compress/quantization/quantize.h"
#include "shoal/shrink/compress/units/importance.h"

#pragma GCC visibility push(default)

namespace shoal::compress {

// Inputs of a method besides a graph, as bits, so that a line of list.inc can combine them. Methods
// for labels, a teacher and training do not exist yet.
enum Needs : uint8_t {
  kNothing = 0,
  kExamples = 1,        // inputs to run the graph on
  kLabels = 2,          // the right answers to them
  kTeacher = 4,         // a network to learn from
  kTraining = 8,        // steps of an optimiser
  kExamplesIfAny = 16,  // inputs to run the graph on, which it can do without
  kSpeed = 32,          // a device as fast as it will be in use, because time decides
  kTarget = 64,         // how small the network is to become
};

// The means that a method may use.
struct Context {
  Device& device;                             // to run the graph on
  CalibrationData examples = {};              // none: only where the method does not need them
  std::function<void(size_t)> progress = {};  // called before each example with its index
  Target target = {.macs = 0.5};              // for methods that need one
  Int8Options int8 = {};                      // for the method of this name
};

// The result of a method.
struct Compressed {
  Graph graph;
  size_t parts = 0;       // parts that could be compressed: see Method::parts
  size_t compressed = 0;  // of them
  // Parts left as they were because that is better, and other choices: a line each, for people.
  std::vector<std::string> left = {}, notes = {};
};

// A way to compress. A value; `run` may be called by several threads at once.
struct Method {
  std::string_view name;  // "int8", the file name
  unsigned needs = kNothing;
  std::string_view parts;  // what it compresses, in the plural: "products"
  std::string_view what;   // one line for people
  // kUnsupported if nothing in the graph can be compressed; fails as the examples do.
  Result<Compressed> (*run)(const Graph& graph, const Context& context);
};

// All methods, and the one of this name or null. Static lifetime.
std::span<const Method> methods();
const Method* find_method(std::string_view name);

}  // namespace shoal::compress

#pragma GCC visibility pop
