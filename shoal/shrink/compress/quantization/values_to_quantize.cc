// The choice of values. Inputs and results of products come first; then, in one pass in topological
// order, results of operators that read only such values and that engines compute on bytes, if a
// product depends on them. So few values are converted between bytes and floats, and only where an
// operator needs floats. Behind the last product nothing is worth rounding: YOLOX puts boxes and
// probabilities into one tensor there.
#include <algorithm>
#include <array>
#include <set>

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/shrink/compress/analysis/product.h"
#include "shoal/shrink/compress/quantization/quantize.h"
#include "shoal/shrink/compress/quantization/shared_ranges.h"

namespace shoal::compress {
namespace {

// Worth it where their inputs are bytes anyway: engines compute them on bytes, or by a table.
bool carries_bytes(const Graph& graph, const Node& node) {
  static constexpr std::array kOperators = {&ops::add,
                                            &ops::average_pool,
                                            &ops::clip,
                                            &ops::concat,
                                            &ops::global_average_pool,
                                            &ops::hard_sigmoid,
                                            &ops::hard_swish,
                                            &ops::leaky_relu,
                                            &ops::relu,
                                            &ops::sigmoid,
                                            &ops::swish};
  return keeps_elements(graph, node) ||
         (std::ranges::find(kOperators, node.op) != kOperators.end() && node.outputs.size() == 1);
}

class Selection {
 public:
  Selection(const Graph& graph, const Products& real) : graph_(graph), links_(graph) {
    for (const Node& node : graph_.nodes()) {
      if (!real.contains(node.outputs[0]) && product_of(graph_, node)) products_.push_back(&node);
    }
  }

  std::vector<ValueId> select() {
    for (const Node* product : products_) {
      take(product->inputs[0]);
      take(result_of(*product));
    }
    const std::vector<bool> needed = needed_by_products();
    for (const Node& node : graph_.nodes()) {
      const ValueId result = result_of(node);
      if (needed[static_cast<size_t>(result)] && carries_bytes(graph_, node) && reads_taken(node)) {
        take(result);
      }
    }
    return {taken_.begin(), taken_.end()};
  }

 private:
  // Per value: whether a product reads it, or something that is computed from it.
  std::vector<bool> needed_by_products() const {
    std::vector<bool> needed(graph_.value_count());
    const auto nodes = graph_.nodes();
    auto product = products_.rbegin();
    for (size_t i = nodes.size(); i-- > 0;) {
      const bool is_product = product != products_.rend() && *product == &nodes[i];
      if (is_product) ++product;
      const bool counts = is_product || std::ranges::any_of(nodes[i].outputs, [&](ValueId id) {
                            return needed[static_cast<size_t>(id)];
                          });
      for (ValueId id : nodes[i].inputs) {
        if (counts && id != kNoValue) needed[static_cast<size_t>(id)] = true;
      }
    }
    return needed;
  }

  void take(ValueId id) {
    const bool is_result =
        std::ranges::find(graph_.outputs(), id) != graph_.outputs().end() && !is_read_inside(id);
    if (!is_result && graph_[id].type.dtype == DType::kF32 && !graph_[id].constant) {
      taken_.insert(id);
    }
  }

  bool is_read_inside(ValueId id) const {
    return std::ranges::any_of(graph_.nodes(), [&](const Node& node) {
      return std::ranges::find(node.inputs, id) != node.inputs.end();
    });
  }

  // The value that the node effectively gives. An activation that only clamps is computed with the
  // node it follows, so that the value between them never exists.
  ValueId result_of(const Node& node) const {
    const Node* reader = links_.only_reader(node.outputs[0]);
    const bool clamps = reader != nullptr && (reader->op == &ops::relu || reader->op == &ops::clip);
    return clamps ? reader->outputs[0] : node.outputs[0];
  }

  bool reads_taken(const Node& node) const {
    const auto is_taken = [&](ValueId id) {
      // The bounds of a Clip are constants that no byte has to stand for.
      const bool is_parameter = id == kNoValue || graph_[id].type.dtype != DType::kF32 ||
                                (node.op == &ops::clip && id != node.inputs[0]);
      return is_parameter || taken_.contains(id);
    };
    return std::ranges::all_of(node.inputs, is_taken);
  }

  const Graph& graph_;
  const passes::UseDefs links_;
  std::vector<const Node*> products_;
  std::set<ValueId> taken_;
};

}  // namespace

std::vector<ValueId> values_to_quantize(const Graph& graph, const Products& real) {
  return Selection(graph, real).select();
}

}  // namespace shoal::compress
