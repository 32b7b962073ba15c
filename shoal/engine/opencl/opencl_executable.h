// A graph compiled for OpenCL. Graphs share kernels that are equal. The queue is in order: runs
// execute in the order in which they were started.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shoal/engine/device/device.h"
#include "shoal/engine/gpu/plan/plan_executable.h"
#include "shoal/engine/opencl/opencl_context.h"

namespace shoal::opencl {

struct ClFrame : gpu::FrameMemory<Context> {
  std::vector<BufferHandle> hosts;                    // inputs, then outputs, of host memory
  std::vector<KernelHandle> kernels;                  // by launch
  std::vector<std::vector<gpu::Spot<cl_mem>>> bound;  // arguments of kernels, by launch
};

class ClExecutable final : public gpu::PlanExecutable<Context, ClFrame> {
 public:
  static Result<std::unique_ptr<Executable>> compile(std::shared_ptr<const Context> context,
                                                     gpu::Plan plan);

 private:
  using Frame = ClFrame;
  using Spot = gpu::Spot<cl_mem>;
  class Times;

  using PlanExecutable::PlanExecutable;

  Status build() override;
  Status complete(Frame& frame) const override;
  void wait_idle() const override;
  void has_run() override;
  Status run_in(Frame& frame, std::span<const DeviceValue> inputs, std::span<DeviceValue> outputs,
                const RunOptions& options) const override;

  Result<cl_mem> host_buffer(Frame& frame, size_t index, ValueId id) const;
  Status bind_inputs(Frame& frame, std::span<const DeviceValue> inputs, Spots& spots,
                     bool traced) const;
  Status bind_outputs(Frame& frame, std::span<DeviceValue> outputs, Spots& spots) const;
  Status run_steps(Frame& frame, const Spots& spots, const RunOptions& options) const;
  Status run_step(size_t node, Frame& frame, const Spots& spots, Times& times) const;
  Status launch(size_t node, size_t index, Frame& frame, const Spots& spots, Times& times) const;
  Status bind(size_t node, size_t index, Frame& frame, const Spots& spots) const;
  Status copy(ValueId from, Spot to, const Spots& spots, Times& times) const;

  std::vector<Kernel> kernels_;  // by launch
  bool is_kept_ = false;         // all programs, for the next start
};

}  // namespace shoal::opencl
