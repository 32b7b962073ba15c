// A run takes a free frame or makes one, binds the caller's tensors, runs the steps in the order of
// the graph and copies outputs that no node wrote. The tensors of all steps lie in one array per
// frame and are views of arena or constants, set once; a run only rebinds those that the caller
// owns. A run in a frame that was used before therefore allocates nothing but outputs that were not
// given and copies of misaligned inputs.
#include "shoal/engine/cpu/executable.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "shoal/base/machine/pages.h"
#include "shoal/base/threads/pace.h"

namespace shoal::cpu {
namespace {

// Allocation of frames.

// Large arenas are a plan's doing, so running out of memory is an error for the caller, not an
// exception. Huge pages must be requested before the first touch.
Result<Bytes> allocate(size_t size) {
  size = std::max<size_t>(size, 1);
  auto* memory = static_cast<std::byte*>(
      ::operator new[](size, std::align_val_t{kHostAlignment}, std::nothrow));
  if (memory != nullptr) {
    prefer_huge_pages(memory, size);
    return Bytes(memory);
  }
  return Status(Code::kExhausted, "no memory for " + std::to_string(size >> 20) + " MiB of values");
}

}  // namespace

Result<std::unique_ptr<Frame>> make_frame(size_t arena_bytes, size_t scratch_bytes) {
  auto frame = std::make_unique<Frame>();
  SHOAL_ASSIGN(frame->arena, allocate(arena_bytes));
  SHOAL_ASSIGN(frame->scratch, allocate(scratch_bytes));
  return frame;
}

namespace {

using Clock = std::chrono::steady_clock;

size_t index_of(ValueId id) { return static_cast<size_t>(id); }

// A view without an owner. The caller keeps the memory alive, and no reference count is touched:
// many runs at once would contend for it.
Tensor borrow(const TensorType& type, const std::byte* data) {
  return Tensor::view(type, data, nullptr);
}

// Kernels use unaligned vector loads, so the size of an element is all that is asked of tensors
// that come from outside. Tensors in the arena are aligned to kHostAlignment.
bool aligned(const Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.bytes().data()) % size_of(tensor.dtype()) == 0;
}

}  // namespace

MemoryUse memory_use(const MemoryPlan& plan) {
  return {plan.arena_bytes + plan.caller_bytes, plan.live_bytes + plan.caller_bytes};
}

CpuExecutable::CpuExecutable(Graph graph, std::shared_ptr<ThreadPool> pool, double share)
    : graph_(std::move(graph)),
      pool_(std::move(pool)),
      share_(share),
      plan_(plan_memory(graph_, kHostAlignment)) {}

Status CpuExecutable::prepare(Tuner& tuner, PackedCache* cache) {
  align_constants();
  tuner.begin(touched_bytes());
  for (const Node& node : graph_.nodes()) add_step(node, tuner, cache);
  find_bindings();
  find_copies();
  SHOAL_ASSIGN(std::unique_ptr<Frame> first, new_frame());
  frames_.give(std::move(first));
  return {};
}

MemoryUse CpuExecutable::memory() const { return memory_use(plan_); }

// Model files may place a constant at any byte. The few that are not aligned to their element size
// are copied; all others stay views of the mapped file.
void CpuExecutable::align_constants() {
  constants_.resize(graph_.value_count());
  for (size_t v = 0; v < constants_.size(); ++v) {
    const auto& constant = graph_[static_cast<ValueId>(v)].constant;
    if (constant) constants_[v] = aligned(*constant) ? *constant : constant->clone();
  }
}

int64_t CpuExecutable::touched_bytes() const {
  int64_t bytes = plan_.arena_bytes + plan_.caller_bytes;
  for (const Tensor& constant : constants_) {
    if (constant.defined()) bytes += static_cast<int64_t>(constant.bytes().size());
  }
  return bytes;
}

void CpuExecutable::add_step(const Node& node, Tuner& tuner, PackedCache* cache) {
  std::vector<Operand> operands = graph_.operands(node.inputs);
  for (size_t i = 0; i < operands.size(); ++i) {
    // Kernels must see the aligned copy, not the constant of the graph.
    if (operands[i].value != nullptr) operands[i].value = &constants_[index_of(node.inputs[i])];
  }
  const std::vector<TensorType> types = graph_.types(node.outputs);
  const KernelSpec spec{node, operands, types, *pool_, tuner.options().memory, cache};
  Choice choice = tuner.choose(spec);
  // Steps run one after the other and share the scratch of the frame: the largest need decides.
  scratch_bytes_ = std::max(scratch_bytes_, choice.kernel->scratch_bytes());
  steps_.push_back({std::move(choice.kernel), std::move(choice.info), choice.pool, tensor_count_,
                    node.inputs.size(), node.outputs.size()});
  tensor_count_ += node.inputs.size() + node.outputs.size();
}

size_t CpuExecutable::input_index(ValueId id) const {
  return static_cast<size_t>(std::ranges::find(graph_.inputs(), id) - graph_.inputs().begin());
}

// Inputs and outputs of the graph belong to the caller and change from run to run. Each place that
// reads or writes one is listed here, in the order in which place_values() lays out tensors.
void CpuExecutable::find_bindings() {
  size_t tensor = 0;
  const auto visit = [&](ValueId id) {
    const size_t at = tensor++;
    if (id == kNoValue || graph_[id].constant) return;
    const Place& place = plan_.places[index_of(id)];
    if (place.kind == Place::Kind::kOutput) {
      output_bindings_.push_back({at, static_cast<size_t>(place.at), graph_[id].type});
    } else if (place.kind == Place::Kind::kElsewhere) {
      input_bindings_.push_back({at, input_index(id), graph_[id].type});
    }
  };
  for (const Node& node : graph_.nodes()) {
    std::ranges::for_each(node.inputs, visit);
    std::ranges::for_each(node.outputs, visit);
  }
}

void CpuExecutable::find_copies() {
  // Only one of several outputs of the same value has the place that the node writes to.
  std::unordered_map<int32_t, size_t> first;
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const ValueId id = graph_.outputs()[i];
    const auto [earlier, is_new] = first.emplace(static_cast<int32_t>(id), i);
    if (!is_new) {
      copies_.push_back({Copy::From::kOutput, earlier->second, i});
    } else if (graph_[id].constant) {
      copies_.push_back({Copy::From::kConstant, index_of(id), i});
    } else if (plan_.places[index_of(id)].kind == Place::Kind::kElsewhere) {
      copies_.push_back({Copy::From::kInput, input_index(id), i});
    }
  }
}

Result<std::unique_ptr<Frame>> CpuExecutable::new_frame() const {
  SHOAL_ASSIGN(auto frame, make_frame(static_cast<size_t>(plan_.arena_bytes), scratch_bytes_));
  place_values(*frame);
  frame->moved.reserve(graph_.inputs().size());
  return frame;
}

// Constants and arena values are the same for all runs in this frame. Inputs and outputs of the
// graph stay undefined until bind().
void CpuExecutable::place_values(Frame& frame) const {
  frame.tensors.reserve(tensor_count_);
  const auto place_of_value = [&](ValueId id) -> Tensor {
    if (id == kNoValue) return {};
    if (graph_[id].constant) return constants_[index_of(id)];
    const Place& place = plan_.places[index_of(id)];
    if (place.kind != Place::Kind::kArena) return {};
    return borrow(graph_[id].type, frame.arena.get() + place.at);
  };
  for (const Node& node : graph_.nodes()) {
    for (ValueId id : node.inputs) frame.tensors.push_back(place_of_value(id));
    for (ValueId id : node.outputs) frame.tensors.push_back(place_of_value(id));
  }
}

Status CpuExecutable::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                          const RunOptions& options) try {
  SHOAL_CHECK(inputs.size() == graph_.inputs().size());
  SHOAL_CHECK(outputs.size() == graph_.outputs().size());
  std::unique_ptr<Frame> frame = frames_.take();
  if (frame == nullptr) {
    SHOAL_ASSIGN(frame, new_frame());
  }
  Status status = run_in(*frame, inputs, outputs, options);
  frames_.give(std::move(frame));
  return status;
} catch (const std::bad_alloc&) {
  return Status(Code::kExhausted, "out of memory");
}

Status CpuExecutable::run_in(Frame& frame, std::span<const Tensor> inputs,
                             std::span<Tensor> outputs, const RunOptions& options) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorType& type = graph_[graph_.outputs()[i]].type;
    if (!outputs[i].defined()) outputs[i] = Tensor::uninitialized(type);
    SHOAL_CHECK(outputs[i].type() == type && aligned(outputs[i]));
  }
  bind(frame, inputs, outputs);
  SHOAL_TRY(run_steps(frame, options));
  copy_outputs(inputs, outputs);
  return {};
}

void CpuExecutable::bind(Frame& frame, std::span<const Tensor> inputs,
                         std::span<Tensor> outputs) const {
  frame.moved.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    SHOAL_CHECK(inputs[i].type() == graph_[graph_.inputs()[i]].type);
    frame.moved.push_back(aligned(inputs[i]) ? Tensor() : inputs[i].clone());
  }
  for (const Binding& binding : input_bindings_) {
    const Tensor& moved = frame.moved[binding.outer];
    const Tensor& input = moved.defined() ? moved : inputs[binding.outer];
    frame.tensors[binding.tensor] = borrow(binding.type, input.bytes().data());
  }
  for (const Binding& binding : output_bindings_) {
    frame.tensors[binding.tensor] = borrow(binding.type, outputs[binding.outer].bytes().data());
  }
}

Status CpuExecutable::run_steps(Frame& frame, const RunOptions& options) const {
  const auto start = Clock::now();
  const std::span<Tensor> tensors(frame.tensors);
  Pace pace(share_);
  for (size_t i = 0; i < steps_.size(); ++i) {
    // Deadline and cancellation take effect between nodes: a kernel is never abandoned.
    SHOAL_TRY(options.interrupted());
    const Step& step = steps_[i];
    // Without a trace no clock is read: small graphs take microseconds.
    const auto begin = options.trace != nullptr ? Clock::now() : start;
    step.kernel->run({tensors.subspan(step.first, step.inputs),
                      tensors.subspan(step.first + step.inputs, step.outputs), frame.scratch.get(),
                      *step.pool});
    pace.keep();
    if (options.trace != nullptr) {
      options.trace->push_back({i, begin - start, Clock::now() - start});
    }
  }
  pace.finish();
  return {};
}

void CpuExecutable::copy_outputs(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  for (const Copy& copy : copies_) {
    const Tensor& from = copy.from == Copy::From::kInput    ? inputs[copy.index]
                         : copy.from == Copy::From::kOutput ? outputs[copy.index]
                                                            : constants_[copy.index];
    std::ranges::copy(from.bytes(), outputs[copy.output].bytes().begin());
  }
}

}  // namespace shoal::cpu
