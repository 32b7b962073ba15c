// All kernels of a graph are one program. Values lie in one buffer by the plan of
// device/memory_plan.h, and each is a part of it; inputs and outputs are buffers of their own.
#include "shoal/opencl/executable.h"

#include <algorithm>
#include <map>

namespace shoal::opencl {
namespace {

using gpu::stored_bytes;

size_t index_of(ValueId id) { return static_cast<size_t>(id); }

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

ClExecutable::ClExecutable(std::shared_ptr<const Context> context, gpu::Plan plan)
    : context_(std::move(context)), plan_(std::move(plan)), constants_(plan_.graph.value_count()) {}

Result<std::unique_ptr<ClExecutable>> ClExecutable::compile(std::shared_ptr<const Context> context,
                                                            Graph graph) {
  SHOAL_ASSIGN(gpu::Plan plan, gpu::make_plan(std::move(graph), context->plan_options()));
  std::unique_ptr<ClExecutable> executable(new ClExecutable(std::move(context), std::move(plan)));
  SHOAL_TRY(executable->upload());
  if (!executable->plan_.launches.empty()) {
    gpu::Program program = gpu::opencl_program(executable->plan_.launches);
    executable->source_ = std::move(program.source);
    executable->names_ = std::move(program.names);
    SHOAL_ASSIGN(executable->program_, executable->context_->build(executable->source_));
  }
  SHOAL_ASSIGN(auto frame, executable->new_frame());
  executable->frames_.push_back(std::move(frame));
  return executable;
}

Status ClExecutable::upload() {
  tables_.resize(plan_.steps.size());
  for (size_t n = 0; n < plan_.steps.size(); ++n) {
    const std::string place = place_of(plan_.graph, plan_.graph.nodes()[n]);
    for (const auto& make_table : plan_.steps[n].tables) {
      SHOAL_ASSIGN(BufferHandle buffer,
                   context_->make_constant(make_table(), plan_.table_storage(n), place));
      tables_[n].push_back(std::move(buffer));
    }
  }
  for (const gpu::ConstantUse& use : gpu::constants_of(plan_)) {
    SHOAL_ASSIGN(constants_[index_of(use.id)],
                 context_->make_constant(*plan_.graph[use.id].constant,
                                         plan_.storage[index_of(use.id)], use.place));
  }
  return {};
}

Result<std::unique_ptr<ClExecutable::Frame>> ClExecutable::new_frame() const {
  const Api& api = *context_->api;
  auto frame = std::make_unique<Frame>();
  frame->hosts.resize(plan_.graph.inputs().size() + plan_.graph.outputs().size());
  if (plan_.arena_bytes() > 0) {
    SHOAL_ASSIGN(frame->arena, context_->make_buffer(plan_.arena_bytes(), plan_.hungriest()));
  }
  if (plan_.scratch > 0) {
    SHOAL_ASSIGN(
        frame->scratch,
        context_->make_buffer(TensorType{DType::kF32, {plan_.scratch}}.bytes(), "scratch memory"));
  }
  if (plan_.counters > 0) {
    SHOAL_ASSIGN(frame->counters, context_->make_constant(Tensor({DType::kI32, {plan_.counters}}),
                                                          gpu::Storage::kF32, "counters"));
  }
  frame->bound.resize(plan_.launches.size());
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

Status ClExecutable::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                         const RunOptions& options) {
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

Status ClExecutable::run_values(std::span<const DeviceValue> inputs, std::span<DeviceValue> outputs,
                                const RunOptions& options) {
  SHOAL_CHECK(inputs.size() == plan_.graph.inputs().size());
  SHOAL_CHECK(outputs.size() == plan_.graph.outputs().size());
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
  const auto& [what, type, constant] = plan_.graph[id];
  if (buffer.get() == nullptr) {
    SHOAL_ASSIGN(buffer, context_->make_buffer(type.bytes(), what));
  }
  return buffer.get();
}

// A traced run has its kernels in another queue, which does not wait for this one.
Status ClExecutable::bind_inputs(Frame& frame, std::span<const DeviceValue> inputs, Spots& spots,
                                 bool traced) const {
  for (size_t v = 0; v < spots.size(); ++v) {
    const Place& place = plan_.memory.places[v];
    const bool in_arena = place.kind == Place::Kind::kArena;
    spots[v] = in_arena ? Spot{frame.arena.get(), static_cast<size_t>(place.at / plan_.shrinkage)}
                        : Spot{constants_[v].get(), 0};
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    cl_mem& buffer = spots[index_of(plan_.graph.inputs()[i])].buffer;
    SHOAL_CHECK(inputs[i].type() == plan_.graph[plan_.graph.inputs()[i]].type);
    if (const Tensor* host = inputs[i].host()) {
      SHOAL_ASSIGN(buffer, host_buffer(frame, i, plan_.graph.inputs()[i]));
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
    const ValueId id = plan_.graph.outputs()[i];
    const TensorType& type = plan_.graph[id].type;
    cl_mem buffer = nullptr;
    if (outputs[i].host() != nullptr) {
      SHOAL_ASSIGN(buffer, host_buffer(frame, plan_.graph.inputs().size() + i, id));
    } else {
      SHOAL_ASSIGN(BufferHandle made, context_->value_buffer(type.bytes(), plan_.graph[id].name));
      auto memory = std::make_shared<ClMemory>(context_, std::move(made), type.bytes());
      buffer = memory->buffer();
      outputs[i] = DeviceValue(type, std::move(memory));
    }
    // Values before it may lie there, too, where nodes work in place.
    for (size_t v = 0; v < spots.size(); ++v) {
      const Place& place = plan_.memory.places[v];
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
  Spots spots(plan_.graph.value_count());
  SHOAL_TRY(bind_inputs(frame, inputs, spots, options.trace != nullptr));
  SHOAL_TRY(bind_outputs(frame, outputs, spots));
  SHOAL_TRY(run_steps(frame, spots, options));
  Times untimed(*context_, nullptr);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId id = plan_.graph.outputs()[i];
    const cl_mem buffer = outputs[i].host() != nullptr
                              ? frame.hosts[plan_.graph.inputs().size() + i].get()
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
  for (size_t n = 0; n < plan_.steps.size(); ++n) {
    SHOAL_TRY(run_step(n, frame, spots, times));
    if (!may_end) continue;
    // A kernel that was enqueued cannot be called back: one at a time.
    SHOAL_TRY(context_->finish());
    SHOAL_TRY(options.interrupted());
  }
  if (options.trace == nullptr) return {};
  SHOAL_TRY(context_->finish());
  return times.finish(plan_.steps.size());
}

Status ClExecutable::run_step(size_t node, Frame& frame, const Spots& spots, Times& times) const {
  const gpu::Plan::Step& step = plan_.steps[node];
  times.begin(node);
  for (size_t l = 0; l < step.count; ++l) {
    SHOAL_TRY(launch(node, step.first + l, frame, spots, times)
                  .at(place_of(plan_.graph, plan_.graph.nodes()[node])));
  }
  if (step.count > 0) return {};
  if (plan_.is_in_place(node)) return {};
  const Node& of = plan_.graph.nodes()[node];
  return copy(of.inputs[0], spots[index_of(of.outputs[0])], spots, times);
}

// Most runs find the arguments as the run before left them.
Status ClExecutable::bind(size_t node, size_t index, Frame& frame, const Spots& spots) const {
  using Kind = gpu::Argument::Kind;
  const Api& api = *context_->api;
  const Node& of = plan_.graph.nodes()[node];
  const gpu::Launch& launch = plan_.launches[index];
  const cl_kernel kernel = frame.kernels[index].get();
  std::vector<Spot>& bound = frame.bound[index];
  bound.resize(launch.arguments.size());
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const gpu::Argument& argument = launch.arguments[i];
    const Spot spot = argument.kind == Kind::kInput    ? spots[index_of(of.inputs[argument.index])]
                      : argument.kind == Kind::kOutput ? spots[index_of(of.outputs[argument.index])]
                      : argument.kind == Kind::kTable ? Spot{tables_[node][argument.index].get(), 0}
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
  const gpu::Launch& launch = plan_.launches[index];
  std::array<size_t, 3> global{}, local{};
  for (size_t d = 0; d < 3; ++d) {
    local[d] = static_cast<size_t>(launch.items[d]);
    global[d] = static_cast<size_t>(launch.groups[d]) * local[d];
  }
  SHOAL_TRY(status_of(
      context_->api->clEnqueueNDRangeKernel(times.queue(), frame.kernels[index].get(), 3, nullptr,
                                            global.data(), local.data(), 0, nullptr, times.event()),
      plan_.infos[node].name));
  times.enqueued();
  return {};
}

Status ClExecutable::copy(ValueId from, Spot to, const Spots& spots, Times& times) const {
  const size_t bytes = plan_.bytes_of(from);
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
