#include "shoal/engine/vulkan/vulkan_executable.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace shoal::vulkan {
namespace {

size_t float_bytes(int64_t elements) { return static_cast<size_t>(elements) * sizeof(float); }

}  // namespace

Result<std::unique_ptr<Executable>> VkExecutable::compile(std::shared_ptr<const Context> context,
                                                          gpu::Plan plan) {
  std::unique_ptr<VkExecutable> executable(new VkExecutable(std::move(context), std::move(plan)));
  SHOAL_TRY(executable->prepare());
  return std::unique_ptr<Executable>(std::move(executable));
}

Status VkExecutable::build() {
  SHOAL_ASSIGN(program_, build_program(*context_, plan_.launches));
  return {};
}

Status VkExecutable::complete(Frame& frame) const {
  frame.hosts.resize(plan_.graph.inputs().size() + plan_.graph.outputs().size());
  SHOAL_ASSIGN(frame.commands, context_->make_commands());
  if (plan_.launches.empty()) return {};
  const std::string what = "arguments of kernels";
  size_t arguments = 0;
  std::vector<VkDescriptorSetLayout> layouts;
  for (const gpu::Launch& launch : plan_.launches) {
    arguments += launch.arguments.size();
    layouts.push_back(program_.layouts.at(launch.arguments.size())->set.get());
  }
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  static_cast<uint32_t>(arguments)};
  VkDescriptorPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool.maxSets = static_cast<uint32_t>(layouts.size());
  pool.poolSizeCount = 1;
  pool.pPoolSizes = &size;
  SHOAL_ASSIGN(frame.pool, made<DescriptorPoolHandle>(context_->api(), context_->device(),
                                                      &Api::vkCreateDescriptorPool, pool, what));
  frame.sets.resize(layouts.size());
  VkDescriptorSetAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  info.descriptorPool = frame.pool.get();
  info.descriptorSetCount = static_cast<uint32_t>(layouts.size());
  info.pSetLayouts = layouts.data();
  return status_of(
      context_->api().vkAllocateDescriptorSets(context_->device(), &info, frame.sets.data()), what);
}

Result<const HostValue*> VkExecutable::host_value(Frame& frame, size_t index, ValueId id) const {
  HostValue& host = frame.hosts[index];
  const auto& [what, type, constant] = plan_.graph[id];
  if (host.mapped() != nullptr) return &host;
  SHOAL_ASSIGN(host.device, context_->make_buffer(type.bytes(), BufferUse::kDevice, what));
  if (host.device.mapped == nullptr) {
    const BufferUse use =
        index < plan_.graph.inputs().size() ? BufferUse::kUpload : BufferUse::kDownload;
    SHOAL_ASSIGN(host.staging, context_->make_buffer(type.bytes(), use, what));
  }
  return &host;
}

Status VkExecutable::bind_inputs(Frame& frame, std::span<const DeviceValue> inputs,
                                 Binding& binding) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId id = plan_.graph.inputs()[i];
    VkBuffer& buffer = binding.spots[index_of(id)].buffer;
    const Tensor* host = inputs[i].host();
    if (host == nullptr) {
      buffer = handle_of(inputs[i]);
      continue;
    }
    SHOAL_ASSIGN(const HostValue* value, host_value(frame, i, id));
    if (!host->bytes().empty()) {
      std::memcpy(value->mapped(), host->bytes().data(), host->bytes().size());
    }
    buffer = value->device.get();
    binding.is_host[i] = 1;
  }
  return {};
}

// An output that the caller gave in host memory is computed here and read when the run has ended.
Status VkExecutable::bind_outputs(Frame& frame, std::span<DeviceValue> outputs,
                                  Binding& binding) const {
  const size_t inputs = plan_.graph.inputs().size();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].host() == nullptr) {
      SHOAL_ASSIGN(binding.targets[i], make_output(i, outputs[i]));
    } else {
      SHOAL_ASSIGN(const HostValue* value, host_value(frame, inputs + i, plan_.graph.outputs()[i]));
      binding.targets[i] = value->device.get();
      binding.is_host[inputs + i] = 1;
    }
    place_output(i, binding.targets[i], binding.spots);
  }
  return {};
}

// 0: all of the buffer.
size_t VkExecutable::argument_bytes(size_t node, const gpu::Argument& argument) const {
  using Kind = gpu::Argument::Kind;
  const Node& of = plan_.graph.nodes()[node];
  if (argument.kind == Kind::kInput) return plan_.bytes_of(of.inputs[argument.index]);
  if (argument.kind == Kind::kOutput) return plan_.bytes_of(of.outputs[argument.index]);
  return argument.kind == Kind::kScratch ? float_bytes(plan_.scratch) : 0;
}

void VkExecutable::update_sets(const Frame& frame) const {
  std::vector<VkDescriptorBufferInfo> buffers;
  std::vector<VkWriteDescriptorSet> writes;
  for (size_t n = 0; n < plan_.steps.size(); ++n) {
    for (size_t l = plan_.steps[n].first; l < plan_.steps[n].first + plan_.steps[n].count; ++l) {
      const std::vector<gpu::Argument>& arguments = plan_.launches[l].arguments;
      VkWriteDescriptorSet write{};
      write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
      write.dstSet = frame.sets[l];
      write.descriptorCount = static_cast<uint32_t>(arguments.size());
      write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      writes.push_back(write);
      for (const gpu::Argument& argument : arguments) {
        const Spot spot = argument_spot(frame, frame.bound.spots, n, argument);
        const size_t bytes = argument_bytes(n, argument);
        buffers.push_back({spot.buffer, spot.first, bytes == 0 ? VK_WHOLE_SIZE : bytes});
      }
    }
  }
  const VkDescriptorBufferInfo* next = buffers.data();
  for (VkWriteDescriptorSet& write : writes) {
    write.pBufferInfo = next;
    next += write.descriptorCount;
  }
  context_->api().vkUpdateDescriptorSets(context_->device(), static_cast<uint32_t>(writes.size()),
                                         writes.data(), 0, nullptr);
}

Status VkExecutable::run_in(Frame& frame, std::span<const DeviceValue> inputs,
                            std::span<DeviceValue> outputs, const RunOptions& options) const {
  Binding binding{spots_of(frame), std::vector<VkBuffer>(outputs.size()),
                  std::vector<char>(frame.hosts.size(), 0),
                  options.trace != nullptr && context_->tick_nanoseconds() > 0};
  SHOAL_TRY(bind_inputs(frame, inputs, binding));
  SHOAL_TRY(bind_outputs(frame, outputs, binding));
  // Most runs find everything as the run before left it. A buffer that is not of the frame may be
  // another one under the same handle.
  const bool is_own = std::ranges::count(binding.is_host, 0) == 0;
  if (!is_own || binding != frame.bound) {
    frame.bound = std::move(binding);
    frame.is_recorded = false;
    update_sets(frame);
  }
  if (frame.bound.is_traced && frame.times.get() == VkQueryPool{}) {
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = static_cast<uint32_t>(plan_.steps.size() + 1);
    SHOAL_ASSIGN(frame.times, made<QueryPoolHandle>(context_->api(), context_->device(),
                                                    &Api::vkCreateQueryPool, info, "times"));
  }
  const bool may_end = options.deadline != kNoDeadline || options.cancel.stop_possible();
  SHOAL_TRY(may_end ? run_by_steps(frame, options) : run_whole(frame));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor* host = outputs[i].host();
    if (host == nullptr || host->bytes().empty()) continue;
    Tensor to = *host;
    std::memcpy(to.bytes().data(), frame.hosts[inputs.size() + i].mapped(), to.bytes().size());
  }
  return frame.bound.is_traced ? read_times(frame, *options.trace) : Status();
}

Status VkExecutable::run_whole(Frame& frame) const {
  if (!frame.is_recorded) {
    SHOAL_TRY(context_->record(frame.commands, [&](VkCommandBuffer commands) {
      add_inputs(frame, commands);
      for (size_t n = 0; n < plan_.steps.size(); ++n) add_step(frame, n, commands);
      add_outputs(frame, commands);
    }));
    frame.is_recorded = true;
  }
  return context_->run(frame.commands);
}

// Commands that were submitted cannot be called back: one node at a time.
Status VkExecutable::run_by_steps(Frame& frame, const RunOptions& options) const {
  frame.is_recorded = false;
  const size_t last = std::max<size_t>(plan_.steps.size(), 1) - 1;
  for (size_t n = 0; n <= last; ++n) {
    SHOAL_TRY(context_->record(frame.commands, [&](VkCommandBuffer commands) {
      if (n == 0) add_inputs(frame, commands);
      if (n < plan_.steps.size()) add_step(frame, n, commands);
      if (n == last) add_outputs(frame, commands);
    }));
    SHOAL_TRY(context_->run(frame.commands));
    SHOAL_TRY(options.interrupted());
  }
  return {};
}

Status VkExecutable::read_times(const Frame& frame, Trace& trace) const {
  std::vector<uint64_t> ticks(plan_.steps.size() + 1);
  SHOAL_TRY(
      status_of(context_->api().vkGetQueryPoolResults(
                    context_->device(), frame.times.get(), 0, static_cast<uint32_t>(ticks.size()),
                    ticks.size() * sizeof(uint64_t), ticks.data(), sizeof(uint64_t),
                    VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
                "reading times"));
  const auto time_of = [&](size_t index) {
    const uint64_t passed = (ticks[index] - ticks[0]) & context_->tick_mask();
    return std::chrono::nanoseconds(
        std::llround(static_cast<double>(passed) * context_->tick_nanoseconds()));
  };
  for (size_t n = 0; n < plan_.steps.size(); ++n) {
    trace.push_back({n, time_of(n), std::max(time_of(n), time_of(n + 1))});
  }
  return {};
}

void VkExecutable::add_time(const Frame& frame, size_t index, VkCommandBuffer commands) const {
  if (!frame.bound.is_traced) return;
  context_->api().vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                      frame.times.get(), static_cast<uint32_t>(index));
}

void VkExecutable::add_inputs(const Frame& frame, VkCommandBuffer commands) const {
  for (size_t i = 0; i < plan_.graph.inputs().size(); ++i) {
    const HostValue& host = frame.hosts[i];
    if (frame.bound.is_host[i] == 0 || host.device.mapped != nullptr) continue;
    add_copy({host.staging.get(), 0}, {host.device.get(), 0},
             plan_.graph[plan_.graph.inputs()[i]].type.bytes(), commands);
  }
  if (!frame.bound.is_traced) return;
  context_->api().vkCmdResetQueryPool(commands, frame.times.get(), 0,
                                      static_cast<uint32_t>(plan_.steps.size() + 1));
  add_time(frame, 0, commands);
}

void VkExecutable::add_step(const Frame& frame, size_t node, VkCommandBuffer commands) const {
  const gpu::Plan::Step& step = plan_.steps[node];
  for (size_t l = 0; l < step.count; ++l) add_launch(frame, step.first + l, commands);
  if (step.count == 0 && !plan_.is_in_place(node)) {
    const Node& of = plan_.graph.nodes()[node];
    add_copy(frame.bound.spots[index_of(of.inputs[0])], frame.bound.spots[index_of(of.outputs[0])],
             plan_.bytes_of(of.inputs[0]), commands);
  }
  add_time(frame, node + 1, commands);
}

void VkExecutable::add_launch(const Frame& frame, size_t index, VkCommandBuffer commands) const {
  const Api& api = context_->api();
  const gpu::Launch& launch = plan_.launches[index];
  const VkPipelineLayout layout = program_.layouts.at(launch.arguments.size())->pipeline.get();
  api.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                        program_.pipelines[program_.of[index]]->get());
  api.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1,
                              &frame.sets[index], 0, nullptr);
  const int64_t most = context_->most_groups();
  for (int64_t first = 0; first < launch.groups[0]; first += most) {
    const auto first_group = static_cast<int32_t>(first);
    api.vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof first_group,
                           &first_group);
    api.vkCmdDispatch(commands, static_cast<uint32_t>(std::min(most, launch.groups[0] - first)),
                      static_cast<uint32_t>(launch.groups[1]),
                      static_cast<uint32_t>(launch.groups[2]));
  }
  add_barrier(api, commands);
}

void VkExecutable::add_outputs(const Frame& frame, VkCommandBuffer commands) const {
  const size_t inputs = plan_.graph.inputs().size();
  for (size_t i = 0; i < plan_.graph.outputs().size(); ++i) {
    const ValueId id = plan_.graph.outputs()[i];
    const size_t bytes = plan_.graph[id].type.bytes();
    const Spot target{frame.bound.targets[i], 0};
    // A graph input, a constant, or a value that is listed as output twice.
    const Spot& spot = frame.bound.spots[index_of(id)];
    if (target.buffer != spot.buffer) add_copy(spot, target, bytes, commands);
    const HostValue& host = frame.hosts[inputs + i];
    if (frame.bound.is_host[inputs + i] == 0 || host.device.mapped != nullptr) continue;
    add_copy(target, {host.staging.get(), 0}, bytes, commands);
  }
}

void VkExecutable::add_copy(Spot from, Spot to, size_t bytes, VkCommandBuffer commands) const {
  if (bytes == 0) return;
  const VkBufferCopy region{from.first, to.first, bytes};
  context_->api().vkCmdCopyBuffer(commands, from.buffer, to.buffer, 1, &region);
  add_barrier(context_->api(), commands);
}

}  // namespace shoal::vulkan
