// Device: compiles a graph into something that runs. A CPU is a Device, a GPU is a
// Device, and a cluster of Devices is a Device.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal {

struct DeviceInfo {
  std::string name;  // "cpu", "opencl:0", "cluster(5)"
  int threads = 1;
};

// What one node did in one run.
struct TraceEvent {
  size_t node = 0;  // index in Executable::graph().nodes()
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
};
using Trace = std::vector<TraceEvent>;

// What the values of a compiled graph need, in bytes, weights apart. Inputs and outputs count:
// they are the caller's, and there from the first node to the last.
struct MemoryUse {
  int64_t planned = 0;
  int64_t lower_bound = 0;  // the largest live set: no plan can do with less
};

// Which implementation runs a node, and what was measured of it and of the next best when it was
// chosen; zero: nothing was.
struct KernelInfo {
  std::string name = {};  // "reference", "gemm", ...
  double microseconds = 0;
  std::string runner_up = {};
  double runner_up_microseconds = 0;
};

// A compiled graph: weights packed, shaders built, memory planned. What can fail
// for reasons of the model has failed already; run() fails only if hardware does.
// One run at a time per Executable.
class Executable {
 public:
  virtual ~Executable() = default;

  // Inputs and outputs have the graph's types, in the graph's order. Outputs that are defined may
  // be written into, others are made; either way, read them from the span. Fills `trace` if given.
  virtual Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs, Trace* trace) = 0;

  virtual const Graph& graph() const = 0;
  virtual MemoryUse memory() const = 0;
  virtual const KernelInfo& kernel_of(size_t node) const = 0;  // of graph().nodes()
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual Result<std::unique_ptr<Executable>> compile(const Graph&) = 0;
};

// Runs the reference functions, one node after the other. The oracle of every test.
std::unique_ptr<Device> make_reference_device();

}  // namespace shoal

#pragma GCC visibility pop
