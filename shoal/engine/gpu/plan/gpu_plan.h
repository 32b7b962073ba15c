// A graph as launches on a device: what is decided before an API is called.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "shoal/engine/device/device.h"
#include "shoal/engine/device/memory_plan.h"
#include "shoal/engine/gpu/plan/options.h"
#include "shoal/engine/gpu/work.h"

namespace shoal::gpu {

// What a plan depends on beside the graph.
struct PlanOptions {
  Capabilities device;
  std::string device_name = {};  // for messages
  GpuPrecision precision = GpuPrecision::kF32;
  std::vector<std::string> f32_layers = {};  // by the names of their outputs
  int64_t alignment = 1;                     // of values, in bytes
  std::filesystem::path tuning = {};         // the file of what was measured; empty: none
  bool tunes = false;                        // measures what is not known (tune.h)
};

struct Plan {
  // A node's part.
  struct Step {
    size_t first = 0, count = 0;  // launches; none: output 0 has the elements of input 0
    bool in_half = false;
    std::vector<std::function<Tensor()>> tables = {};  // constants beside the node's own
    bool tables_in_f32 = false;                        // in half precision, too
  };

  Graph graph;
  MemoryPlan memory;
  std::vector<Storage> storage;  // by value
  int64_t shrinkage = 1;         // of places in the arena, which are bytes of f32: 2 if all are f16
  std::vector<Launch> launches;
  std::vector<Step> steps;            // by node
  std::vector<KernelInfo> infos;      // by node
  int64_t scratch = 0, counters = 0;  // elements

  size_t arena_bytes() const;
  MemoryUse memory_use() const;
  // Bytes of a value as the device stores it.
  size_t bytes_of(ValueId id) const;
  // How a table of the node is stored.
  Storage table_storage(size_t node) const;
  // Whether the output of a node without launches lies where its input does.
  bool is_in_place(size_t node) const;
  // The node that reads and writes most, for messages: where memory does not suffice.
  std::string hungriest() const;
};

// A constant that kernels read, and the node that does, for messages.
struct ConstantUse {
  ValueId id;
  std::string place;
};

// Of the ways to compute nodes, by node; nodes behind the last one have the first.
using Ranks = std::vector<size_t>;

// REQUIRES: the graph is lowered. Fails with kUnsupported where a node has no work.
Result<Plan> make_plan(Graph graph, const PlanOptions& options, const Ranks& ranks = {});

// Whether a layer is computed in half precision.
bool is_in_half(const Graph& graph, const Node& node, const PlanOptions& options);

// The constants that are needed on the device, each once: not the shape of a Reshape.
std::vector<ConstantUse> constants_of(const Plan& plan);

// Bytes of a value, and a tensor, as a device stores them.
size_t stored_bytes(const TensorType& type, Storage storage);
Tensor stored(const Tensor& tensor, Storage storage);

}  // namespace shoal::gpu
