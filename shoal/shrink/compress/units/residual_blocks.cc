// In each sum of two values of one type, either may be x. The nodes of f are found by walking back
// from the other to x; there is no block if the walk meets a graph input, or its values are read
// outside.
#include "shoal/shrink/compress/units/residual_blocks.h"

#include <algorithm>
#include <optional>
#include <set>

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::compress {
namespace {

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), maker_(graph.value_count(), kNone) {
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
      for (ValueId id : graph.nodes()[n].outputs) maker_[static_cast<size_t>(id)] = n;
    }
  }

  std::optional<ResidualBlock> block_of(size_t sum, size_t input) const {
    const Node& node = graph_.nodes()[sum];
    ResidualBlock block{node.inputs[input], node.inputs[1 - input], node.outputs[0], {}, {}};
    if (graph_[block.input].constant || block.input == block.branch ||
        graph_[block.input].type != graph_[block.output].type) {
      return std::nullopt;
    }
    std::set<size_t> inside;
    if (!collect(block.branch, block.input, inside)) return std::nullopt;
    if (!is_closed(inside, sum) || !has_product(inside)) return std::nullopt;
    block.nodes.assign(inside.begin(), inside.end());
    block.nodes.push_back(sum);
    block.weights = first_weights(inside);
    return block;
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  size_t maker(ValueId id) const { return maker_[static_cast<size_t>(id)]; }

  // The nodes that a value is made of, back to x. Fails at anything else.
  bool collect(ValueId from, ValueId x, std::set<size_t>& inside) const {
    std::vector<ValueId> open = {from};
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      if (id == kNoValue || id == x || graph_[id].constant) continue;
      if (maker(id) == kNone) return false;  // an input of the graph
      if (!inside.insert(maker(id)).second) continue;
      const Node& node = graph_.nodes()[maker(id)];
      open.insert(open.end(), node.inputs.begin(), node.inputs.end());
    }
    return true;
  }

  bool is_closed(const std::set<size_t>& inside, size_t sum) const {
    const auto is_made_inside = [&](ValueId id) {
      return id != kNoValue && inside.contains(maker(id));
    };
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      if (n == sum || inside.contains(n)) continue;
      if (std::ranges::any_of(graph_.nodes()[n].inputs, is_made_inside)) return false;
    }
    return std::ranges::none_of(graph_.outputs(), is_made_inside);
  }

  bool has_product(const std::set<size_t>& inside) const {
    return std::ranges::any_of(inside,
                               [&](size_t n) { return macs(graph_, graph_.nodes()[n]) > 0; });
  }

  std::string first_weights(const std::set<size_t>& inside) const {
    for (size_t n : inside) {
      for (ValueId id : graph_.nodes()[n].inputs) {
        if (id != kNoValue && graph_[id].constant) return graph_[id].name;
      }
    }
    return {};
  }

  const Graph& graph_;
  std::vector<size_t> maker_;  // per value; kNone: no node
};

}  // namespace

std::vector<ResidualBlock> residual_blocks(const Graph& graph) {
  const Finder finder(graph);
  std::vector<ResidualBlock> blocks;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    if (graph.nodes()[n].op != &ops::add) continue;
    for (size_t input : {size_t{0}, size_t{1}}) {
      if (auto block = finder.block_of(n, input)) {
        blocks.push_back(*std::move(block));
        break;
      }
    }
  }
  return blocks;
}

Result<Graph> without_blocks(const Graph& graph, std::span<const ResidualBlock> blocks,
                             std::span<const size_t> numbers) {
  // The sum of a block that is inside another one goes with that.
  std::vector<bool> inside(graph.nodes().size());
  std::vector<ValueId> instead(graph.nodes().size(), kNoValue);
  for (size_t number : numbers) {
    if (number >= blocks.size()) return invalid("there is no block " + std::to_string(number));
    const std::vector<size_t>& nodes = blocks[number].nodes;
    for (size_t n : std::span(nodes).first(nodes.size() - 1)) inside[n] = true;
    instead[nodes.back()] = blocks[number].input;
  }
  passes::Rewriter rewriter(graph);
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (inside[n]) continue;
    if (instead[n] == kNoValue) {
      SHOAL_TRY(rewriter.copy(node));
    } else {
      rewriter.replace(node.outputs[0], rewriter.map(instead[n]));
    }
  }
  return rewriter.finish();
}

}  // namespace shoal::compress
