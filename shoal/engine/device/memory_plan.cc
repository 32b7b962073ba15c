// Lifetimes of values, in steps of the graph's order, and their places. Values that overwrite their
// input in place form one buffer, whose lifetime is the union. Buffers that end in a graph output
// lie in the caller's memory, all others in one arena (memory_layout.cc).
#include "shoal/engine/device/memory_plan.h"

#include <algorithm>

namespace shoal {
namespace {

constexpr int32_t kNoBuffer = -1;

// Values that share memory, one after the other; at most the last of them is a graph output.
struct Buffer {
  Lifetime life;
  int64_t output = -1;  // index in graph.outputs()
};

class Planner {
 public:
  Planner(const Graph& graph, int64_t alignment)
      : graph_(graph),
        alignment_(alignment),
        last_use_(graph.value_count(), -1),
        output_(graph.value_count(), -1),
        buffer_of_(graph.value_count(), kNoBuffer) {}

  MemoryPlan plan() {
    find_uses();
    for (size_t n = 0; n < graph_.nodes().size(); ++n) make_buffers(n);
    return place();
  }

 private:
  static size_t index(ValueId id) { return static_cast<size_t>(id); }
  int64_t bytes_of(ValueId id) const { return static_cast<int64_t>(graph_[id].type.bytes()); }

  void find_uses() {
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      for (ValueId id : graph_.nodes()[n].inputs) {
        if (id != kNoValue) last_use_[index(id)] = static_cast<int64_t>(n);
      }
    }
    for (size_t i = graph_.outputs().size(); i-- > 0;) {
      output_[index(graph_.outputs()[i])] = static_cast<int64_t>(i);  // the first if there are two
    }
  }

  // The buffer that output 0 of node n may take over, or none.
  int32_t inherited(size_t n) const {
    const Node& node = graph_.nodes()[n];
    if (!node.op->in_place || node.inputs.empty() || node.inputs[0] == kNoValue) return kNoBuffer;
    // A node that reads the value twice must not overwrite it for its other input.
    const ValueId input = node.inputs[0];
    const bool dies = last_use_[index(input)] == static_cast<int64_t>(n) &&
                      output_[index(input)] < 0 && std::ranges::count(node.inputs, input) == 1;
    const bool fits = bytes_of(input) == bytes_of(node.outputs[0]);
    return dies && fits ? buffer_of_[index(input)] : kNoBuffer;
  }

  void make_buffers(size_t n) {
    const Node& node = graph_.nodes()[n];
    const auto step = static_cast<int64_t>(n);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      int32_t buffer = i == 0 ? inherited(n) : kNoBuffer;
      if (buffer == kNoBuffer) {
        buffer = static_cast<int32_t>(buffers_.size());
        buffers_.push_back({{bytes_of(id), step, step}, -1});
      }
      Buffer& b = buffers_[static_cast<size_t>(buffer)];
      // A value without readers still lives while its node runs.
      b.life.last = std::max(step, last_use_[index(id)]);
      b.output = output_[index(id)];
      buffer_of_[index(id)] = buffer;
    }
  }

  MemoryPlan place() const {
    std::vector<Lifetime> lifetimes;
    std::vector<size_t> slot(buffers_.size(), 0);
    for (size_t b = 0; b < buffers_.size(); ++b) {
      if (buffers_[b].output >= 0) continue;
      slot[b] = lifetimes.size();
      lifetimes.push_back(buffers_[b].life);
    }
    const MemoryLayout layout = lay_out(lifetimes, alignment_);
    MemoryPlan plan{std::vector<Place>(graph_.value_count()), layout.bytes,
                    largest_live_set(lifetimes), caller_bytes()};
    for (size_t v = 0; v < buffer_of_.size(); ++v) {
      if (buffer_of_[v] == kNoBuffer) continue;
      const auto b = static_cast<size_t>(buffer_of_[v]);
      plan.places[v] = buffers_[b].output >= 0
                           ? Place{Place::Kind::kOutput, buffers_[b].output}
                           : Place{Place::Kind::kArena, layout.offsets[slot[b]]};
    }
    return plan;
  }

  int64_t caller_bytes() const {
    int64_t bytes = 0;
    for (ValueId id : graph_.inputs()) bytes += bytes_of(id);
    for (ValueId id : graph_.outputs()) bytes += bytes_of(id);
    return bytes;
  }

  const Graph& graph_;
  const int64_t alignment_;
  std::vector<int64_t> last_use_;  // the last node that reads a value, or -1
  std::vector<int64_t> output_;    // its index among the graph's outputs, or -1
  std::vector<int32_t> buffer_of_;
  std::vector<Buffer> buffers_;
};

}  // namespace

MemoryPlan plan_memory(const Graph& graph, int64_t alignment) {
  return Planner(graph, alignment).plan();
}

}  // namespace shoal
