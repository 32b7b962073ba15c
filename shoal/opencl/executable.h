// A graph compiled for OpenCL. What all runs share (program, weights, the memory plan) is fixed
// once compile() returns; what one run writes is in a Frame, so that runs may be in progress at
// once. The queue is in order: runs share the device in the order in which they were begun.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "shoal/device/device.h"
#include "shoal/gpu/plan.h"
#include "shoal/opencl/context.h"

namespace shoal::opencl {

// A value in the device's memory.
class ClMemory final : public DeviceMemory {
 public:
  ClMemory(std::shared_ptr<const Context> context, BufferHandle buffer, size_t bytes)
      : context_(std::move(context)), buffer_(std::move(buffer)), bytes_(bytes) {}
  // All runs that used it have ended: they hold the value until then.
  ~ClMemory() override { context_->keep(bytes_, std::move(buffer_)); }
  ClMemory(const ClMemory&) = delete;
  ClMemory& operator=(const ClMemory&) = delete;
  Status copy_to(Tensor& tensor) const override { return context_->read(buffer_.get(), tensor); }
  cl_mem buffer() const { return buffer_.get(); }

 private:
  const std::shared_ptr<const Context> context_;
  BufferHandle buffer_;
  const size_t bytes_;
};

class ClExecutable final : public Executable {
 public:
  // REQUIRES: the graph is lowered, and every node has work.
  static Result<std::unique_ptr<ClExecutable>> compile(std::shared_ptr<const Context> context,
                                                       Graph graph);

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override;
  Status run_values(std::span<const DeviceValue> inputs, std::span<DeviceValue> outputs,
                    const RunOptions& options) override;

  const Graph& graph() const override { return plan_.graph; }
  MemoryUse memory() const override { return plan_.memory_use(); }
  const KernelInfo& kernel_of(size_t node) const override { return plan_.infos[node]; }

 private:
  // Where a value lies.
  struct Spot {
    cl_mem buffer = nullptr;
    size_t first = 0;  // byte
    bool operator==(const Spot&) const = default;
  };
  // Memory and kernels of one run.
  struct Frame {
    BufferHandle arena, scratch, counters;
    std::vector<BufferHandle> hosts;       // inputs, then outputs, that come from host memory
    std::vector<KernelHandle> kernels;     // by launch
    std::vector<std::vector<Spot>> bound;  // arguments of kernels, by launch
  };
  using Spots = std::vector<Spot>;  // by value, in one run
  class Times;

  ClExecutable(std::shared_ptr<const Context> context, gpu::Plan plan);

  Status upload();
  Result<std::unique_ptr<Frame>> new_frame() const;
  Result<std::unique_ptr<Frame>> take_frame();
  Result<cl_mem> host_buffer(Frame& frame, size_t index, ValueId id) const;

  Status bind_inputs(Frame& frame, std::span<const DeviceValue> inputs, Spots& spots,
                     bool traced) const;
  Status bind_outputs(Frame& frame, std::span<DeviceValue> outputs, Spots& spots) const;
  Status run_in(Frame& frame, std::span<const DeviceValue> inputs, std::span<DeviceValue> outputs,
                const RunOptions& options) const;
  Status run_steps(Frame& frame, const Spots& spots, const RunOptions& options) const;
  Status run_step(size_t node, Frame& frame, const Spots& spots, Times& times) const;
  Status launch(size_t node, size_t index, Frame& frame, const Spots& spots, Times& times) const;
  Status bind(size_t node, size_t index, Frame& frame, const Spots& spots) const;
  Status copy(ValueId from, Spot to, const Spots& spots, Times& times) const;

  const std::shared_ptr<const Context> context_;
  const gpu::Plan plan_;
  std::string source_;
  ProgramHandle program_;
  std::vector<std::string> names_;                 // of kernels, by launch
  std::vector<std::vector<BufferHandle>> tables_;  // by node
  std::vector<BufferHandle> constants_;            // by value
  std::atomic<bool> is_kept_ = false;              // the program, for the next start
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> frames_;  // free
};

}  // namespace shoal::opencl
