// The copy of a network. Every node is added anew, and with it infer() runs again. So a constant of
// another shape or another batch changes all types after it, or is refused by the operator that
// cannot take it.
#include "shoal/train/step/weights/rebuild.h"

#include <vector>

namespace shoal::train {
namespace {

// Values are mapped on first use. Constants that no node reads are dropped.
class Rebuild {
 public:
  Rebuild(const Graph& from, const std::map<std::string, Tensor>& constants)
      : from_(from), constants_(constants), fresh_(from.value_count(), kNoValue) {}

  // A batch of 0 is the one it has.
  Result<Graph> run(int64_t batch) {
    for (ValueId id : from_.inputs()) {
      TensorType type = from_[id].type;
      if (batch > 0) type.shape[0] = batch;
      fresh(id) = to_.add_input(from_[id].name, type);
    }
    for (const Node& node : from_.nodes()) SHOAL_TRY(copy(node));
    for (ValueId id : from_.outputs()) to_.mark_output(map(id));
    return std::move(to_);
  }

 private:
  Status copy(const Node& node) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) inputs.push_back(map(id));
    std::vector<std::string> names;
    for (ValueId id : node.outputs) names.push_back(from_[id].name);
    auto outputs =
        to_.add_node(*node.op, std::move(inputs), node.attributes, std::move(names), node.name);
    if (!outputs.ok()) return outputs.status();
    for (size_t i = 0; i < outputs->size(); ++i) fresh(node.outputs[i]) = (*outputs)[i];
    return {};
  }

  ValueId map(ValueId id) {
    if (id == kNoValue) return kNoValue;
    if (fresh(id) == kNoValue) {
      const auto given = constants_.find(from_[id].name);
      const Tensor& tensor = given == constants_.end() ? *from_[id].constant : given->second;
      fresh(id) = to_.add_constant(from_[id].name, tensor);
    }
    return fresh(id);
  }

  ValueId& fresh(ValueId id) { return fresh_[static_cast<size_t>(id)]; }

  const Graph& from_;
  const std::map<std::string, Tensor>& constants_;
  Graph to_;
  std::vector<ValueId> fresh_;  // per old value; kNoValue: not there yet
};

}  // namespace

Result<Graph> rebuilt(const Graph& network, const std::map<std::string, Tensor>& constants) {
  return Rebuild(network, constants).run(0);
}

// A name that is not found would be dropped without a word, so all of them are counted.
Result<Graph> with_constants(const Graph& network, const std::map<std::string, Tensor>& constants) {
  size_t found = 0;
  for (size_t i = 0; i < network.value_count(); ++i) {
    const Value& value = network[static_cast<ValueId>(i)];
    const auto given = constants.find(value.name);
    if (given == constants.end()) continue;
    if (!value.constant || value.type != given->second.type()) {
      return invalid(value.name + " is " + to_string(value.type) + " there, not " +
                     to_string(given->second.type()));
    }
    ++found;
  }
  if (found < constants.size()) return invalid("the network lacks some of these weights");
  return rebuilt(network, constants);
}

Result<Graph> rebatched(const Graph& network, int64_t batch) {
  if (network.inputs().size() != 1 || network[network.inputs()[0]].type.shape.rank() == 0) {
    return invalid("only networks with one input have a batch");
  }
  // The output must follow the batch. A Reshape to fixed sizes can be valid for another batch and
  // mix the examples.
  auto result = Rebuild(network, {}).run(batch);
  const auto follows = [&](ValueId id) {
    const Shape& shape = (*result)[id].type.shape;
    return shape.rank() > 0 && shape[0] == batch;
  };
  if (result.ok() && follows(result->outputs()[0])) return result;
  return Status(Code::kUnsupported, "the network only takes batches of " +
                                        std::to_string(network[network.inputs()[0]].type.shape[0]));
}

}  // namespace shoal::train
