// DeltaExecutable: runs the steps of a CPU executable on kept values (delta_device.h), and whole
// frames by that executable in its arena.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "shoal/engine/cpu/executable.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/delta/block_histograms.h"
#include "shoal/engine/delta/changes.h"
#include "shoal/engine/delta/delta_device.h"
#include "shoal/engine/delta/kept_values.h"
#include "shoal/engine/delta/policy.h"

namespace shoal {

// Counters shared by the executables of a device.
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

  // The share of each node's output that the last run computed, for measurements. REQUIRES: no run
  // is in progress.
  std::span<const double> computed() const { return computed_; }

 private:
  struct Value {
    Tensor kept;                               // undefined: not allocated yet, or no such value
    Changes changed;                           // in this run
    std::vector<cpu::Rectangle> changed_in{};  // the same, as later nodes read it
    float most = 0;                            // difference that does not count
  };
  struct Layer {
    std::vector<Reach> reach;                      // by input
    const cpu::RectangleKernel* kernel = nullptr;  // null: computes all of its output or nothing
    int64_t granule = 1;
    double macs = 0;
    bool is_checked = false;  // pixels that hardly changed keep their old elements
    Checking checking = {};
  };
  struct Work {
    double macs = 0, kept = 0, compared = 0;
  };

  Value& value(ValueId id) { return values_[static_cast<size_t>(id)]; }
  void add_layer(const Node& node, const cpu::Kernel& kernel);
  Status allocate();

  bool uses_histograms(ValueId input) const;
  // Whether to compute a frame whole. Inspects the frame only if needed.
  bool is_next_whole(std::span<const Tensor> inputs);
  // Finds the tiles of inputs that changed since the last run, and returns the share of them.
  double compare(std::span<const Tensor> inputs);
  static void find_tiles(const Tensor& input, const Tensor& old, Value& x);
  // Finds the pixels of inputs that differ from those kept; whole runs do not change kept values.
  void find_changes(std::span<const Tensor> inputs);
  Status run_locked(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                    const RunOptions& options);
  Status run_whole(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                   const RunOptions& options);
  // Returns the multiply-accumulates.
  Result<double> run_tiles(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                           const RunOptions& options);
  bool spread_changes(const Node& node, const Layer& layer);
  void run_node(size_t index, Work& work);
  // Returns the share of the computed pixels that did not change.
  double take_changed_pixels(const Tensor& fresh, std::span<const cpu::Rectangle> computed,
                             Value& y, Work& work);
  void set_thresholds();
  void count(const Work& work, bool whole);

  const std::unique_ptr<cpu::CpuExecutable> whole_;
  const DeltaOptions options_;
  const std::shared_ptr<DeltaCounters> counters_;
  double macs_ = 0;  // of all nodes

  std::mutex mutex_;  // for all that follows
  std::vector<Value> values_;
  std::vector<Layer> layers_;                // one per node
  std::vector<double> computed_;             // see computed()
  std::vector<BlockHistograms> histograms_;  // one per input, if they are used
  std::optional<KeptValues> kept_;           // nullopt before the first run
  cpu::Bytes fresh_;                         // a value that is computed to be compared
  std::vector<Tensor> last_;                 // inputs of the last run, if the next is compared
  bool was_whole_ = false;                   // the last run was
  double last_changed_ = 0;                  // share of the inputs, in the last run
  bool is_filled_ = false;                   // values are those of the inputs kept
  bool has_thresholds_ = false;
  uint64_t resets_ = 0;  // that were seen
  Policy policy_;
};

}  // namespace shoal::delta
