// A device made of two. The cut (cut.h) gives parts that alternate between the devices; each part
// is compiled by its device as a separate graph. A run executes the parts in order. Values that
// cross are copied when the first part on the other side reads them, and stay on both sides until
// the run ends.
//
// An executable is immutable after compile(): all that changes in a run is in `Live`, on the
// caller's stack, so that any number of runs may be in progress at once.
#include "shoal/engine/device/hybrid.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "shoal/engine/device/cut.h"

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;
using Devices = std::array<std::unique_ptr<Device>, 2>;

size_t index_of(ValueId id) { return static_cast<size_t>(id); }

// The memory of parts that run one after the other, where each keeps its own arena.
MemoryUse joined_memory(const MemoryUse& a, const MemoryUse& b) {
  return {a.planned + b.planned, std::max(a.lower_bound, b.lower_bound)};
}

struct CompiledPart {
  GraphPart part;
  std::unique_ptr<Executable> executable;
  size_t first_node = 0;  // of its graph in the graph of all
};

// The graphs of all parts as one, as the devices carry them out. Traces and kernels refer to its
// nodes.
class Joined {
 public:
  explicit Joined(const Graph& whole) : whole_(whole), ids_(whole.value_count(), kNoValue) {
    for (ValueId id : whole.inputs()) {
      ids_[index_of(id)] = joined_.add_input(whole[id].name, whole[id].type);
    }
  }

  Status append(const GraphPart& part, const Graph& graph) {
    std::vector<ValueId> ids(graph.value_count(), kNoValue);
    for (size_t i = 0; i < part.reads.size(); ++i) {
      ids[index_of(graph.inputs()[i])] = ids_[index_of(part.reads[i])];
    }
    const auto here = [&](ValueId id) {
      if (id == kNoValue) return kNoValue;
      ValueId& joined = ids[index_of(id)];
      if (joined == kNoValue) joined = joined_.add_constant(graph[id].name, *graph[id].constant);
      return joined;
    };
    for (const Node& node : graph.nodes()) {
      std::vector<ValueId> inputs;
      std::vector<std::string> names;
      for (ValueId id : node.inputs) inputs.push_back(here(id));
      for (ValueId id : node.outputs) names.push_back(graph[id].name);
      SHOAL_ASSIGN(const std::vector<ValueId> outputs,
                   joined_.add_node(*node.op, inputs, node.attributes, names, node.name));
      for (size_t i = 0; i < outputs.size(); ++i) ids[index_of(node.outputs[i])] = outputs[i];
    }
    for (size_t i = 0; i < part.gives.size(); ++i) {
      ids_[index_of(part.gives[i])] = here(graph.outputs()[i]);
    }
    return {};
  }

  Graph finish() {
    for (ValueId id : whole_.outputs()) {
      ValueId& joined = ids_[index_of(id)];
      if (joined == kNoValue) joined = joined_.add_constant(whole_[id].name, *whole_[id].constant);
      joined_.mark_output(joined);
    }
    return std::move(joined_);
  }

  size_t nodes() const { return joined_.nodes().size(); }

 private:
  const Graph& whole_;
  Graph joined_;
  std::vector<ValueId> ids_;  // in the joined graph, by value of the whole one
};

class HybridExecutable final : public Executable {
 public:
  // The devices outlive it.
  HybridExecutable(const Devices& devices, const Graph& graph) : devices_(devices), whole_(graph) {}

  Status compile(std::vector<GraphPart> parts) {
    Joined joined(whole_);
    for (GraphPart& part : parts) {
      SHOAL_ASSIGN(const Graph graph, graph_of_part(whole_, part));
      SHOAL_ASSIGN(auto executable, devices_[part.side]->compile(graph));
      const size_t first_node = joined.nodes();
      SHOAL_TRY(joined.append(part, executable->graph()));
      parts_.push_back({std::move(part), std::move(executable), first_node});
    }
    graph_ = joined.finish();
    count_crossings();
    find_own();
    return {};
  }

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override {
    const std::vector<DeviceValue> in(inputs.begin(), inputs.end());
    std::vector<DeviceValue> out(outputs.begin(), outputs.end());
    SHOAL_TRY(run_values(in, out, options));
    for (size_t i = 0; i < out.size(); ++i) {
      SHOAL_ASSIGN(outputs[i], out[i].to_host());
    }
    return {};
  }

  Status run_values(std::span<const DeviceValue> inputs, std::span<DeviceValue> outputs,
                    const RunOptions& options) override {
    const auto start = Clock::now();
    Live live(whole_.value_count());
    for (size_t i = 0; i < inputs.size(); ++i) {
      auto& sides = live[index_of(whole_.inputs()[i])];
      sides[0] = inputs[i];
      // What is in a device's memory is in that of the first.
      if (inputs[i].host() != nullptr) sides[1] = inputs[i];
    }
    for (const CompiledPart& part : parts_) {
      SHOAL_TRY(run_part(part, live, outputs, options, start));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ValueId id = whole_.outputs()[i];
      const auto& [here, there] = live[index_of(id)];
      if (whole_[id].constant) {
        outputs[i] = *whole_[id].constant;
      } else if (here.defined()) {
        outputs[i] = here;
      } else {
        SHOAL_ASSIGN(outputs[i], there.to_host());
      }
      if (is_own_[i]) continue;
      SHOAL_ASSIGN(const Tensor shared, outputs[i].to_host());
      outputs[i] = shared.clone();
    }
    return {};
  }

  const Graph& graph() const override { return graph_; }
  MemoryUse memory() const override {
    MemoryUse use;
    for (const CompiledPart& part : parts_) use = joined_memory(use, part.executable->memory());
    return use;
  }
  const KernelInfo& kernel_of(size_t node) const override {
    // Parts are sorted by their first node, and the first one begins with 0: prev() exists.
    const auto after = std::ranges::upper_bound(parts_, node, {}, &CompiledPart::first_node);
    const CompiledPart& part = *std::prev(after);
    return part.executable->kernel_of(node - part.first_node);
  }

  const Crossings& crossings() const { return crossings_; }

 private:
  // Every value of the whole graph, on either device; undefined if it is not yet.
  using Live = std::vector<std::array<DeviceValue, 2>>;

  Status run_part(const CompiledPart& compiled, Live& live, std::span<const DeviceValue> outputs,
                  const RunOptions& options, Clock::time_point start) const {
    const GraphPart& part = compiled.part;
    std::vector<DeviceValue> reads, gives;
    for (ValueId id : part.reads) {
      DeviceValue& value = live[index_of(id)][part.side];
      if (!value.defined()) {
        SHOAL_ASSIGN(const Tensor tensor, live[index_of(id)][1 - part.side].to_host());
        SHOAL_ASSIGN(value, devices_[part.side]->upload(tensor));
      }
      reads.push_back(value);
    }
    for (ValueId id : part.gives) {  // into the caller's memory, if it gave some
      const auto at = std::ranges::find(whole_.outputs(), id) - whole_.outputs().begin();
      gives.push_back(at < std::ssize(outputs) ? outputs[static_cast<size_t>(at)] : DeviceValue());
    }
    Trace trace;
    RunOptions of_part = options;
    if (options.trace != nullptr) of_part.trace = &trace;
    // Times of a part count from its own beginning; the trace of the run counts from the run's.
    const auto begin = Clock::now() - start;
    SHOAL_TRY(compiled.executable->run_values(reads, gives, of_part));
    for (const TraceEvent& event : trace) {
      options.trace->push_back(
          {compiled.first_node + event.node, begin + event.begin, begin + event.end});
    }
    for (size_t i = 0; i < gives.size(); ++i) {
      live[index_of(part.gives[i])][part.side] = std::move(gives[i]);
    }
    return {};
  }

  // The walk mirrors run_part(): a value counts once for each side it has to be brought to.
  void count_crossings() {
    std::vector<std::array<bool, 2>> is_at(whole_.value_count());
    for (ValueId id : whole_.inputs()) is_at[index_of(id)].fill(true);
    crossings_.parts = std::ssize(parts_);
    for (const CompiledPart& compiled : parts_) {
      const GraphPart& part = compiled.part;
      for (ValueId id : part.reads) {
        if (std::exchange(is_at[index_of(id)][part.side], true)) continue;
        ++crossings_.values;
        crossings_.bytes += static_cast<int64_t>(whole_[id].type.bytes());
      }
      for (ValueId id : part.gives) is_at[index_of(id)][part.side] = true;
    }
  }

  // An output that is a constant, an input or an output before is not: it needs separate memory.
  void find_own() {
    std::set<ValueId> known(whole_.inputs().begin(), whole_.inputs().end());
    for (ValueId id : whole_.outputs()) {
      is_own_.push_back(!whole_[id].constant && known.insert(id).second);
    }
  }

  const Devices& devices_;
  const Graph whole_;  // as it was given
  Graph graph_;
  std::vector<bool> is_own_;         // by output: a part has computed it, for this output
  std::vector<CompiledPart> parts_;  // in the order in which they run
  Crossings crossings_;
};

DeviceInfo joined_info(const DeviceInfo& a, const DeviceInfo& b) {
  const int least = std::min(a.max_in_flight, b.max_in_flight);
  return {.name = "hybrid(" + a.name + "+" + b.name + ")",
          .threads = std::max(a.threads, b.threads),
          .memory_bytes = a.memory_bytes,
          .unified_memory = a.unified_memory && b.unified_memory,
          .alignment = std::max(a.alignment, b.alignment),
          // 0 is no limit.
          .max_in_flight = least > 0 ? least : std::max(a.max_in_flight, b.max_in_flight),
          .traces = a.traces && b.traces};
}

class HybridDevice final : public Device {
 public:
  explicit HybridDevice(Devices devices)
      : devices_(std::move(devices)),
        info_(joined_info(devices_[0]->info(), devices_[1]->info())) {}

  const DeviceInfo& info() const override { return info_; }
  Device& first() { return *devices_[0]; }

  bool supports(const Graph& graph, const Node& node) const override {
    return devices_[0]->supports(graph, node) || devices_[1]->supports(graph, node);
  }

  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(std::vector<GraphPart> parts, cut(graph));
    if (parts.empty()) return devices_[0]->compile(graph);
    // The fallback alone does not know values that upload() has put into the memory of the first.
    const bool is_alone = parts[0].side == 0 || devices_[0]->info().unified_memory;
    if (parts.size() == 1 && is_alone) return devices_[parts[0].side]->compile(graph);
    auto executable = std::make_unique<HybridExecutable>(devices_, graph);
    SHOAL_TRY(executable->compile(std::move(parts)));
    return std::unique_ptr<Executable>(std::move(executable));
  }

  Result<DeviceValue> upload(const Tensor& tensor) override { return devices_[0]->upload(tensor); }

  Result<MemoryUse> memory_of(const Graph& graph) override {
    SHOAL_ASSIGN(const std::vector<GraphPart> parts, cut(graph));
    if (parts.empty()) return devices_[0]->memory_of(graph);
    if (parts.size() == 1) return devices_[parts[0].side]->memory_of(graph);
    MemoryUse use;
    for (const GraphPart& part : parts) {
      SHOAL_ASSIGN(const Graph alone, graph_of_part(graph, part));
      SHOAL_ASSIGN(const MemoryUse more, devices_[part.side]->memory_of(alone));
      use = joined_memory(use, more);
    }
    return use;
  }

 private:
  Result<std::vector<GraphPart>> cut(const Graph& graph) const {
    std::vector<size_t> sides;
    for (const Node& node : graph.nodes()) {
      const bool first = devices_[0]->supports(graph, node);
      if (!first && !devices_[1]->supports(graph, node)) {
        return Status(Code::kUnsupported, place_of(graph, node) + ": neither " +
                                              devices_[0]->info().name + " nor " +
                                              devices_[1]->info().name + " can compute it");
      }
      sides.push_back(first ? 0 : 1);
    }
    return cut_graph(graph, sides);
  }

  const Devices devices_;
  const DeviceInfo info_;
};

}  // namespace

std::unique_ptr<Device> make_hybrid_device(std::unique_ptr<Device> first,
                                           std::unique_ptr<Device> fallback) {
  return std::make_unique<HybridDevice>(Devices{std::move(first), std::move(fallback)});
}

Device& first_device(Device& device) {
  auto* hybrid = dynamic_cast<HybridDevice*>(&device);
  return hybrid == nullptr ? device : hybrid->first();
}

Crossings crossings_of(const Executable& executable) {
  const auto* hybrid = dynamic_cast<const HybridExecutable*>(&executable);
  return hybrid == nullptr ? Crossings() : hybrid->crossings();
}

}  // namespace shoal
