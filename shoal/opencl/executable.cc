// All kernels of a graph are one program. Values lie in one buffer by the plan of
// device/memory_plan.h, and each is a part of it; inputs and outputs are buffers of their own.
#include "shoal/opencl/executable.h"

#include <algorithm>
#include <map>

namespace shoal::opencl {
namespace {

using enum gpu::Storage;

size_t index_of(ValueId id) { return static_cast<size_t>(id); }

// Offsets of f16 are half of those that are planned.
int64_t plan_alignment(const Context& context) {
  return context.precision == OpenClPrecision::kF16 ? 2 * context.alignment : context.alignment;
}

}  // namespace

// The commands of a traced run, by node; nothing where there is no trace.
class ClExecutable::Times {
 public:
  Times(const Context& context, Trace* trace) : context_(context), trace_(trace) {}

  cl_command_queue queue() const {
    return trace_ == nullptr ? context_.queue.get() : context_.profiling_queue.get();
  }
  void begin(size_t node) { node_ = node; }
  // For the last argument of a call that enqueues; enqueued() follows it.
  cl_event* event() { return trace_ == nullptr ? nullptr : &event_; }
  void enqueued() {
    if (trace_ != nullptr) events_.emplace(node_, EventHandle(context_.api, event_));
  }

  // REQUIRES: all commands have ended.
  Status finish(size_t nodes) {
    if (trace_ == nullptr) return {};
    cl_ulong start = 0, last = 0;
    for (size_t n = 0; n < nodes; ++n) {
      cl_ulong begin = last, end = last;
      const auto [from, to] = events_.equal_range(n);
      for (auto event = from; event != to; ++event) {
        SHOAL_ASSIGN(const cl_ulong b, time_of(event->second, CL_PROFILING_COMMAND_START));
        SHOAL_ASSIGN(const cl_ulong e, time_of(event->second, CL_PROFILING_COMMAND_END));
        if (start == 0) start = last = b;
        begin = event == from ? b : begin;
        end = std::max(b, e);
      }
      last = end;
      trace_->push_back({n, std::chrono::nanoseconds(begin - std::min(begin, start)),
                         std::chrono::nanoseconds(end - std::min(end, start))});
    }
    return {};
  }

 private:
  Result<cl_ulong> time_of(const EventHandle& event, cl_profiling_info what) const {
    cl_ulong time = 0;
    SHOAL_TRY(status_of(
        context_.api->clGetEventProfilingInfo(event.get(), what, sizeof time, &time, nullptr),
        "reading times"));
    return time;
  }

  const Context& context_;
  Trace* const trace_;
  cl_event event_ = nullptr;
  size_t node_ = 0;
  std::multimap<size_t, EventHandle> events_;
};

ClExecutable::ClExecutable(std::shared_ptr<const Context> context, Graph graph)
    : context_(std::move(context)),
      graph_(std::move(graph)),
      plan_(plan_memory(graph_, plan_alignment(*context_))),
      storage_(graph_.value_count(), gpu::Storage::kF32),
      constants_(graph_.value_count()) {}

Result<std::unique_ptr<ClExecutable>> ClExecutable::compile(std::shared_ptr<const Context> context,
                                                            Graph graph) {
  std::unique_ptr<ClExecutable> executable(new ClExecutable(std::move(context), std::move(graph)));
  SHOAL_TRY(executable->add_steps());
  executable->choose_storage();
  SHOAL_TRY(executable->upload_constants());
  if (!executable->launches_.empty()) {
    gpu::Program program = gpu::opencl_program(executable->launches_);
    executable->source_ = std::move(program.source);
    executable->names_ = std::move(program.names);
    SHOAL_ASSIGN(executable->program_, executable->context_->build(executable->source_));
  }
  SHOAL_ASSIGN(auto frame, executable->new_frame());
  executable->frames_.push_back(std::move(frame));
  return executable;
}

Status ClExecutable::add_steps() {
  for (const Node& node : graph_.nodes()) {
    const std::string place = place_of(graph_, node);
    const bool in_half = context_->precision == OpenClPrecision::kF16 && gpu::is_layer(node.op) &&
                         std::ranges::find(context_->f32_layers, graph_[node.outputs[0]].name) ==
                             context_->f32_layers.end();
    std::optional<gpu::Work> work = gpu::work_of(graph_, node, context_->capabilities, in_half);
    if (!work)
      return Status(Code::kUnsupported, place + " is not for " + context_->description.name);
    Step step{launches_.size(), work->launches.size(), in_half, {}};
    for (const auto& make_table : work->tables) {
      SHOAL_ASSIGN(BufferHandle buffer,
                   context_->make_constant(make_table(), in_half ? kF16 : kF32, place));
      step.tables.push_back(std::move(buffer));
    }
    std::ranges::move(work->launches, std::back_inserter(launches_));
    scratch_ = std::max(scratch_, work->scratch);
    counters_ = std::max(counters_, work->counters);
    infos_.push_back({.name = work->kernel});
    steps_.push_back(std::move(step));
  }
  return {};
}

// Weights of layers in half precision and what these layers compute are f16; the outputs of other
// nodes are as their first input. Inputs and outputs of the graph are f32, which the host has. Two
// values that share a place, or that a node only renames, are stored alike: f32 if one of them is.
void ClExecutable::choose_storage() {
  std::vector<char> is_fixed(graph_.value_count(), 0);  // f32, whoever reads it
  for (ValueId id : graph_.inputs()) is_fixed[index_of(id)] = 1;
  for (ValueId id : graph_.outputs()) is_fixed[index_of(id)] = 1;
  const auto set = [&](ValueId id, gpu::Storage storage) {
    const bool is_half =
        storage == kF16 && is_fixed[index_of(id)] == 0 && graph_[id].type.dtype == DType::kF32;
    storage_[index_of(id)] = is_half ? kF16 : kF32;
  };
  // A constant that one reader wants in f32 is f32 for all.
  for (size_t n = 0; n < steps_.size(); ++n) {
    const Node& node = graph_.nodes()[n];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_weight = steps_[n].in_half && i == 1;
      if (node.inputs[i] != kNoValue && !is_weight && graph_[node.inputs[i]].constant) {
        is_fixed[index_of(node.inputs[i])] = 1;
      }
    }
  }
  const auto is_alias = [&](size_t n, ValueId from, ValueId to) {
    const Place &a = plan_.places[index_of(from)], &b = plan_.places[index_of(to)];
    return steps_[n].count == 0 ||
           (a.kind != Place::Kind::kElsewhere && a.kind == b.kind && a.at == b.at);
  };
  for (bool is_settled = false; !is_settled;) {
    is_settled = true;
    for (size_t n = 0; n < steps_.size(); ++n) {
      const Node& node = graph_.nodes()[n];
      if (steps_[n].in_half && graph_[node.inputs[1]].constant) set(node.inputs[1], kF16);
      const ValueId from = node.inputs.empty() ? kNoValue : node.inputs[0];
      for (ValueId to : node.outputs) {
        const bool is_half = gpu::is_layer(node.op)
                                 ? steps_[n].in_half
                                 : from != kNoValue && storage_[index_of(from)] == kF16;
        set(to, is_half ? kF16 : kF32);
        if (from == kNoValue || storage_[index_of(from)] == storage_[index_of(to)] ||
            !is_alias(n, from, to)) {
          continue;
        }
        is_fixed[index_of(from)] = is_fixed[index_of(to)] = 1;
        set(from, kF32);
        set(to, kF32);
        is_settled = false;
      }
    }
  }
  bool is_all_half = context_->precision == OpenClPrecision::kF16;
  for (size_t v = 0; v < storage_.size(); ++v) {
    is_all_half &= plan_.places[v].kind != Place::Kind::kArena || storage_[v] == kF16;
  }
  shrinkage_ = is_all_half ? 2 : 1;
  for (size_t n = 0; n < steps_.size(); ++n) {
    for (size_t l = 0; l < steps_[n].count; ++l) {
      for (gpu::Argument& argument : launches_[steps_[n].first + l].arguments) {
        argument.storage = storage_of(graph_.nodes()[n], steps_[n], argument);
      }
    }
  }
}

gpu::Storage ClExecutable::storage_of(const Node& node, const Step& step,
                                      const gpu::Argument& argument) const {
  using Kind = gpu::Argument::Kind;
  if (argument.kind == Kind::kInput) return storage_[index_of(node.inputs[argument.index])];
  if (argument.kind == Kind::kOutput) return storage_[index_of(node.outputs[argument.index])];
  return argument.kind == Kind::kTable && step.in_half ? kF16 : kF32;
}

Status ClExecutable::upload_constant(ValueId id, const std::string& place) {
  const auto& constant = graph_[id].constant;
  BufferHandle& buffer = constants_[index_of(id)];
  if (!constant || buffer.get() != nullptr) return {};
  SHOAL_ASSIGN(buffer, context_->make_constant(*constant, storage_[index_of(id)], place));
  return {};
}

// Only those that kernels read: not the shape of a Reshape.
Status ClExecutable::upload_constants() {
  for (size_t n = 0; n < steps_.size(); ++n) {
    const Node& node = graph_.nodes()[n];
    const std::string place = place_of(graph_, node);
    if (steps_[n].count == 0) SHOAL_TRY(upload_constant(node.inputs[0], place));
    for (size_t l = 0; l < steps_[n].count; ++l) {
      for (const gpu::Argument& argument : launches_[steps_[n].first + l].arguments) {
        if (argument.kind != gpu::Argument::Kind::kInput) continue;
        SHOAL_TRY(upload_constant(node.inputs[argument.index], place));
      }
    }
  }
  for (ValueId id : graph_.outputs()) SHOAL_TRY(upload_constant(id, graph_[id].name));
  return {};
}

// The node that reads and writes most, for messages: where memory does not suffice.
std::string ClExecutable::hungriest() const {
  std::string place = "values";
  size_t most = 0;
  for (const Node& node : graph_.nodes()) {
    size_t bytes = 0;
    for (ValueId id : node.inputs) bytes += id == kNoValue ? 0 : graph_[id].type.bytes();
    for (ValueId id : node.outputs) bytes += graph_[id].type.bytes();
    if (bytes > most) place = place_of(graph_, node);
    most = std::max(most, bytes);
  }
  return place;
}

Result<std::unique_ptr<ClExecutable::Frame>> ClExecutable::new_frame() const {
  const Api& api = *context_->api;
  auto frame = std::make_unique<Frame>();
  frame->hosts.resize(graph_.inputs().size() + graph_.outputs().size());
  if (plan_.arena_bytes > 0) {
    SHOAL_ASSIGN(frame->arena,
                 context_->make_buffer(static_cast<size_t>(plan_.arena_bytes / shrinkage_ + 1),
                                       hungriest()));
  }
  if (scratch_ > 0) {
    SHOAL_ASSIGN(frame->scratch, context_->make_buffer(TensorType{DType::kF32, {scratch_}}.bytes(),
                                                       "scratch memory"));
  }
  if (counters_ > 0) {
    SHOAL_ASSIGN(frame->counters,
                 context_->make_constant(Tensor({DType::kI32, {counters_}}), kF32, "counters"));
  }
  frame->bound.resize(launches_.size());
  for (const std::string& name : names_) {
    cl_int error = CL_SUCCESS;
    frame->kernels.emplace_back(context_->api,
                                api.clCreateKernel(program_.get(), name.c_str(), &error));
    SHOAL_TRY(status_of(error, "kernel " + name));
  }
  return frame;
}

Result<std::unique_ptr<ClExecutable::Frame>> ClExecutable::take_frame() {
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

MemoryUse ClExecutable::memory() const {
  return {plan_.arena_bytes + plan_.caller_bytes, plan_.live_bytes + plan_.caller_bytes};
}

Status ClExecutable::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                         const RunOptions& options) {
  const std::vector<DeviceValue> in(inputs.begin(), inputs.end());
  std::vector<DeviceValue> out;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined()) {
      outputs[i] = Tensor::uninitialized(graph_[graph_.outputs()[i]].type);
    }
    out.emplace_back(outputs[i]);
  }
  return run_values(in, out, options);
}

Status ClExecutable::run_values(std::span<const DeviceValue> inputs, std::span<DeviceValue> outputs,
                                const RunOptions& options) {
  SHOAL_CHECK(inputs.size() == graph_.inputs().size());
  SHOAL_CHECK(outputs.size() == graph_.outputs().size());
  SHOAL_ASSIGN(std::unique_ptr<Frame> frame, take_frame());
  const Status status = run_in(*frame, inputs, outputs, options);
  if (!status.ok()) {
    // Commands that were enqueued still use the frame; where even waiting fails, the device is
    // lost.
    static_cast<void>(context_->finish());
    return status;
  }
  const std::scoped_lock lock(mutex_);
  frames_.push_back(std::move(frame));
  // After a run: some drivers compile a kernel when it is launched, and would do so twice.
  if (program_.get() != nullptr && !is_kept_.exchange(true))
    context_->keep(source_, program_.get());
  return {};
}

Result<cl_mem> ClExecutable::host_buffer(Frame& frame, size_t index, ValueId id) const {
  BufferHandle& buffer = frame.hosts[index];
  const auto& [what, type, constant] = graph_[id];
  if (buffer.get() == nullptr) {
    SHOAL_ASSIGN(buffer, context_->make_buffer(type.bytes(), what));
  }
  return buffer.get();
}

// A traced run has its kernels in another queue, which does not wait for this one.
Status ClExecutable::bind_inputs(Frame& frame, std::span<const DeviceValue> inputs, Spots& spots,
                                 bool traced) const {
  for (size_t v = 0; v < spots.size(); ++v) {
    const Place& place = plan_.places[v];
    const bool in_arena = place.kind == Place::Kind::kArena;
    spots[v] = in_arena ? Spot{frame.arena.get(), static_cast<size_t>(place.at / shrinkage_)}
                        : Spot{constants_[v].get(), 0};
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    cl_mem& buffer = spots[index_of(graph_.inputs()[i])].buffer;
    SHOAL_CHECK(inputs[i].type() == graph_[graph_.inputs()[i]].type);
    if (const Tensor* host = inputs[i].host()) {
      SHOAL_ASSIGN(buffer, host_buffer(frame, i, graph_.inputs()[i]));
      SHOAL_TRY(traced ? context_->write(buffer, *host) : context_->begin_write(buffer, *host));
    } else {
      buffer = static_cast<const ClMemory*>(inputs[i].memory())->buffer();
    }
  }
  return {};
}

// An output that the caller gave in host memory is computed here and read when the run has ended;
// one that it gave on the device, or not at all, is made anew: somebody may still read the old one.
Status ClExecutable::bind_outputs(Frame& frame, std::span<DeviceValue> outputs,
                                  Spots& spots) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId id = graph_.outputs()[i];
    const TensorType& type = graph_[id].type;
    cl_mem buffer = nullptr;
    if (outputs[i].host() != nullptr) {
      SHOAL_ASSIGN(buffer, host_buffer(frame, graph_.inputs().size() + i, id));
    } else {
      SHOAL_ASSIGN(BufferHandle made, context_->make_buffer(type.bytes(), graph_[id].name));
      auto memory = std::make_shared<ClMemory>(context_, std::move(made));
      buffer = memory->buffer();
      outputs[i] = DeviceValue(type, std::move(memory));
    }
    // Values before it may lie there, too, where nodes work in place.
    for (size_t v = 0; v < spots.size(); ++v) {
      const Place& place = plan_.places[v];
      const bool is_here =
          place.kind == Place::Kind::kOutput && place.at == static_cast<int64_t>(i);
      if (is_here) spots[v] = {buffer, 0};
    }
  }
  return {};
}

Status ClExecutable::run_in(Frame& frame, std::span<const DeviceValue> inputs,
                            std::span<DeviceValue> outputs, const RunOptions& options) const {
  SHOAL_TRY(options.interrupted());
  Spots spots(graph_.value_count());
  SHOAL_TRY(bind_inputs(frame, inputs, spots, options.trace != nullptr));
  SHOAL_TRY(bind_outputs(frame, outputs, spots));
  SHOAL_TRY(run_steps(frame, spots, options));
  Times untimed(*context_, nullptr);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId id = graph_.outputs()[i];
    const cl_mem buffer = outputs[i].host() != nullptr
                              ? frame.hosts[graph_.inputs().size() + i].get()
                              : static_cast<const ClMemory*>(outputs[i].memory())->buffer();
    // A graph input, a constant, or a value that is listed as output twice.
    if (buffer != spots[index_of(id)].buffer) {
      SHOAL_TRY(copy(id, {buffer, 0}, spots, untimed));
    }
    if (const Tensor* host = outputs[i].host()) {
      Tensor to = *host;
      SHOAL_TRY(context_->read(buffer, to));
    }
  }
  return context_->finish();
}

Status ClExecutable::run_steps(Frame& frame, const Spots& spots, const RunOptions& options) const {
  const bool may_end = options.deadline != kNoDeadline || options.cancel.stop_possible();
  Times times(*context_, options.trace);
  for (size_t n = 0; n < steps_.size(); ++n) {
    SHOAL_TRY(run_step(n, frame, spots, times));
    if (!may_end) continue;
    // A kernel that was enqueued cannot be called back: one at a time.
    SHOAL_TRY(context_->finish());
    SHOAL_TRY(options.interrupted());
  }
  if (options.trace == nullptr) return {};
  SHOAL_TRY(context_->finish());
  return times.finish(steps_.size());
}

Status ClExecutable::run_step(size_t node, Frame& frame, const Spots& spots, Times& times) const {
  const Step& step = steps_[node];
  times.begin(node);
  for (size_t l = 0; l < step.count; ++l) {
    SHOAL_TRY(launch(node, step.first + l, frame, spots, times)
                  .at(place_of(graph_, graph_.nodes()[node])));
  }
  if (step.count > 0) return {};
  const ValueId from = graph_.nodes()[node].inputs[0], to = graph_.nodes()[node].outputs[0];
  const Place &a = plan_.places[index_of(from)], &b = plan_.places[index_of(to)];
  const bool is_there = a.kind != Place::Kind::kElsewhere && b.kind == a.kind && a.at == b.at;
  if (is_there) return {};
  return copy(from, spots[index_of(to)], spots, times);
}

// Most runs find the arguments as the run before left them.
Status ClExecutable::bind(size_t node, size_t index, Frame& frame, const Spots& spots) const {
  using Kind = gpu::Argument::Kind;
  const Api& api = *context_->api;
  const Node& of = graph_.nodes()[node];
  const gpu::Launch& launch = launches_[index];
  const cl_kernel kernel = frame.kernels[index].get();
  std::vector<Spot>& bound = frame.bound[index];
  bound.resize(launch.arguments.size());
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const gpu::Argument& argument = launch.arguments[i];
    const Spot spot = argument.kind == Kind::kInput    ? spots[index_of(of.inputs[argument.index])]
                      : argument.kind == Kind::kOutput ? spots[index_of(of.outputs[argument.index])]
                      : argument.kind == Kind::kTable
                          ? Spot{steps_[node].tables[argument.index].get(), 0}
                      : argument.kind == Kind::kScratch ? Spot{frame.scratch.get(), 0}
                                                        : Spot{frame.counters.get(), 0};
    if (spot == bound[i]) continue;
    const cl_ulong first = spot.first / stored_bytes({DType::kF32, {1}}, argument.storage);
    const auto number = static_cast<cl_uint>(2 * i);
    SHOAL_TRY(status_of(api.clSetKernelArg(kernel, number, sizeof spot.buffer, &spot.buffer),
                        "arguments"));
    SHOAL_TRY(status_of(api.clSetKernelArg(kernel, number + 1, sizeof first, &first), "arguments"));
    bound[i] = spot;
  }
  return {};
}

Status ClExecutable::launch(size_t node, size_t index, Frame& frame, const Spots& spots,
                            Times& times) const {
  SHOAL_TRY(bind(node, index, frame, spots));
  const gpu::Launch& launch = launches_[index];
  std::array<size_t, 3> global{}, local{};
  for (size_t d = 0; d < 3; ++d) {
    local[d] = static_cast<size_t>(launch.items[d]);
    global[d] = static_cast<size_t>(launch.groups[d]) * local[d];
  }
  SHOAL_TRY(status_of(
      context_->api->clEnqueueNDRangeKernel(times.queue(), frame.kernels[index].get(), 3, nullptr,
                                            global.data(), local.data(), 0, nullptr, times.event()),
      infos_[node].name));
  times.enqueued();
  return {};
}

Status ClExecutable::copy(ValueId from, Spot to, const Spots& spots, Times& times) const {
  const size_t bytes = stored_bytes(graph_[from].type, storage_[index_of(from)]);
  if (bytes == 0) return {};
  const Spot& spot = spots[index_of(from)];
  SHOAL_TRY(status_of(
      context_->api->clEnqueueCopyBuffer(times.queue(), spot.buffer, to.buffer, spot.first,
                                         to.first, bytes, 0, nullptr, times.event()),
      "copying"));
  times.enqueued();
  return {};
}

}  // namespace shoal::opencl
