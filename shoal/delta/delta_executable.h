// DeltaExecutable: see delta_device.h. It runs the steps of a CPU executable on values that it
// keeps, and lets that executable compute whole frames in its arena.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "shoal/cpu/executable.h"
#include "shoal/cpu/frame.h"
#include "shoal/cpu/rectangle_kernel.h"
#include "shoal/delta/block_histograms.h"
#include "shoal/delta/delta_device.h"
#include "shoal/delta/kept_values.h"
#include "shoal/delta/policy.h"
#include "shoal/delta/reach.h"
#include "shoal/delta/tile_mask.h"

namespace shoal {

// What the executables of a device count together.
struct DeltaCounters {
  mutable std::mutex mutex;
  DeltaStatistics statistics;
  std::atomic<uint64_t> resets = 0;
};

}  // namespace shoal

namespace shoal::delta {

class DeltaExecutable final : public Executable {
 public:
  DeltaExecutable(std::unique_ptr<cpu::CpuExecutable> whole, const DeltaOptions& options,
                  std::shared_ptr<DeltaCounters> counters);

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override;

  const Graph& graph() const override { return whole_->graph(); }
  MemoryUse memory() const override;
  const KernelInfo& kernel_of(size_t node) const override { return whole_->kernel_of(node); }

 private:
  // What is known of a value.
  struct Value {
    Tensor kept;       // undefined: not allocated yet, or no such value
    TileMask changed;  // in this run
    float most = 0;    // difference that does not count
  };
  // What is known of a node.
  struct Layer {
    std::vector<Reach> reach;                      // by input
    const cpu::RectangleKernel* kernel = nullptr;  // null: computes all of its output or nothing
    double macs = 0;
    bool is_checked = false;  // a tile that hardly changed keeps its old elements
  };
  // What a run did.
  struct Work {
    double macs = 0, kept = 0, compared = 0;
  };

  Value& value(ValueId id) { return values_[static_cast<size_t>(id)]; }
  void add_layer(const Node& node, const cpu::Kernel& kernel);
  Status allocate();

  // The share of the inputs that differ from these or, where there are none, from those kept.
  double compare(std::span<const Tensor> inputs, std::span<const Tensor> with);
  bool uses_histograms(ValueId input) const;
  Status run_locked(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                    const RunOptions& options);
  Status run_whole(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                   const RunOptions& options);
  // Returns the multiply-accumulates.
  Result<double> run_tiles(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                           const RunOptions& options);
  bool spread_changes(const Node& node, const Layer& layer);
  void run_node(size_t index, Work& work);
  void keep_close_tiles(Value& y, const Tensor& old, Work& work);
  void set_thresholds();
  void count(const Work& work, bool whole);

  const std::unique_ptr<cpu::CpuExecutable> whole_;
  const DeltaOptions options_;
  const std::shared_ptr<DeltaCounters> counters_;
  double macs_ = 0;  // of all nodes

  std::mutex mutex_;  // for all that follows
  std::vector<Value> values_;
  std::vector<Layer> layers_;                // one per node
  std::vector<BlockHistograms> histograms_;  // one per input, if they are used
  std::optional<KeptValues> kept_;           // none: nothing was run yet
  cpu::Bytes old_;                           // elements of a value before it is computed again
  std::vector<Tensor> last_;                 // inputs of the last whole run
  bool was_whole_ = false;                   // the last run was
  bool is_filled_ = false;                   // values are those of the inputs kept
  bool has_thresholds_ = false;
  uint64_t resets_ = 0;  // that were seen
  Policy policy_;
};

}  // namespace shoal::delta
