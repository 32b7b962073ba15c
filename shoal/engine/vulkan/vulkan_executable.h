// A graph compiled for Vulkan. A frame's commands are recorded once, and again only if the inputs
// or outputs of a run lie elsewhere. A barrier separates launches.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "shoal/engine/device/device.h"
#include "shoal/engine/gpu/plan/plan_executable.h"
#include "shoal/engine/gpu/source/source.h"
#include "shoal/engine/vulkan/vulkan_context.h"

namespace shoal::vulkan {

// The pipelines of a graph: its shaders, compiled for a device.
struct Program {
  Layouts layouts;
  std::vector<Pipeline> pipelines;
  std::vector<size_t> of;  // pipelines, by launch
};

// Unknown ones are taken from the folder of programs, or compiled and kept there. A failure has the
// compiler's log.
Result<Program> build_program(const Context& context, std::span<const gpu::Launch> launches);

// Where the values of a run lie, and their copies from and to the host.
struct Binding {
  std::vector<gpu::Spot<VkBuffer>> spots;  // by value
  std::vector<VkBuffer> targets;           // by output
  // By input and then by output: comes from the host, or goes there, through a buffer that it
  // reaches.
  std::vector<char> is_host;
  bool is_traced = false;
  bool operator==(const Binding&) const = default;
};

// An input or output in host memory: the device's buffer, and the host's if that is another one.
struct HostValue {
  Buffer device, staging;
  std::byte* mapped() const { return device.mapped ? device.mapped : staging.mapped; }
};

struct VkFrame : gpu::FrameMemory<Context> {
  std::vector<HostValue> hosts;  // inputs, then outputs
  DescriptorPoolHandle pool;
  std::vector<VkDescriptorSet> sets;  // by launch
  QueryPoolHandle times;              // before the first node, and after each
  Commands commands;
  Binding bound;             // of the descriptor sets
  bool is_recorded = false;  // completely, for `bound`
};

class VkExecutable final : public gpu::PlanExecutable<Context, VkFrame> {
 public:
  static Result<std::unique_ptr<Executable>> compile(std::shared_ptr<const Context> context,
                                                     gpu::Plan plan);

 private:
  using Frame = VkFrame;
  using Spot = gpu::Spot<VkBuffer>;

  using PlanExecutable::PlanExecutable;

  Status build() override;
  Status complete(Frame& frame) const override;
  void wait_idle() const override { context_->wait_idle(); }
  Status run_in(Frame& frame, std::span<const DeviceValue> inputs, std::span<DeviceValue> outputs,
                const RunOptions& options) const override;

  Result<const HostValue*> host_value(Frame& frame, size_t index, ValueId id) const;
  Status bind_inputs(Frame& frame, std::span<const DeviceValue> inputs, Binding& binding) const;
  Status bind_outputs(Frame& frame, std::span<DeviceValue> outputs, Binding& binding) const;
  void update_sets(const Frame& frame) const;
  size_t argument_bytes(size_t node, const gpu::Argument& argument) const;

  Status run_whole(Frame& frame) const;
  Status run_by_steps(Frame& frame, const RunOptions& options) const;
  Status read_times(const Frame& frame, Trace& trace) const;

  void add_inputs(const Frame& frame, VkCommandBuffer commands) const;
  void add_step(const Frame& frame, size_t node, VkCommandBuffer commands) const;
  void add_launch(const Frame& frame, size_t index, VkCommandBuffer commands) const;
  void add_outputs(const Frame& frame, VkCommandBuffer commands) const;
  void add_copy(Spot from, Spot to, size_t bytes, VkCommandBuffer commands) const;
  void add_time(const Frame& frame, size_t index, VkCommandBuffer commands) const;

  Program program_;
};

}  // namespace shoal::vulkan
