#include "shoal/engine/opencl/opencl_executable.h"

#include <algorithm>
#include <map>

namespace shoal::opencl {
// The commands of a traced run, by node; none without a trace.
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

Result<std::unique_ptr<Executable>> ClExecutable::compile(std::shared_ptr<const Context> context,
                                                          gpu::Plan plan) {
  std::unique_ptr<ClExecutable> executable(new ClExecutable(std::move(context), std::move(plan)));
  SHOAL_TRY(executable->prepare());
  return std::unique_ptr<Executable>(std::move(executable));
}

Status ClExecutable::build() {
  if (plan_.launches.empty()) return {};
  SHOAL_ASSIGN(kernels_, context_->kernels_of(plan_.launches));
  return {};
}

Status ClExecutable::complete(Frame& frame) const {
  frame.hosts.resize(plan_.graph.inputs().size() + plan_.graph.outputs().size());
  frame.bound.resize(plan_.launches.size());
  for (const Kernel& kernel : kernels_) {
    cl_int error = CL_SUCCESS;
    frame.kernels.emplace_back(
        context_->api,
        context_->api->clCreateKernel(kernel.program->handle.get(), kernel.name.c_str(), &error));
    SHOAL_TRY(status_of(error, "kernel " + kernel.name));
  }
  return {};
}

void ClExecutable::wait_idle() const { static_cast<void>(context_->finish()); }

// After a run: some drivers compile a kernel when it is launched, and would do so twice.
void ClExecutable::has_run() {
  if (is_kept_) return;
  is_kept_ = true;
  for (const Kernel& kernel : kernels_) context_->keep(*kernel.program);
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
  for (size_t i = 0; i < inputs.size(); ++i) {
    cl_mem& buffer = spots[index_of(plan_.graph.inputs()[i])].buffer;
    if (const Tensor* host = inputs[i].host()) {
      SHOAL_ASSIGN(buffer, host_buffer(frame, i, plan_.graph.inputs()[i]));
      SHOAL_TRY(traced ? context_->write(buffer, *host) : context_->begin_write(buffer, *host));
    } else {
      buffer = handle_of(inputs[i]);
    }
  }
  return {};
}

// An output that the caller gave in host memory is computed here and read when the run has ended.
Status ClExecutable::bind_outputs(Frame& frame, std::span<DeviceValue> outputs,
                                  Spots& spots) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId id = plan_.graph.outputs()[i];
    SHOAL_ASSIGN(const cl_mem buffer,
                 outputs[i].host() == nullptr
                     ? make_output(i, outputs[i])
                     : host_buffer(frame, plan_.graph.inputs().size() + i, id));
    place_output(i, buffer, spots);
  }
  return {};
}

Status ClExecutable::run_in(Frame& frame, std::span<const DeviceValue> inputs,
                            std::span<DeviceValue> outputs, const RunOptions& options) const {
  Spots spots = spots_of(frame);
  SHOAL_TRY(bind_inputs(frame, inputs, spots, options.trace != nullptr));
  SHOAL_TRY(bind_outputs(frame, outputs, spots));
  SHOAL_TRY(run_steps(frame, spots, options));
  Times untimed(*context_, nullptr);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId id = plan_.graph.outputs()[i];
    const cl_mem buffer = outputs[i].host() != nullptr
                              ? frame.hosts[plan_.graph.inputs().size() + i].get()
                              : handle_of(outputs[i]);
    // A graph input, a constant, or a value that is listed as output twice.
    if (buffer != spots[index_of(id)].buffer) {
      SHOAL_TRY(copy(id, {buffer, 0}, spots, untimed));
    }
    if (const Tensor* host = outputs[i].host()) {
      Tensor to = *host;
      SHOAL_TRY(context_->read(buffer, to));
    }
  }
  // What was read last came after all else in the queue.
  const bool is_idle = !outputs.empty() && outputs.back().host() != nullptr &&
                       !outputs.back().host()->bytes().empty();
  return is_idle ? Status() : context_->finish();
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
    const Status status = launch(node, step.first + l, frame, spots, times);
    // The text is for failures only: a launch takes microseconds.
    if (!status.ok()) return status.at(place_of(plan_.graph, plan_.graph.nodes()[node]));
  }
  if (step.count > 0) return {};
  if (plan_.is_in_place(node)) return {};
  const Node& of = plan_.graph.nodes()[node];
  return copy(of.inputs[0], spots[index_of(of.outputs[0])], spots, times);
}

// Most runs find the arguments as the run before left them.
Status ClExecutable::bind(size_t node, size_t index, Frame& frame, const Spots& spots) const {
  const Api& api = *context_->api;
  const gpu::Launch& launch = plan_.launches[index];
  const cl_kernel kernel = frame.kernels[index].get();
  std::vector<Spot>& bound = frame.bound[index];
  bound.resize(launch.arguments.size());
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const gpu::Argument& argument = launch.arguments[i];
    const Spot spot = argument_spot(frame, spots, node, argument);
    if (spot == bound[i]) continue;
    const cl_ulong first = spot.first / gpu::stored_bytes({DType::kF32, {1}}, argument.storage);
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
