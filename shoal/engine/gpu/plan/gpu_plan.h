// A graph as launches on a device, planned before an API is called.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
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
  std::filesystem::path tuning = {};         // the file of measurements; empty: none
  bool tunes = false;                        // measures unknown kernels
};

struct Plan {
  struct Step {
    size_t first = 0, count = 0;  // launches; none: output 0 has the elements of input 0
    bool in_half = false;
    std::vector<std::function<Tensor()>> tables = {};  // additional constants
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
  // The node that reads and writes most, for messages about lack of memory.
  std::string hungriest() const;
};

// A constant that kernels read, and its reader, for messages.
struct ConstantUse {
  ValueId id;
  std::string place;
};

// The chosen way to compute each node; further nodes use the first.
using Ranks = std::vector<size_t>;

// REQUIRES: the graph is lowered. Fails with kUnsupported if a node has no work.
Result<Plan> make_plan(Graph graph, const PlanOptions& options, const Ranks& ranks = {});

// Whether a layer is computed in half precision.
bool is_in_half(const Graph& graph, const Node& node, const PlanOptions& options);

// The constants that are needed on the device, each once: not the shape of a Reshape.
std::vector<ConstantUse> constants_of(const Plan& plan);

// Bytes of a value, and a tensor, as a device stores them.
size_t stored_bytes(const TensorType& type, Storage storage);
Tensor stored(const Tensor& tensor, Storage storage);

// Tuning: measures which way to compute a node is the fastest on a device. The costs of tiles.h
// were fitted to one device; for others, and for single layers, they may be wrong.
//
// All ways are nodes of one graph, which is compiled and run a few times; the device's clock times
// each. Measurements are kept in a file, keyed by the kernels of the first way, which contain all
// sizes. The measurements. Thread-safe.
class Tuning {
 public:
  // Invalid lines of the file are ignored. Without a name, nothing is kept.
  explicit Tuning(std::filesystem::path file);

  bool is_empty() const;
  std::optional<size_t> find(uint64_t work) const;
  void add(uint64_t work, size_t rank);
  // Writes the file if there are new measurements. Errors are ignored: the next start measures
  // again.
  void keep();

 private:
  const std::filesystem::path file_;
  mutable std::mutex mutex_;
  std::map<uint64_t, size_t> ranks_;
  bool is_new_ = false;
};

// The seconds of each node of a plan, in a few runs.
using MeasureNodes = std::function<Result<std::vector<double>>(Plan plan)>;

// The ways to compute the nodes of a lowered graph: the known ones and, if `measure` is given, the
// others. Nodes that cannot be measured for lack of memory use the first way.
Ranks ranks_for(const Graph& graph, const PlanOptions& options, Tuning& tuning,
                const MeasureNodes& measure);

}  // namespace shoal::gpu
