#include "shoal/model/onnx/export/expand.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "shoal/model/ops/ops.h"

namespace shoal::onnx {
namespace {

class Expander {
 public:
  Expander(const Graph& graph, std::span<const std::string> output_names);
  Result<Graph> run();

 private:
  // A graph whose nodes are being copied, and for each of its values the one in to_.
  struct Source {
    explicit Source(const Graph& from) : graph(from), to(from.value_count(), kNoValue) {}
    ValueId& operator[](ValueId id) { return to[static_cast<size_t>(id)]; }

    const Graph& graph;
    std::vector<ValueId> to;
  };

  // The value that stands for `id`. A constant is added when it is first read.
  ValueId map(Source& source, ValueId id);
  Status copy(Source& source, const Node& node, std::vector<std::string> names);
  Result<std::vector<ValueId>> expand(const Node& node, const std::vector<ValueId>& inputs,
                                      const std::vector<std::string>& names);
  Result<ValueId> add_identity(ValueId input, std::string name) {
    return to_.add(ops::identity, {input}, {}, std::move(name));
  }
  // A name that no value of the model has, including those that are yet to be copied.
  std::string fresh(std::string name);

  const std::string& name_of(ValueId id) const { return names_[static_cast<size_t>(id)]; }

  const Graph& graph_;
  Graph to_;
  std::vector<std::string> names_;  // in to_, of the values of the model
  std::vector<std::string> output_names_;
  std::unordered_set<std::string> taken_;
  size_t next_ = 0;
};

Expander::Expander(const Graph& graph, std::span<const std::string> output_names) : graph_(graph) {
  SHOAL_CHECK(output_names.empty() || output_names.size() == graph.outputs().size());
  for (ValueId id : graph.inputs()) taken_.insert(graph[id].name);
  std::vector<bool> named(graph.value_count(), false);
  names_.resize(graph.value_count());
  auto name = [&](ValueId id, std::string text) {
    names_[static_cast<size_t>(id)] = std::move(text);
    named[static_cast<size_t>(id)] = true;
  };
  for (ValueId id : graph.inputs()) name(id, graph[id].name);
  // Outputs are named before other values, because users ask for them by name.
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const ValueId id = graph.outputs()[i];
    std::string wanted = output_names.empty() ? graph[id].name : output_names[i];
    output_names_.push_back(fresh(taken_.contains(wanted) ? wanted + "_output" : wanted));
    if (!named[static_cast<size_t>(id)] && !graph[id].constant) name(id, output_names_.back());
  }
  for (size_t i = 0; i < named.size(); ++i) {
    if (!named[i]) names_[i] = fresh(graph[static_cast<ValueId>(i)].name);
  }
}

std::string Expander::fresh(std::string name) {
  const std::string stem = name + "_";
  while (!taken_.insert(name).second) name = stem + std::to_string(next_++);
  return name;
}

ValueId Expander::map(Source& source, ValueId id) {
  if (id == kNoValue) return kNoValue;
  if (source[id] == kNoValue) {
    const Value& value = source.graph[id];
    SHOAL_CHECK(value.constant.has_value());
    const bool of_model = &source.graph == &graph_;
    source[id] = to_.add_constant(of_model ? name_of(id) : fresh(value.name), *value.constant);
  }
  return source[id];
}

Status Expander::copy(Source& source, const Node& node, std::vector<std::string> names) {
  std::vector<ValueId> inputs;
  for (ValueId id : node.inputs) inputs.push_back(map(source, id));
  auto outputs =
      node.op->expand != nullptr
          ? expand(node, inputs, names)
          : to_.add_node(*node.op, std::move(inputs), node.attributes, std::move(names), node.name);
  if (!outputs.ok()) return outputs.status().at(place_of(source.graph, node));
  for (size_t i = 0; i < outputs->size(); ++i) source[node.outputs[i]] = (*outputs)[i];
  return {};
}

// The expansion is made in a separate graph, so that its nodes can be expanded in turn, and its
// values can be named after the output that they lead to.
Result<std::vector<ValueId>> Expander::expand(const Node& node, const std::vector<ValueId>& inputs,
                                              const std::vector<std::string>& names) {
  Graph inner;
  std::vector<ValueId> parameters(inputs.size(), kNoValue);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == kNoValue) continue;
    const Value& value = to_[inputs[i]];
    parameters[i] = value.constant ? inner.add_constant(value.name, *value.constant)
                                   : inner.add_input(value.name, value.type);
  }
  SHOAL_ASSIGN(const std::vector<ValueId> results, node.op->expand(node, parameters, inner));
  SHOAL_CHECK(results.size() == names.size());

  Source source(inner);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != kNoValue) source[parameters[i]] = inputs[i];
  }
  for (const Node& step : inner.nodes()) {
    std::vector<std::string> step_names;
    for (ValueId id : step.outputs) {
      const auto result = std::ranges::find(results, id);
      step_names.push_back(result == results.end()
                               ? fresh(names[0] + "/" + std::string(step.op->name))
                               : names[static_cast<size_t>(result - results.begin())]);
    }
    SHOAL_TRY(copy(source, step, std::move(step_names)));
  }

  std::vector<ValueId> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    ValueId output = map(source, results[i]);
    // The result is an input or a constant of the expansion, or one value for two outputs. An
    // Identity gives it the name.
    if (to_[output].name != names[i]) {
      SHOAL_ASSIGN(output, add_identity(output, names[i]));
    }
    outputs.push_back(output);
  }
  return outputs;
}

Result<Graph> Expander::run() {
  Source source(graph_);
  for (ValueId id : graph_.inputs()) source[id] = to_.add_input(name_of(id), graph_[id].type);
  for (const Node& node : graph_.nodes()) {
    std::vector<std::string> names;
    for (ValueId id : node.outputs) names.push_back(name_of(id));
    SHOAL_TRY(copy(source, node, std::move(names)));
  }
  for (size_t i = 0; i < output_names_.size(); ++i) {
    ValueId output = map(source, graph_.outputs()[i]);
    if (to_[output].name != output_names_[i]) {
      SHOAL_ASSIGN(output, add_identity(output, output_names_[i]));
    }
    to_.mark_output(output);
  }
  return std::move(to_);
}

}  // namespace

Result<Graph> expand_own_operators(const Graph& graph, std::span<const std::string> output_names) {
  return Expander(graph, output_names).run();
}

}  // namespace shoal::onnx
