// A plan on a device, for all APIs. What all runs share (program, weights, the memory plan) is
// fixed once prepare() returns; what one run writes is in a frame, so that runs may be in progress
// at once. Values lie in one buffer by the plan of engine/device/memory_plan.h, and each is a part
// of it; inputs and outputs are separate buffers.
//
// The API's part is a Context, which is what it opened:
//   Buffer                                a buffer that it owns; get() is the API's handle
//   make_buffer(bytes, what)              `what` names the buffer or the layer in failures
//   make_constant(tensor, storage, what)  a buffer with these elements
//   value_buffer(bytes, what), take_back(bytes, buffer)   for values that a caller may hold
//   read(buffer, tensor)
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "shoal/engine/device/device.h"
#include "shoal/engine/gpu/plan/gpu_plan.h"

namespace shoal::gpu {

template <class Context>
class ValueMemory final : public DeviceMemory {
 public:
  using Buffer = typename Context::Buffer;

  ValueMemory(std::shared_ptr<const Context> context, Buffer buffer, size_t bytes)
      : context_(std::move(context)), buffer_(std::move(buffer)), bytes_(bytes) {}
  // Runs hold the values they use, so all of its runs have ended.
  ~ValueMemory() override { context_->take_back(bytes_, std::move(buffer_)); }
  ValueMemory(const ValueMemory&) = delete;
  ValueMemory& operator=(const ValueMemory&) = delete;
  Status copy_to(Tensor& tensor) const override { return context_->read(buffer_, tensor); }
  auto handle() const { return buffer_.get(); }

 private:
  const std::shared_ptr<const Context> context_;
  Buffer buffer_;
  const size_t bytes_;
};

template <class Context>
Result<DeviceValue> upload(const std::shared_ptr<const Context>& context, const Tensor& tensor) {
  SHOAL_ASSIGN(auto buffer, context->make_constant(tensor, Storage::kF32, "a tensor to upload"));
  return DeviceValue(tensor.type(), std::make_shared<ValueMemory<Context>>(
                                        context, std::move(buffer), tensor.bytes().size()));
}

template <class Handle>
struct Spot {
  Handle buffer = {};
  size_t first = 0;  // byte
  bool operator==(const Spot&) const = default;
};

// Memory of one run. APIs add what they need.
template <class Context>
struct FrameMemory {
  typename Context::Buffer arena, scratch, counters;
};

// FRAME derives from FrameMemory.
template <class Context, class Frame>
class PlanExecutable : public Executable {
 public:
  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override {
    const std::vector<DeviceValue> in(inputs.begin(), inputs.end());
    std::vector<DeviceValue> out;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].defined()) {
        outputs[i] = Tensor::uninitialized(plan_.graph[plan_.graph.outputs()[i]].type);
      }
      out.emplace_back(outputs[i]);
    }
    return run_values(in, out, options);
  }

  Status run_values(std::span<const DeviceValue> inputs, std::span<DeviceValue> outputs,
                    const RunOptions& options) override {
    SHOAL_CHECK(inputs.size() == plan_.graph.inputs().size());
    SHOAL_CHECK(outputs.size() == plan_.graph.outputs().size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      SHOAL_CHECK(inputs[i].type() == plan_.graph[plan_.graph.inputs()[i]].type);
    }
    SHOAL_TRY(options.interrupted());
    SHOAL_ASSIGN(std::unique_ptr<Frame> frame, take_frame());
    const Status status = run_in(*frame, inputs, outputs, options);
    if (!status.ok()) {
      // Submitted commands still use the frame; if waiting fails, the device is lost.
      wait_idle();
      return status;
    }
    const std::scoped_lock lock(mutex_);
    frames_.push_back(std::move(frame));
    has_run();
    return {};
  }

  const Graph& graph() const override { return plan_.graph; }
  MemoryUse memory() const override { return plan_.memory_use(); }
  const KernelInfo& kernel_of(size_t node) const override { return plan_.infos[node]; }

 protected:
  using Buffer = typename Context::Buffer;
  using Handle = decltype(std::declval<const Buffer&>().get());
  using Spots = std::vector<Spot<Handle>>;  // by value, in one run

  PlanExecutable(std::shared_ptr<const Context> context, Plan plan)
      : context_(std::move(context)), plan_(std::move(plan)) {}

  // Uploads the weights, compiles the kernels and makes the first frame.
  Status prepare() {
    SHOAL_TRY(upload_constants());
    SHOAL_TRY(build());
    SHOAL_ASSIGN(auto frame, new_frame());
    frames_.push_back(std::move(frame));
    return {};
  }

  virtual Status build() = 0;
  // Adds what the API needs beside memory.
  virtual Status complete(Frame& frame) const = 0;
  virtual Status run_in(Frame& frame, std::span<const DeviceValue> inputs,
                        std::span<DeviceValue> outputs, const RunOptions& options) const = 0;
  virtual void wait_idle() const = 0;
  // After a run, one call at a time.
  virtual void has_run() {}

  static size_t index_of(ValueId id) { return static_cast<size_t>(id); }

  // Where values lie that are neither inputs nor outputs.
  Spots spots_of(const Frame& frame) const {
    Spots spots(plan_.graph.value_count());
    for (size_t v = 0; v < spots.size(); ++v) {
      const Place& place = plan_.memory.places[v];
      spots[v] =
          place.kind == Place::Kind::kArena
              ? Spot<Handle>{frame.arena.get(), static_cast<size_t>(place.at / plan_.shrinkage)}
              : Spot<Handle>{constants_[v].get(), 0};
    }
    return spots;
  }

  static Handle handle_of(const DeviceValue& value) {
    return static_cast<const ValueMemory<Context>*>(value.memory())->handle();
  }

  // Outputs that are undefined, or on the device, are made anew: the old value may still be read.
  Result<Handle> make_output(size_t output, DeviceValue& value) const {
    const auto& [name, type, constant] = plan_.graph[plan_.graph.outputs()[output]];
    SHOAL_ASSIGN(Buffer buffer, context_->value_buffer(type.bytes(), name));
    auto memory = std::make_shared<ValueMemory<Context>>(context_, std::move(buffer), type.bytes());
    const Handle handle = memory->handle();
    value = DeviceValue(type, std::move(memory));
    return handle;
  }

  // In-place nodes may give earlier values the output's memory, too.
  void place_output(size_t output, Handle buffer, Spots& spots) const {
    for (size_t v = 0; v < spots.size(); ++v) {
      const Place& place = plan_.memory.places[v];
      const bool is_here =
          place.kind == Place::Kind::kOutput && place.at == static_cast<int64_t>(output);
      if (is_here) spots[v] = {buffer, 0};
    }
  }

  Spot<Handle> argument_spot(const Frame& frame, const Spots& spots, size_t node,
                             const Argument& argument) const {
    const Node& of = plan_.graph.nodes()[node];
    switch (argument.kind) {
      case Argument::Kind::kInput:
        return spots[index_of(of.inputs[argument.index])];
      case Argument::Kind::kOutput:
        return spots[index_of(of.outputs[argument.index])];
      case Argument::Kind::kTable:
        return {tables_[node][argument.index].get(), 0};
      case Argument::Kind::kScratch:
        return {frame.scratch.get(), 0};
      case Argument::Kind::kCounters:
        break;
    }
    return {frame.counters.get(), 0};
  }

  const std::shared_ptr<const Context> context_;
  const Plan plan_;

 private:
  Status upload_constants() {
    tables_.resize(plan_.steps.size());
    constants_.resize(plan_.graph.value_count());
    for (size_t n = 0; n < plan_.steps.size(); ++n) {
      const std::string place = place_of(plan_.graph, plan_.graph.nodes()[n]);
      for (const auto& make_table : plan_.steps[n].tables) {
        SHOAL_ASSIGN(Buffer buffer,
                     context_->make_constant(make_table(), plan_.table_storage(n), place));
        tables_[n].push_back(std::move(buffer));
      }
    }
    for (const ConstantUse& use : constants_of(plan_)) {
      SHOAL_ASSIGN(constants_[index_of(use.id)],
                   context_->make_constant(*plan_.graph[use.id].constant,
                                           plan_.storage[index_of(use.id)], use.place));
    }
    return {};
  }

  Result<std::unique_ptr<Frame>> new_frame() const {
    auto frame = std::make_unique<Frame>();
    if (plan_.arena_bytes() > 0) {
      SHOAL_ASSIGN(frame->arena, context_->make_buffer(plan_.arena_bytes(), plan_.hungriest()));
    }
    if (plan_.scratch > 0) {
      SHOAL_ASSIGN(frame->scratch,
                   context_->make_buffer(TensorType{DType::kF32, {plan_.scratch}}.bytes(),
                                         "scratch memory"));
    }
    if (plan_.counters > 0) {
      SHOAL_ASSIGN(frame->counters, context_->make_constant(Tensor({DType::kI32, {plan_.counters}}),
                                                            Storage::kF32, "counters"));
    }
    SHOAL_TRY(complete(*frame));
    return frame;
  }

  Result<std::unique_ptr<Frame>> take_frame() {
    {
      const std::scoped_lock lock(mutex_);
      if (!frames_.empty()) {
        auto frame = std::move(frames_.back());
        frames_.pop_back();
        return frame;
      }
    }
    return new_frame();
  }

  std::vector<std::vector<Buffer>> tables_;  // by node
  std::vector<Buffer> constants_;            // by value
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> frames_;  // free
};

}  // namespace shoal::gpu
