// The pass that makes chains. It goes from the last node to the first: each node that is a step
// takes in, breadth first, the producers of its operands that have no other reader and the same
// type, up to kMaxChainSteps nodes and kMaxChainInputs inputs. A value with two readers is never
// taken in, so nothing is computed twice.
#include <algorithm>

#include "shoal/engine/cpu/elementwise/elementwise.h"

namespace shoal::cpu {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);

class Chainer {
 public:
  explicit Chainer(const Graph& from)
      : from_(from),
        producer_(from.value_count(), kNone),
        readers_(from.value_count(), 0),
        taken_(from.nodes().size(), false),
        members_(from.nodes().size()),
        fresh_(from.value_count(), kNoValue) {
    for (size_t n = 0; n < from_.nodes().size(); ++n) {
      for (ValueId id : from_.nodes()[n].outputs) producer_[index(id)] = n;
      for (ValueId id : from_.nodes()[n].inputs) {
        if (id != kNoValue) ++readers_[index(id)];
      }
    }
    for (ValueId id : from_.outputs()) ++readers_[index(id)];
  }

  Result<Graph> run() {
    for (size_t n = from_.nodes().size(); n-- > 0;) {
      if (!taken_[n]) gather(n);
    }
    for (ValueId id : from_.inputs()) {
      fresh_[index(id)] = to_.add_input(from_[id].name, from_[id].type);
    }
    for (size_t n = 0; n < from_.nodes().size(); ++n) {
      if (!taken_[n]) SHOAL_TRY(add(n));
    }
    for (ValueId id : from_.outputs()) to_.mark_output(map(id));
    return std::move(to_);
  }

 private:
  static size_t index(ValueId id) { return static_cast<size_t>(id); }

  // Inputs of a chain: operands that no member computes.
  std::vector<ValueId> inputs_of(const std::vector<size_t>& members) const {
    std::vector<ValueId> inputs;
    for (size_t n : members) {
      for (ValueId id : operands_of(n)) {
        const bool inside = std::ranges::find(members, producer_[index(id)]) != members.end();
        if (!inside && std::ranges::find(inputs, id) == inputs.end()) inputs.push_back(id);
      }
    }
    return inputs;
  }

  std::span<const ValueId> operands_of(size_t n) const {
    const Node& node = from_.nodes()[n];
    return std::span(node.inputs)
        .first(std::min(node.inputs.size(), node.op->elementwise.operands));
  }

  // Chooses the members of the chain that ends at `last`, in the order of the graph. A single node
  // stays what it is.
  void gather(size_t last) {
    if (!as_step(from_, from_.nodes()[last])) return;
    const TensorType& type = from_[from_.nodes()[last].outputs[0]].type;
    std::vector<size_t> members{last};
    for (size_t i = 0; i < members.size(); ++i) {
      for (ValueId id : operands_of(members[i])) {
        const size_t n = producer_[index(id)];
        const bool ours = n != kNone && readers_[index(id)] == 1 && from_[id].type == type &&
                          members.size() < kMaxChainSteps && as_step(from_, from_.nodes()[n]);
        if (!ours) continue;
        members.push_back(n);
        if (inputs_of(members).size() > kMaxChainInputs) members.pop_back();
      }
    }
    std::ranges::sort(members);
    if (members.size() == 1) return;
    for (size_t n : members) taken_[n] = n != last;
    members_[last] = std::move(members);
  }

  ValueId map(ValueId id) {
    if (id == kNoValue) return id;
    ValueId& fresh = fresh_[index(id)];
    if (fresh == kNoValue) fresh = to_.add_constant(from_[id].name, *from_[id].constant);
    return fresh;
  }

  Status add(size_t n) {
    const Node& node = from_.nodes()[n];
    std::vector<ValueId> inputs = members_[n].empty() ? node.inputs : inputs_of(members_[n]);
    const Attributes attributes =
        members_[n].empty() ? node.attributes : to_attributes(steps(members_[n], inputs));
    const Operator& op = members_[n].empty() ? *node.op : elementwise_chain;
    std::ranges::transform(inputs, inputs.begin(), [&](ValueId id) { return map(id); });
    std::vector<std::string> names;
    for (ValueId id : node.outputs) names.push_back(from_[id].name);
    SHOAL_ASSIGN(const std::vector<ValueId> outputs,
                 to_.add_node(op, std::move(inputs), attributes, names, node.name));
    for (size_t i = 0; i < outputs.size(); ++i) fresh_[index(node.outputs[i])] = outputs[i];
    return {};
  }

  std::vector<ChainStep> steps(const std::vector<size_t>& members,
                               const std::vector<ValueId>& inputs) const {
    std::vector<ChainStep> steps;
    std::vector<ValueId> values = inputs;
    for (size_t n : members) {
      ChainStep step = *as_step(from_, from_.nodes()[n]);
      for (ValueId id : operands_of(n)) {
        step.operands.push_back(
            static_cast<size_t>(std::ranges::find(values, id) - values.begin()));
      }
      steps.push_back(std::move(step));
      values.push_back(from_.nodes()[n].outputs[0]);
    }
    return steps;
  }

  const Graph& from_;
  std::vector<size_t> producer_;              // by value
  std::vector<int> readers_;                  // by value; outputs of the graph count
  std::vector<bool> taken_;                   // by node: part of the chain of a later one
  std::vector<std::vector<size_t>> members_;  // by node: of the chain that it ends
  std::vector<ValueId> fresh_;                // by value
  Graph to_;
};

}  // namespace

Result<Graph> chain_elementwise(const Graph& graph) { return Chainer(graph).run(); }

}  // namespace shoal::cpu
