// Tuning: which of the ways to compute a node is the fastest on a device, by measurement. Costs of
// tiles.h were found on one device; on another one, and for single layers, they may be wrong.
//
// All ways are nodes of one graph, which is compiled and run a few times; the device's clock tells
// how long each took. What was measured is kept in a file, by the kernels of the first way: they
// have all sizes in them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "shoal/engine/gpu/plan/gpu_plan.h"

namespace shoal::gpu {

// What was measured. Thread-safe.
class Tuning {
 public:
  // Lines of the file that make no sense are ignored. Without a name, nothing is kept.
  explicit Tuning(std::filesystem::path file);

  bool is_empty() const;
  std::optional<size_t> find(uint64_t work) const;
  void add(uint64_t work, size_t rank);
  // Writes the file if there is something new. Where that fails, the next start measures again.
  void keep();

 private:
  const std::filesystem::path file_;
  mutable std::mutex mutex_;
  std::map<uint64_t, size_t> ranks_;
  bool is_new_ = false;
};

// The seconds of each node of a plan, in a few runs.
using MeasureNodes = std::function<Result<std::vector<double>>(Plan plan)>;

// The ways to compute the nodes of a lowered graph: those that are known, and where `measure` is
// given the others as well. A node that cannot be measured, for lack of memory, has the first one.
Ranks ranks_for(const Graph& graph, const PlanOptions& options, Tuning& tuning,
                const MeasureNodes& measure);

}  // namespace shoal::gpu
