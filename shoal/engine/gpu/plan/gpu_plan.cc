#include "shoal/engine/gpu/plan/gpu_plan.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/file.h"
#include "shoal/base/math/hash.h"
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

// Weights and outputs of layers in half precision are f16; outputs of other nodes are stored like
// their first input. Inputs and outputs of the graph are f32, as on the host. Values that share
// memory are stored alike: f32 if one of them is.
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
  std::vector<char> is_fixed_;  // f32 for every reader
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

namespace {

constexpr size_t kMostWays = 8;

// A number at the beginning of the text, which loses it and the character behind; nullopt if
// there is none.
std::optional<uint64_t> take_number(std::string_view& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const auto length = static_cast<size_t>(end - text.data());
  text.remove_prefix(std::min(length + 1, text.size()));
  return number;
}

uint64_t key_of(const Work& work) {
  std::string text;
  for (const Launch& launch : work.launches) {
    for (const int64_t groups : launch.groups) text += std::to_string(groups) + " ";
    text += launch.body;
  }
  return hash_of(std::as_bytes(std::span(text)));
}

// A graph of one node, as often as there are ways to compute it.
Result<Graph> repeated(const Graph& graph, const Node& node, size_t times) {
  Graph alone;
  std::vector<ValueId> inputs;
  for (ValueId id : node.inputs) {
    if (id == kNoValue) {
      inputs.push_back(kNoValue);
    } else if (graph[id].constant) {
      inputs.push_back(alone.add_constant(graph[id].name, *graph[id].constant));
    } else {
      inputs.push_back(alone.add_input(graph[id].name, graph[id].type));
    }
  }
  for (size_t i = 0; i < times; ++i) {
    std::vector<std::string> names;
    for (ValueId id : node.outputs) names.push_back(graph[id].name + "." + std::to_string(i));
    SHOAL_TRY(alone.add_node(*node.op, inputs, node.attributes, names, node.name).status());
  }
  return alone;
}

Result<size_t> measured(const Graph& graph, const Node& node, PlanOptions options,
                        const MeasureNodes& measure) {
  constexpr double kGain = 0.97;  // of the time of the first way: less is chance
  const bool in_half = is_in_half(graph, node, options);
  if (!in_half) options.precision = GpuPrecision::kF32;
  Ranks ranks{0};
  while (ranks.size() < kMostWays &&
         work_of(graph, node, options.device, in_half, ranks.size()).has_value()) {
    ranks.push_back(ranks.size());
  }
  if (ranks.size() < 2) return 0;
  SHOAL_ASSIGN(Graph alone, repeated(graph, node, ranks.size()));
  SHOAL_ASSIGN(Plan plan, make_plan(std::move(alone), options, ranks));
  SHOAL_ASSIGN(const std::vector<double> seconds, measure(std::move(plan)));
  const auto best = std::ranges::min_element(seconds);
  return *best < kGain * seconds[0] ? static_cast<size_t>(best - seconds.begin()) : 0;
}

}  // namespace

Tuning::Tuning(std::filesystem::path file) : file_(std::move(file)) {
  if (file_.empty()) return;
  const auto mapped = MappedFile::open(file_);
  if (!mapped.ok()) return;
  const auto bytes = (*mapped)->bytes();
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!text.empty()) {
    const auto work = take_number(text);
    const auto rank = work ? take_number(text) : std::nullopt;
    if (!rank) return;
    if (*rank < kMostWays) ranks_[*work] = static_cast<size_t>(*rank);
  }
}

bool Tuning::is_empty() const {
  const std::scoped_lock lock(mutex_);
  return ranks_.empty();
}

std::optional<size_t> Tuning::find(uint64_t work) const {
  const std::scoped_lock lock(mutex_);
  const auto match = ranks_.find(work);
  return match == ranks_.end() ? std::nullopt : std::optional(match->second);
}

void Tuning::add(uint64_t work, size_t rank) {
  const std::scoped_lock lock(mutex_);
  ranks_[work] = rank;
  is_new_ = true;
}

void Tuning::keep() {
  const std::scoped_lock lock(mutex_);
  if (file_.empty() || !is_new_) return;
  std::string text;
  for (const auto& [work, rank] : ranks_) {
    text += std::to_string(work) + " " + std::to_string(rank) + "\n";
  }
  std::error_code ignored;
  std::filesystem::create_directories(file_.parent_path(), ignored);
  is_new_ = !write_file(file_, text).ok();
}

Ranks ranks_for(const Graph& graph, const PlanOptions& options, Tuning& tuning,
                const MeasureNodes& measure) {
  if (tuning.is_empty() && !measure) return {};
  Ranks ranks(graph.nodes().size(), 0);
  for (size_t n = 0; n < ranks.size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (!has_choices(node.op)) continue;
    const bool in_half = is_in_half(graph, node, options);
    const auto first = work_of(graph, node, options.device, in_half);
    if (!first) continue;
    const uint64_t key = key_of(*first);
    std::optional<size_t> rank = tuning.find(key);
    if (!rank && measure) {
      const auto fastest = measured(graph, node, options, measure);
      rank = fastest.ok() ? *fastest : 0;
      if (fastest.ok()) tuning.add(key, *rank);
    }
    // A file may be of another version, which had more ways.
    if (rank && work_of(graph, node, options.device, in_half, *rank)) ranks[n] = *rank;
  }
  tuning.keep();
  return ranks;
}

}  // namespace shoal::gpu
