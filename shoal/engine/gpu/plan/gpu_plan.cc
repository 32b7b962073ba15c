#include "shoal/engine/gpu/plan/gpu_plan.h"

#include <algorithm>

#include "shoal/model/ops/convert.h"

namespace shoal::gpu {
namespace {

using enum Storage;

size_t index_of(ValueId id) { return static_cast<size_t>(id); }

Status add_steps(const PlanOptions& options, const Ranks& ranks, Plan& plan) {
  for (size_t n = 0; n < plan.graph.nodes().size(); ++n) {
    const Node& node = plan.graph.nodes()[n];
    const bool in_half = is_in_half(plan.graph, node, options);
    const size_t rank = n < ranks.size() ? ranks[n] : 0;
    std::optional<Work> work = work_of(plan.graph, node, options.device, in_half, rank);
    if (!work) {
      return Status(Code::kUnsupported,
                    place_of(plan.graph, node) + " is not for " + options.device_name);
    }
    plan.steps.push_back({plan.launches.size(), work->launches.size(), in_half,
                          std::move(work->tables), work->tables_in_f32});
    std::ranges::move(work->launches, std::back_inserter(plan.launches));
    plan.scratch = std::max(plan.scratch, work->scratch);
    plan.counters = std::max(plan.counters, work->counters);
    plan.infos.push_back({.name = work->kernel});
  }
  return {};
}

// Weights of layers in half precision and what these layers compute are f16; the outputs of other
// nodes are as their first input. Inputs and outputs of the graph are f32, which the host has. Two
// values that share a place, or that a node only renames, are stored alike: f32 if one of them is.
class StorageChoice {
 public:
  explicit StorageChoice(Plan& plan) : plan_(plan), is_fixed_(plan.graph.value_count(), 0) {
    for (ValueId id : plan.graph.inputs()) is_fixed_[index_of(id)] = 1;
    for (ValueId id : plan.graph.outputs()) is_fixed_[index_of(id)] = 1;
    // A constant that one reader wants in f32 is f32 for all.
    for (size_t n = 0; n < plan.steps.size(); ++n) {
      const Node& node = plan.graph.nodes()[n];
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const bool is_weight = plan.steps[n].in_half && i == 1;
        if (node.inputs[i] != kNoValue && !is_weight && plan.graph[node.inputs[i]].constant) {
          is_fixed_[index_of(node.inputs[i])] = 1;
        }
      }
    }
  }

  void settle() {
    bool is_settled = false;
    while (!is_settled) {
      is_settled = true;
      for (size_t n = 0; n < plan_.steps.size(); ++n) is_settled &= settle_node(n);
    }
  }

 private:
  // False if a value became f32 that others may have been settled by.
  bool settle_node(size_t n) {
    const Node& node = plan_.graph.nodes()[n];
    const bool in_half = plan_.steps[n].in_half;
    bool is_settled = true;
    if (in_half && plan_.graph[node.inputs[1]].constant) set(node.inputs[1], kF16);
    const ValueId from = node.inputs.empty() ? kNoValue : node.inputs[0];
    for (ValueId to : node.outputs) {
      const bool is_half =
          is_layer(node.op) ? in_half : from != kNoValue && plan_.storage[index_of(from)] == kF16;
      set(to, is_half ? kF16 : kF32);
      if (from == kNoValue || plan_.storage[index_of(from)] == plan_.storage[index_of(to)] ||
          !is_alias(n, from, to)) {
        continue;
      }
      is_fixed_[index_of(from)] = is_fixed_[index_of(to)] = 1;
      set(from, kF32);
      set(to, kF32);
      is_settled = false;
    }
    return is_settled;
  }

  void set(ValueId id, Storage storage) {
    const bool is_half = storage == kF16 && is_fixed_[index_of(id)] == 0 &&
                         plan_.graph[id].type.dtype == DType::kF32;
    plan_.storage[index_of(id)] = is_half ? kF16 : kF32;
  }

  bool is_alias(size_t n, ValueId from, ValueId to) const {
    const Place &a = plan_.memory.places[index_of(from)], &b = plan_.memory.places[index_of(to)];
    return plan_.steps[n].count == 0 ||
           (a.kind != Place::Kind::kElsewhere && a.kind == b.kind && a.at == b.at);
  }

  Plan& plan_;
  std::vector<char> is_fixed_;  // f32, whoever reads it
};

Storage storage_of(const Plan& plan, size_t n, const Argument& argument) {
  const Node& node = plan.graph.nodes()[n];
  if (argument.kind == Argument::Kind::kInput) {
    return plan.storage[index_of(node.inputs[argument.index])];
  }
  if (argument.kind == Argument::Kind::kOutput) {
    return plan.storage[index_of(node.outputs[argument.index])];
  }
  return argument.kind == Argument::Kind::kTable ? plan.table_storage(n) : argument.storage;
}

void choose_storage(const PlanOptions& options, Plan& plan) {
  StorageChoice(plan).settle();
  for (size_t v = 0; v < plan.storage.size(); ++v) {
    const bool is_bf16 = plan.graph[static_cast<ValueId>(v)].type.dtype == DType::kBF16;
    if (is_bf16) plan.storage[v] = kBF16;
  }
  bool is_all_half = options.precision == GpuPrecision::kF16;
  for (size_t v = 0; v < plan.storage.size(); ++v) {
    is_all_half &= plan.memory.places[v].kind != Place::Kind::kArena || plan.storage[v] == kF16;
  }
  plan.shrinkage = is_all_half ? 2 : 1;
  for (size_t n = 0; n < plan.steps.size(); ++n) {
    for (size_t l = 0; l < plan.steps[n].count; ++l) {
      for (Argument& argument : plan.launches[plan.steps[n].first + l].arguments) {
        argument.storage = storage_of(plan, n, argument);
      }
    }
  }
}

}  // namespace

size_t Plan::arena_bytes() const {
  return memory.arena_bytes == 0 ? 0 : static_cast<size_t>(memory.arena_bytes / shrinkage + 1);
}

MemoryUse Plan::memory_use() const {
  return {memory.arena_bytes + memory.caller_bytes, memory.live_bytes + memory.caller_bytes};
}

size_t Plan::bytes_of(ValueId id) const {
  return stored_bytes(graph[id].type, storage[index_of(id)]);
}

Storage Plan::table_storage(size_t node) const {
  return steps[node].in_half && !steps[node].tables_in_f32 ? kF16 : kF32;
}

bool Plan::is_in_place(size_t node) const {
  const Node& of = graph.nodes()[node];
  const Place& a = memory.places[index_of(of.inputs[0])];
  const Place& b = memory.places[index_of(of.outputs[0])];
  return a.kind != Place::Kind::kElsewhere && b.kind == a.kind && a.at == b.at;
}

std::string Plan::hungriest() const {
  std::string place = "values";
  size_t most = 0;
  for (const Node& node : graph.nodes()) {
    size_t bytes = 0;
    for (ValueId id : node.inputs) bytes += id == kNoValue ? 0 : graph[id].type.bytes();
    for (ValueId id : node.outputs) bytes += graph[id].type.bytes();
    if (bytes > most) place = place_of(graph, node);
    most = std::max(most, bytes);
  }
  return place;
}

bool is_in_half(const Graph& graph, const Node& node, const PlanOptions& options) {
  return options.precision == GpuPrecision::kF16 && is_layer(node.op) &&
         std::ranges::find(options.f32_layers, graph[node.outputs[0]].name) ==
             options.f32_layers.end();
}

Result<Plan> make_plan(Graph graph, const PlanOptions& options, const Ranks& ranks) {
  Plan plan;
  plan.graph = std::move(graph);
  // Offsets of f16 are half of those that are planned.
  const bool may_shrink = options.precision == GpuPrecision::kF16;
  plan.memory = plan_memory(plan.graph, may_shrink ? 2 * options.alignment : options.alignment);
  plan.storage.assign(plan.graph.value_count(), kF32);
  SHOAL_TRY(add_steps(options, ranks, plan));
  choose_storage(options, plan);
  return plan;
}

std::vector<ConstantUse> constants_of(const Plan& plan) {
  std::vector<ConstantUse> uses;
  std::vector<char> is_known(plan.graph.value_count(), 0);
  const auto use = [&](ValueId id, const std::string& place) {
    if (!plan.graph[id].constant || is_known[index_of(id)] != 0) return;
    is_known[index_of(id)] = 1;
    uses.push_back({id, place});
  };
  for (size_t n = 0; n < plan.steps.size(); ++n) {
    const Node& node = plan.graph.nodes()[n];
    const std::string place = place_of(plan.graph, node);
    if (plan.steps[n].count == 0) use(node.inputs[0], place);
    for (size_t l = 0; l < plan.steps[n].count; ++l) {
      for (const Argument& argument : plan.launches[plan.steps[n].first + l].arguments) {
        if (argument.kind == Argument::Kind::kInput) use(node.inputs[argument.index], place);
      }
    }
  }
  for (ValueId id : plan.graph.outputs()) use(id, plan.graph[id].name);
  return uses;
}

size_t stored_bytes(const TensorType& type, Storage storage) {
  const bool is_half = storage != kF32 && type.dtype == DType::kF32;
  return is_half ? type.bytes() / 2 : type.bytes();
}

Tensor stored(const Tensor& tensor, Storage storage) {
  const bool is_half = storage == kF16 && tensor.dtype() == DType::kF32;
  return is_half ? ops::converted(tensor, DType::kF16) : tensor;
}

}  // namespace shoal::gpu
