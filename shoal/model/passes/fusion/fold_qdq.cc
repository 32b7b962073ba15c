// Replaces a float operator between DequantizeLinear and QuantizeLinear by one of integers, so that
// a quantised network computes in bytes from its first QuantizeLinear to its last DequantizeLinear.
// Operators that move elements move bytes instead; functions of one element become tables of 256
// entries.
#include <algorithm>
#include <array>

#include "shoal/model/ops/elementwise/fused_activation.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/fusion/integer_operator.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/use_defs.h"

namespace shoal::passes {
namespace {

// Whether every element of the output is one of input 0, chosen by its place or as the largest.
// Scales are positive, so integers have the order of the reals.
bool moves_elements(const Node& node) {
  static constexpr std::array kMoves = {
      &ops::reshape,   &ops::flatten, &ops::squeeze, &ops::unsqueeze,      &ops::identity,
      &ops::transpose, &ops::slice,   &ops::gather,  &ops::depth_to_space, &ops::space_to_depth,
      &ops::expand,    &ops::tile_,   &ops::max_pool};
  return std::ranges::find(kMoves, node.op) != kMoves.end() && node.outputs.size() == 1;
}

// Whether y_i = f(x_i) for a function f that depends on nothing but constants.
bool maps_elements(const Graph& graph, const Node& node) {
  return node.op->elementwise.f32 != nullptr &&
         std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [&](ValueId id) { return id == kNoValue || constant(graph, id) != nullptr; });
}

class QdqFolding {
 public:
  explicit QdqFolding(const Graph& graph) : graph_(graph), links_(graph) {}

  bool fold(Rewriter& rewriter, const Node& node) {
    if (node.op == &ops::dequantize_linear) return values_.remember(rewriter, node);
    if (node.op == &ops::quantize_linear) return fold_quantize(rewriter, node);
    if (node.op == &ops::gemm && !is_quantized_later(node)) {
      return fold_real_gemm(rewriter, values_, node);
    }
    return moves_elements(node) && move_integers(rewriter, node);
  }

 private:
  // Move(DequantizeLinear(x)) becomes DequantizeLinear(Move(x)).
  bool move_integers(Rewriter& rewriter, const Node& node) {
    const Quantized* x = values_.find_bytes(rewriter, node.inputs[0]);
    if (x == nullptr) return false;
    Quantized y = *x;
    std::vector<ValueId> inputs = rewriter.map(node.inputs);
    inputs[0] = x->integers;
    auto moved = rewriter.to().add(*node.op, std::move(inputs), node.attributes,
                                   graph_[node.outputs[0]].name + ".integers");
    if (!moved.ok()) return false;
    y.integers = *moved;
    std::vector<ValueId> parameters{y.integers, y.scale};
    if (y.zero_point != kNoValue) parameters.push_back(y.zero_point);
    if (!rewriter.substitute(node, ops::dequantize_linear, std::move(parameters), {})) return false;
    values_.remember(rewriter.map(node.outputs[0]), y);
    return true;
  }

  bool fold_quantize(Rewriter& rewriter, const Node& node) {
    const std::optional<Quantized> y = quantized_by(rewriter, node);
    if (!y) return false;
    if (fold_map(rewriter, node, *y)) return true;
    Node place = node;
    // Bounds start as the full range of the type; a clamp in between narrows them.
    QuantizedResult result{place, *y, ops::bounds_of_type(y->dtype)};
    const Node* base = only_producer(node.inputs[0]);
    if (base != nullptr && clamp(rewriter.to(), *base, result)) {
      base = only_producer(base->inputs[0]);
    }
    if (base == nullptr) return false;
    place.name = base->name;  // the name that profiles and messages show
    return fold_operator(rewriter, values_, result, *base);
  }

  // QuantizeLinear(f(DequantizeLinear(x))), where f is a chain of such functions, perhaps empty.
  // All 256 values of x are tabulated, so rounding is exactly that of the float nodes.
  bool fold_map(Rewriter& rewriter, const Node& node, const Quantized& y) {
    std::vector<const Node*> f;
    ValueId at = node.inputs[0];
    for (; values_.find_bytes(rewriter, at) == nullptr; at = f.back()->inputs[0]) {
      const Node* map = links_.producer(at);
      if (map == nullptr || !maps_elements(graph_, *map)) return false;
      f.push_back(map);
    }
    const Quantized& x = *values_.find_bytes(rewriter, at);
    if (f.empty() && has_same_parameters(rewriter.to(), x, y)) {
      rewriter.replace(node.outputs[0], x.integers);
      return true;
    }
    std::ranges::reverse(f);
    const ValueId table = rewriter.add_constant(node, "table", table_of(rewriter, x, f, y));
    return rewriter.substitute(node, ops::lookup, {x.integers, table}, {});
  }

  // If the node clamps to [low, high], narrows the bounds of the result to these, quantised. This
  // is exact, because rounding is monotonic.
  bool clamp(const Graph& to, const Node& node, QuantizedResult& result) const {
    const auto activation = ops::as_activation(node, graph_.operands(node.inputs));
    if (!activation || !activation->op->elementwise.clamps) return false;
    const float low = activation->alpha, high = activation->beta;
    if (!(low <= high)) return false;
    const float scale = scales_of(to, result.y)[0];
    const auto zero_point = static_cast<int32_t>(zero_point_of(to, result.y));
    visit<ops::Bytes>(result.y.dtype, [&]<class T>() {
      result.bounds = {ops::quantize<T>(low / scale, zero_point),
                       ops::quantize<T>(high / scale, zero_point)};
    });
    return true;
  }

  const Node* only_producer(ValueId id) const {
    return links_.only_reader(id) == nullptr ? nullptr : links_.producer(id);
  }

  // Whether the result is read by a QuantizeLinear alone, perhaps behind an activation.
  bool is_quantized_later(const Node& node) const {
    const Node* reader = links_.only_reader(node.outputs[0]);
    if (reader != nullptr && reader->op->elementwise.clamps) {
      reader = links_.only_reader(reader->outputs[0]);
    }
    return reader != nullptr && reader->op == &ops::quantize_linear;
  }

  const Graph& graph_;
  const UseDefs links_;
  QuantizedValues values_;
};

}  // namespace

Result<Graph> fold_qdq(const Graph& graph) {
  QdqFolding folder(graph);
  return rewrite(graph,
                 [&](Rewriter& rewriter, const Node& node) { return folder.fold(rewriter, node); });
}

}  // namespace shoal::passes
