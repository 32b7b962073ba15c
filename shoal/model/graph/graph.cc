// Nodes come from files, so every node is checked when it is added.
#include "shoal/model/graph/graph.h"

#include <algorithm>

#include "shoal/base/limits.h"
#include "shoal/model/graph/parameter.h"

namespace shoal {
namespace {

Status check_arity(const Operator& op, size_t inputs, size_t outputs) {
  if (inputs < op.min_inputs || inputs > op.max_inputs) {
    return invalid("has " + std::to_string(inputs) + " inputs, takes " +
                   std::to_string(op.min_inputs) +
                   (op.max_inputs == op.min_inputs ? "" : " to " + std::to_string(op.max_inputs)));
  }
  if (outputs == 0 || outputs > op.max_outputs) {
    return invalid("has " + std::to_string(outputs) + " outputs, gives at most " +
                   std::to_string(op.max_outputs));
  }
  return {};
}

}  // namespace

// The order of the checks matters: an operator's own `infer` may rely on the number of inputs and
// on the values of value inputs, and a shape is counted only after check() has accepted it.
Result<std::vector<TensorType>> infer(const Node& node, std::span<const Operand> operands) {
  SHOAL_TRY(check_arity(*node.op, operands.size(), node.outputs.size()));
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i < node.op->min_inputs && !operands[i].given) {
      return invalid("input " + std::to_string(i) + " is required");
    }
    if (node.op->reads_value(i) && operands[i].given && !operands[i].value) {
      return Status(Code::kUnsupported, "input " + std::to_string(i) + " must be a constant here");
    }
  }
  SHOAL_ASSIGN(std::vector<TensorType> types, node.op->infer(node, operands));
  // A wrong number is a bug of the operator, not an error of the model.
  SHOAL_CHECK(types.size() == node.outputs.size());
  for (const TensorType& type : types) SHOAL_TRY(check(type));
  return types;
}

std::string Graph::unique(std::string name) {
  // Where a file or a message names values, an empty name stands for none.
  if (name.empty() || !names_.insert(name).second) {
    const std::string stem = name + "_";
    // The search starts where the last one ended, so all searches together take linear time,
    // whatever names a file has chosen to be in the way.
    fresh_ = std::max(fresh_, values_.size());
    while (!names_.insert(name = stem + std::to_string(fresh_++)).second) {
    }
  }
  return name;
}

void Graph::rename(ValueId id, std::string name) {
  Value& value = values_[static_cast<size_t>(id)];
  names_.erase(value.name);
  value.name = unique(std::move(name));
}

ValueId Graph::add_value(std::string name, TensorType type, std::optional<Tensor> constant) {
  values_.push_back({unique(std::move(name)), type, std::move(constant)});
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Graph::add_input(std::string name, TensorType type) {
  inputs_.push_back(add_value(std::move(name), type, std::nullopt));
  return inputs_.back();
}

ValueId Graph::add_constant(std::string name, Tensor tensor) {
  const TensorType type = tensor.type();
  return add_value(std::move(name), type, std::move(tensor));
}

Result<std::vector<ValueId>> Graph::add_node(const Operator& op, std::vector<ValueId> inputs,
                                             Attributes attributes,
                                             std::vector<std::string> outputs, std::string name) {
  for (ValueId id : inputs) {
    SHOAL_CHECK(id == kNoValue || static_cast<size_t>(id) < values_.size());
  }
  // A trailing input that is not given is the same as one that is absent. Operators see one form
  // only.
  while (!inputs.empty() && inputs.back() == kNoValue) inputs.pop_back();
  Node node{&op, std::move(inputs), std::vector(outputs.size(), kNoValue), std::move(attributes),
            std::move(name)};
  // Types are inferred before anything is added, so that a refused node leaves the graph as it was.
  auto types = infer(node, operands(node.inputs));
  if (!types.ok()) {
    return types.status().at(node.name.empty() ? op.name : std::string_view(node.name));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].empty()) {
      outputs[i] = std::string(op.name) + "_" + std::to_string(values_.size());
    }
    node.outputs[i] = add_value(std::move(outputs[i]), (*types)[i], std::nullopt);
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

Result<ValueId> Graph::add(const Operator& op, std::vector<ValueId> inputs, Attributes attributes,
                           std::string output) {
  SHOAL_ASSIGN(auto ids,
               add_node(op, std::move(inputs), std::move(attributes), {std::move(output)}));
  return ids[0];
}

std::vector<Operand> Graph::operands(std::span<const ValueId> inputs) const {
  std::vector<Operand> operands;
  for (ValueId id : inputs) {
    if (id == kNoValue) {
      operands.emplace_back();
    } else {
      const Value& value = (*this)[id];
      operands.push_back({true, value.type, value.constant ? &*value.constant : nullptr});
    }
  }
  return operands;
}

std::vector<TensorType> Graph::types(std::span<const ValueId> values) const {
  std::vector<TensorType> types;
  for (ValueId id : values) types.push_back((*this)[id].type);
  return types;
}

// Passes build graphs through the same checks. This finds values that are read before they exist,
// which a Rewriter could produce, and operators whose `infer` is not a function of its arguments.
Status verify(const Graph& graph) {
  std::vector<bool> defined(graph.value_count(), false);
  auto define = [&](ValueId id) { defined[static_cast<size_t>(id)] = true; };
  for (ValueId id : graph.inputs()) define(id);
  for (size_t i = 0; i < graph.value_count(); ++i) {
    if (graph[static_cast<ValueId>(i)].constant) defined[i] = true;
  }
  for (const Node& node : graph.nodes()) {
    for (ValueId id : node.inputs) {
      if (id != kNoValue && !defined[static_cast<size_t>(id)]) {
        return Status(Code::kInternal, place_of(graph, node) + " reads a value before it exists");
      }
    }
    auto types = infer(node, graph.operands(node.inputs));
    if (!types.ok()) return types.status().at(place_of(graph, node));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if ((*types)[i] != graph[node.outputs[i]].type) {
        return Status(Code::kInternal, place_of(graph, node) + " has an output of the wrong type");
      }
      define(node.outputs[i]);
    }
  }
  for (ValueId id : graph.outputs()) {
    if (!defined[static_cast<size_t>(id)]) {
      return Status(Code::kInternal, "output " + graph[id].name + " is never computed");
    }
  }
  return {};
}

int64_t macs(const Graph& graph, const Node& node) {
  if (node.op->macs == nullptr) return 0;
  return node.op->macs(node, graph.operands(node.inputs), graph.types(node.outputs));
}

int64_t total_macs(const Graph& graph) {
  int64_t total = 0;
  for (const Node& node : graph.nodes()) total += macs(graph, node);
  return total;
}

// Settings such as an epsilon are scalars in ONNX, and weights never are. So the rank tells them
// apart.
bool is_parameter(const Graph& graph, const Node& node, size_t input) {
  if (node.inputs[input] == kNoValue || node.op->is_statistic(input)) return false;
  const Value& value = graph[node.inputs[input]];
  return value.constant && Floats::contains(value.type.dtype) && value.type.shape.rank() > 0;
}

int64_t parameters(const Graph& graph, const Node& node) {
  int64_t total = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (is_parameter(graph, node, i)) total += graph[node.inputs[i]].type.shape.count();
  }
  return total;
}

int64_t parameters(const Graph& graph) {
  // Tied weights are one constant with several readers, and are counted once.
  std::unordered_set<ValueId> counted;
  int64_t total = 0;
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (is_parameter(graph, node, i) && counted.insert(id).second) {
        total += graph[id].type.shape.count();
      }
    }
  }
  return total;
}

std::string place_of(const Graph& graph, const Node& node) {
  if (!node.name.empty()) return node.name;
  return std::string(node.op->name) + " " + graph[node.outputs[0]].name;
}

}  // namespace shoal
