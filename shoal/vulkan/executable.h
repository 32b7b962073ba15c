// A graph compiled for Vulkan. What all runs share (pipelines, weights, the memory plan) is fixed
// once compile() returns; what one run writes is in a Frame, so that runs may be in progress at
// once. A frame's commands are recorded once, and again only where a run has its inputs or outputs
// elsewhere.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "shoal/device/device.h"
#include "shoal/gpu/plan.h"
#include "shoal/vulkan/context.h"
#include "shoal/vulkan/program.h"

namespace shoal::vulkan {

// A value in the device's memory.
class VkValueMemory final : public DeviceMemory {
 public:
  VkValueMemory(std::shared_ptr<const Context> context, Buffer buffer)
      : context_(std::move(context)), buffer_(std::move(buffer)) {}
  // All runs that used it have ended: they hold the value until then.
  ~VkValueMemory() override { context_->keep(std::move(buffer_)); }
  VkValueMemory(const VkValueMemory&) = delete;
  VkValueMemory& operator=(const VkValueMemory&) = delete;
  Status copy_to(Tensor& tensor) const override { return context_->read(buffer_, tensor); }
  VkBuffer buffer() const { return buffer_.get(); }

 private:
  const std::shared_ptr<const Context> context_;
  Buffer buffer_;
};

class VkExecutable final : public Executable {
 public:
  // REQUIRES: the graph is lowered, and every node has work.
  static Result<std::unique_ptr<VkExecutable>> compile(std::shared_ptr<const Context> context,
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
    VkBuffer buffer = {};
    size_t first = 0;  // byte
    bool operator==(const Spot&) const = default;
  };
  // Where the values of a run lie, and what is done beside computing them.
  struct Binding {
    std::vector<Spot> spots;        // by value
    std::vector<VkBuffer> targets;  // by output
    // By input and then by output: comes from the host, or goes there, through a buffer that it
    // reaches.
    std::vector<char> is_host;
    bool is_traced = false;
    bool operator==(const Binding&) const = default;
  };
  // An input or output in host memory: where the device has it, and where the host does if that is
  // elsewhere.
  struct HostValue {
    Buffer device, staging;
    std::byte* mapped() const { return device.mapped ? device.mapped : staging.mapped; }
  };
  // Memory and commands of one run.
  struct Frame {
    Buffer arena, scratch, counters;
    std::vector<HostValue> hosts;  // inputs, then outputs
    DescriptorPoolHandle pool;
    std::vector<VkDescriptorSet> sets;  // by launch
    QueryPoolHandle times;              // before the first node, and after each
    Commands commands;
    Binding bound;             // of the descriptor sets
    bool is_recorded = false;  // all of it, for `bound`
  };

  VkExecutable(std::shared_ptr<const Context> context, gpu::Plan plan)
      : context_(std::move(context)), plan_(std::move(plan)) {}

  Status upload();
  Result<std::unique_ptr<Frame>> new_frame() const;
  Status add_sets(Frame& frame) const;
  Result<std::unique_ptr<Frame>> take_frame();

  Result<const HostValue*> host_value(Frame& frame, size_t index, ValueId id) const;
  Status bind_inputs(Frame& frame, std::span<const DeviceValue> inputs, Binding& binding) const;
  Status bind_outputs(Frame& frame, std::span<DeviceValue> outputs, Binding& binding) const;
  void update_sets(const Frame& frame) const;
  Spot argument_spot(const Frame& frame, size_t node, const gpu::Argument& argument) const;
  size_t argument_bytes(size_t node, const gpu::Argument& argument) const;

  Status run_in(Frame& frame, std::span<const DeviceValue> inputs, std::span<DeviceValue> outputs,
                const RunOptions& options) const;
  Status run_whole(Frame& frame) const;
  Status run_by_steps(Frame& frame, const RunOptions& options) const;
  Status read_times(const Frame& frame, Trace& trace) const;

  void add_inputs(const Frame& frame, VkCommandBuffer commands) const;
  void add_step(const Frame& frame, size_t node, VkCommandBuffer commands) const;
  void add_launch(const Frame& frame, size_t index, VkCommandBuffer commands) const;
  void add_outputs(const Frame& frame, VkCommandBuffer commands) const;
  void add_copy(Spot from, Spot to, size_t bytes, VkCommandBuffer commands) const;
  void add_time(const Frame& frame, size_t index, VkCommandBuffer commands) const;

  const std::shared_ptr<const Context> context_;
  const gpu::Plan plan_;
  Program program_;
  std::vector<std::vector<Buffer>> tables_;  // by node
  std::vector<Buffer> constants_;            // by value
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> frames_;  // free
};

}  // namespace shoal::vulkan
