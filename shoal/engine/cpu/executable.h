// CpuExecutable: a graph compiled for the CPU. State that all runs share (kernels, packed weights,
// the memory plan) is fixed once prepare() returns. State that one run writes is in a Frame, so
// run() is thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/threads/thread_pool.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/packed_weights.h"
#include "shoal/engine/cpu/tune.h"
#include "shoal/engine/device/memory_plan.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::cpu {

// Frame: the memory of one run of a compiled graph. Runs at the same time have a frame each.

// Memory aligned to kHostAlignment. It is not cleared: kernels write before they read.
struct FreeAligned {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{kHostAlignment}); }
};
using Bytes = std::unique_ptr<std::byte[], FreeAligned>;

struct Frame {
  Bytes arena, scratch;
  std::vector<Tensor> tensors;  // of all steps: see CpuExecutable
  std::vector<Tensor> moved;    // inputs of this run that were not aligned to elements
};

// Allocates arena and scratch; tensors are left to the executable. Fails with kExhausted.
Result<std::unique_ptr<Frame>> make_frame(size_t arena_bytes, size_t scratch_bytes);

// Frames that no run uses. All are kept, so that runs stop allocating memory and touching new
// pages. Thread-safe.
class FreeFrames {
 public:
  std::unique_ptr<Frame> take() {  // null: all are in use
    const std::scoped_lock lock(mutex_);
    if (frames_.empty()) return nullptr;
    std::unique_ptr<Frame> frame = std::move(frames_.back());
    frames_.pop_back();
    return frame;
  }
  void give(std::unique_ptr<Frame> frame) {
    const std::scoped_lock lock(mutex_);
    frames_.push_back(std::move(frame));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> frames_;  // the one used last at the back, warm in caches
};

class CpuExecutable final : public Executable {
 public:
  // REQUIRES: `graph` is lowered. `share` is that of CpuOptions.
  CpuExecutable(Graph graph, std::shared_ptr<ThreadPool> pool, double share);

  // Chooses the kernels, packs weights and allocates the memory of the first run. Not thread-safe.
  // `cache` may be null; it is not kept. REQUIRES: called once, before any other function.
  Status prepare(Tuner& tuner, PackedCache* cache);

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override;

  const Graph& graph() const override { return graph_; }
  MemoryUse memory() const override;
  int64_t touched_bytes() const;  // by a run: weights, inputs, what nodes write
  const KernelInfo& kernel_of(size_t node) const override { return steps_[node].info; }

  // A node. Its tensors are frame.tensors[first, first + inputs + outputs).
  struct Step {
    std::unique_ptr<Kernel> kernel;
    KernelInfo info;
    ThreadPool* pool;
    size_t first, inputs, outputs;
  };
  // For running nodes one by one on the caller's values: one step per node, constants by value in
  // the kernels' form, and the largest scratch. Valid as long as the executable.
  std::span<const Step> steps() const { return steps_; }
  std::span<const Tensor> constants() const { return constants_; }
  size_t scratch_bytes() const { return scratch_bytes_; }

 private:
  // A tensor of a step that is an input or output of the whole run.
  struct Binding {
    size_t tensor;  // in frame.tensors
    size_t outer;   // among the graph's inputs or outputs
    TensorType type;
  };
  // An output of the graph that no node writes in place: a graph input, a constant, or a value that
  // is listed as output twice.
  struct Copy {
    enum class From { kInput, kConstant, kOutput } from;
    size_t index;  // of the input, the value or the output
    size_t output;
  };

  void align_constants();
  void add_step(const Node& node, Tuner& tuner, PackedCache* cache);
  void find_bindings();
  void find_copies();
  size_t input_index(ValueId id) const;
  Result<std::unique_ptr<Frame>> new_frame() const;
  void place_values(Frame& frame) const;

  Status run_in(Frame& frame, std::span<const Tensor> inputs, std::span<Tensor> outputs,
                const RunOptions& options) const;
  void bind(Frame& frame, std::span<const Tensor> inputs, std::span<Tensor> outputs) const;
  Status run_steps(Frame& frame, const RunOptions& options) const;
  void copy_outputs(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;

  const Graph graph_;
  const std::shared_ptr<ThreadPool> pool_;
  const double share_;
  const MemoryPlan plan_;
  std::vector<Tensor> constants_;  // by value; undefined for others
  std::vector<Step> steps_;        // one per node
  size_t tensor_count_ = 0, scratch_bytes_ = 0;
  std::vector<Binding> input_bindings_, output_bindings_;
  std::vector<Copy> copies_;  // in the order of outputs: a copy of an output finds it complete
  FreeFrames frames_;
};

// Memory that one run of a lowered graph needs: arena plus the caller's inputs and outputs.
MemoryUse memory_use(const MemoryPlan& plan);

}  // namespace shoal::cpu
