#include "shoal/cpu/cpu.h"

#include <cstring>
#include <new>
#include <unordered_map>

#include "shoal/base/pace.h"
#include "shoal/base/pages.h"
#include "shoal/cpu/conv/conv_tile.h"
#include "shoal/cpu/elementwise/elementwise_chain.h"
#include "shoal/cpu/instruction_set.h"
#include "shoal/cpu/kernel.h"
#include "shoal/cpu/lower/lower.h"
#include "shoal/cpu/packed_cache.h"
#include "shoal/cpu/tune.h"
#include "shoal/device/memory_plan.h"

namespace shoal {
namespace {

using cpu::Kernel;
using cpu::KernelArgs;
using cpu::KernelSpec;
using Clock = std::chrono::steady_clock;

// Memory of the kernels' own: not cleared, because they write before they read.
struct FreeAligned {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{kArenaAlignment}); }
};
using Bytes = std::unique_ptr<std::byte[], FreeAligned>;

Result<Bytes> allocate(size_t size) {
  auto* memory = static_cast<std::byte*>(
      ::operator new[](size, std::align_val_t{kArenaAlignment}, std::nothrow));
  if (memory != nullptr) {
    prefer_huge_pages(memory, size);
    return Bytes(memory);
  }
  return Status(Code::kExhausted, "no memory for " + std::to_string(size >> 20) + " MiB of values");
}

// A view of memory that outlives it: makes and drops no reference.
Tensor borrow(const TensorType& type, const std::byte* data) {
  return Tensor::view(type, data, nullptr);
}

bool aligned(const Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.bytes().data()) % size_of(tensor.dtype()) == 0;
}

struct Step {
  std::unique_ptr<Kernel> kernel;
  KernelInfo info;
  std::vector<Tensor> inputs, outputs;
};

// A tensor of a step that lies in an input or output of the whole run.
struct Binding {
  size_t step;
  bool is_output;  // of the step
  size_t index;    // among the step's inputs or outputs
  size_t outer;    // among the graph's
};

// An output that no node computes there: an input, a constant, or an output given twice.
struct Copy {
  enum class From { kInput, kConstant, kOutput } from;
  size_t index;  // of the input, the value or the output
  size_t output;
};

class CpuExecutable : public Executable {
 public:
  CpuExecutable(Graph graph, std::shared_ptr<ThreadPool> pool, double share)
      : graph_(std::move(graph)),
        pool_(std::move(pool)),
        share_(share),
        plan_(plan_memory(graph_)) {}

  Status prepare(cpu::Tuner& tuner, cpu::PackedCache* cache) {
    SHOAL_ASSIGN(arena_, allocate(static_cast<size_t>(std::max<int64_t>(plan_.arena_bytes, 1))));
    align_constants();
    size_t scratch_bytes = 1;
    for (const Node& node : graph_.nodes()) {
      steps_.push_back(make_step(node, tuner, cache));
      scratch_bytes = std::max(scratch_bytes, steps_.back().kernel->scratch_bytes());
    }
    SHOAL_ASSIGN(scratch_, allocate(scratch_bytes));
    for (size_t i = 0; i < steps_.size(); ++i) place_values(i);
    find_copies();
    return {};
  }

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs, Trace* trace) override {
    SHOAL_CHECK(inputs.size() == graph_.inputs().size());
    SHOAL_CHECK(outputs.size() == graph_.outputs().size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const TensorType& type = graph_[graph_.outputs()[i]].type;
      if (!outputs[i].defined()) outputs[i] = Tensor(type);
      SHOAL_CHECK(outputs[i].type() == type && aligned(outputs[i]));
    }
    Pace pace(share_);
    bind(inputs, outputs);
    for (size_t i = 0; i < steps_.size(); ++i) {
      Step& step = steps_[i];
      const Clock::time_point begin = trace != nullptr ? Clock::now() : Clock::time_point{};
      step.kernel->run(KernelArgs{step.inputs, step.outputs, scratch_.get(), *pool_});
      pace.keep();
      if (trace != nullptr) trace->push_back({i, begin, Clock::now()});
    }
    for (const Copy& copy : copies_) {
      const Tensor& from = copy.from == Copy::From::kInput    ? inputs[copy.index]
                           : copy.from == Copy::From::kOutput ? outputs[copy.index]
                                                              : constants_[copy.index];
      std::ranges::copy(from.bytes(), outputs[copy.output].bytes().begin());
    }
    pace.finish();
    return {};
  }

  const Graph& graph() const override { return graph_; }
  MemoryUse memory() const override {
    return {plan_.arena_bytes + plan_.caller_bytes, plan_.live_bytes + plan_.caller_bytes};
  }
  const KernelInfo& kernel_of(size_t node) const override { return steps_[node].info; }

 private:
  static size_t index(ValueId id) { return static_cast<size_t>(id); }

  // Kernels read whole elements, so the few constants that lie across them in the file are moved.
  void align_constants() {
    constants_.resize(graph_.value_count());
    for (size_t v = 0; v < constants_.size(); ++v) {
      const auto& constant = graph_[static_cast<ValueId>(v)].constant;
      if (constant) constants_[v] = aligned(*constant) ? *constant : constant->clone();
    }
  }

  Step make_step(const Node& node, cpu::Tuner& tuner, cpu::PackedCache* cache) {
    std::vector<Operand> operands = graph_.operands(node.inputs);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].value != nullptr) operands[i].value = &constants_[index(node.inputs[i])];
    }
    const std::vector<TensorType> types = graph_.types(node.outputs);
    const KernelSpec site{node, operands, types, *pool_, tuner.options().memory, cache};
    cpu::Choice choice = tuner.choose(site);
    return {std::move(choice.kernel), std::move(choice.info),
            std::vector<Tensor>(node.inputs.size()), std::vector<Tensor>(node.outputs.size())};
  }

  void place_values(size_t step) {
    const Node& node = graph_.nodes()[step];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != kNoValue) place_value(node.inputs[i], {step, false, i, 0});
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      place_value(node.outputs[i], {step, true, i, 0});
    }
  }

  // Gives the step its view of the value, now or, where the caller brings the memory, at each run.
  void place_value(ValueId id, Binding binding) {
    const Place& place = plan_.places[index(id)];
    if (graph_[id].constant) {
      tensor(binding) = constants_[index(id)];
    } else if (place.kind == Place::Kind::kArena) {
      tensor(binding) = borrow(graph_[id].type, arena_.get() + place.at);
    } else if (place.kind == Place::Kind::kOutput) {
      binding.outer = static_cast<size_t>(place.at);
      output_bindings_.push_back({binding, graph_[id].type});
    } else {
      binding.outer = input_index(id);
      input_bindings_.push_back(binding);
    }
  }

  Tensor& tensor(const Binding& binding) {
    Step& step = steps_[binding.step];
    return binding.is_output ? step.outputs[binding.index] : step.inputs[binding.index];
  }

  size_t input_index(ValueId id) const {
    return static_cast<size_t>(std::ranges::find(graph_.inputs(), id) - graph_.inputs().begin());
  }

  void bind(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
    moved_.clear();
    for (size_t i = 0; i < inputs.size(); ++i) {
      SHOAL_CHECK(inputs[i].type() == graph_[graph_.inputs()[i]].type);
      moved_.push_back(aligned(inputs[i]) ? Tensor() : inputs[i].clone());
    }
    for (const Binding& binding : input_bindings_) {
      const Tensor& moved = moved_[binding.outer];
      const Tensor& input = moved.defined() ? moved : inputs[binding.outer];
      tensor(binding) = borrow(input.type(), input.bytes().data());
    }
    for (const auto& [binding, type] : output_bindings_) {
      tensor(binding) = borrow(type, outputs[binding.outer].bytes().data());
    }
  }

  void find_copies() {
    std::unordered_map<int32_t, size_t> first;
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const ValueId id = graph_.outputs()[i];
      const auto [earlier, is_new] = first.emplace(static_cast<int32_t>(id), i);
      if (!is_new) {
        copies_.push_back({Copy::From::kOutput, earlier->second, i});
      } else if (graph_[id].constant) {
        copies_.push_back({Copy::From::kConstant, index(id), i});
      } else if (plan_.places[index(id)].kind == Place::Kind::kElsewhere) {
        copies_.push_back({Copy::From::kInput, input_index(id), i});
      }
    }
  }

  const Graph graph_;
  const std::shared_ptr<ThreadPool> pool_;
  const double share_;
  const MemoryPlan plan_;
  std::vector<Tensor> constants_;  // by value; undefined for others
  Bytes arena_, scratch_;
  std::vector<Step> steps_;  // one per node
  std::vector<Binding> input_bindings_;
  std::vector<std::pair<Binding, TensorType>> output_bindings_;
  std::vector<Copy> copies_;   // in the order of outputs: a copy of an output finds it complete
  std::vector<Tensor> moved_;  // inputs of this run that lay across element boundaries
};

class CpuDevice : public Device {
 public:
  explicit CpuDevice(const CpuOptions& options)
      : pool_(std::make_shared<ThreadPool>(ThreadPoolOptions{
            .threads = options.share < 1 ? 1 : options.threads, .pin = options.pin})),
        share_(options.share),
        tuner_(options, options.remember ? cpu::tuning_file() : std::filesystem::path()),
        info_{"cpu", pool_->threads()} {
    cpu::settle_instruction_set();
    if (!options.packed.empty()) cache_ = std::make_unique<cpu::PackedCache>(options.packed);
  }

  const DeviceInfo& info() const override { return info_; }

  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(Graph lowered, cpu::lower(graph, cpu::block_size()));
    SHOAL_ASSIGN(lowered, cpu::chain_elementwise(lowered));
    auto executable = std::make_unique<CpuExecutable>(std::move(lowered), pool_, share_);
    SHOAL_TRY(executable->prepare(tuner_, cache_.get()));
    tuner_.remember();
    if (cache_ != nullptr) SHOAL_TRY(cache_->save(*pool_));
    return std::unique_ptr<Executable>(std::move(executable));
  }

 private:
  std::shared_ptr<ThreadPool> pool_;
  double share_;
  cpu::Tuner tuner_;
  std::unique_ptr<cpu::PackedCache> cache_;  // if one was asked for
  DeviceInfo info_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(const CpuOptions& options) {
  return std::make_unique<CpuDevice>(options);
}

std::vector<std::string_view> cpu_kernels_of(const Operator& op) {
  std::vector<std::string_view> names;
  for (const cpu::Provider& provider : cpu::providers()) {
    if (provider.op == &op) names.push_back(provider.name);
  }
  return names;
}

}  // namespace shoal
