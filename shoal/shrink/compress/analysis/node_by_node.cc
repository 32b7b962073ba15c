#include "shoal/shrink/compress/analysis/node_by_node.h"

#include <memory>

namespace shoal::compress {
namespace {

// A node by itself, and its inputs that are not constant.
struct Single {
  Graph graph;
  std::vector<ValueId> reads;  // in the order of the graph's inputs, each once
};

Result<Single> single_of(const Graph& graph, const Node& node,
                         const std::map<size_t, Tensor>& constants) {
  Single single;
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (id == kNoValue) {
      inputs.push_back(kNoValue);
    } else if (graph[id].constant) {
      const auto other = constants.find(i);
      inputs.push_back(single.graph.add_constant(
          graph[id].name, other == constants.end() ? *graph[id].constant : other->second));
    } else {
      size_t place = 0;
      while (place < single.reads.size() && single.reads[place] != id) ++place;
      if (place == single.reads.size()) {
        single.reads.push_back(id);
        single.graph.add_input(graph[id].name, graph[id].type);
      }
      inputs.push_back(single.graph.inputs()[place]);
    }
  }
  std::vector<std::string> names;
  for (ValueId id : node.outputs) names.push_back(graph[id].name);
  SHOAL_ASSIGN(const std::vector<ValueId> outputs,
               single.graph.add_node(*node.op, std::move(inputs), node.attributes, std::move(names),
                                     node.name));
  for (ValueId id : outputs) single.graph.mark_output(id);
  return single;
}

// Per value, the index of the last node that reads it; 0 if none does.
std::vector<size_t> last_readers(const Graph& graph) {
  std::vector<size_t> last(graph.value_count());
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    for (ValueId id : graph.nodes()[i].inputs) {
      if (id != kNoValue) last[static_cast<size_t>(id)] = i;
    }
  }
  return last;
}

}  // namespace

Status run_node_by_node(const Graph& graph, Device& device,
                        const std::vector<std::vector<Tensor>>& examples, const AfterNode& after,
                        const BeforeNode& before) {
  const std::vector<size_t> last = last_readers(graph);
  std::vector<std::vector<Tensor>> values(graph.value_count());  // per example
  for (const std::vector<Tensor>& inputs : examples) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      values[static_cast<size_t>(graph.inputs()[i])].push_back(inputs[i]);
    }
  }
  for (size_t index = 0; index < graph.nodes().size(); ++index) {
    const Node& node = graph.nodes()[index];
    std::map<size_t, Tensor> constants;
    if (before) {
      const ValueId first = node.inputs.empty() ? kNoValue : node.inputs[0];
      constants = before(
          node, first == kNoValue ? std::span<const Tensor>() : values[static_cast<size_t>(first)]);
    }
    SHOAL_ASSIGN(const Single single, single_of(graph, node, constants));
    SHOAL_ASSIGN(const std::unique_ptr<Executable> executable, device.compile(single.graph));
    for (size_t example = 0; example < examples.size(); ++example) {
      std::vector<Tensor> inputs, outputs(node.outputs.size());
      for (ValueId id : single.reads) inputs.push_back(values[static_cast<size_t>(id)][example]);
      SHOAL_TRY(executable->run(inputs, outputs, {}));
      for (size_t i = 0; i < outputs.size(); ++i) {
        values[static_cast<size_t>(node.outputs[i])].push_back(std::move(outputs[i]));
      }
    }
    if (after) after(node, values[static_cast<size_t>(node.outputs[0])]);
    for (ValueId id : node.inputs) {
      if (id != kNoValue && last[static_cast<size_t>(id)] == index) {
        values[static_cast<size_t>(id)].clear();
      }
    }
  }
  return {};
}

}  // namespace shoal::compress
