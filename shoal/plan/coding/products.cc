// Recognises products that a code can protect, and lowers fused ones. A code needs y_i = x * W_i
// with the same x for all shares: a split by output channels has it; one by rows does not, because
// every share reads other rows of x. Activations and rounding are not linear, so they must come
// after decoding and become separate nodes.
#include "shoal/plan/coding/products.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "shoal/model/ops/contraction.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/quantized/quantize.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/plan/layout.h"

namespace shoal::plan {
namespace {

// The operators that can be coded, and the input that holds their weights.
struct Form {
  const Operator* op;
  size_t weights;
  bool is_integer;
};

constexpr size_t kBias = 2;

const Form* form_of(const Operator* op) {
  static const std::array forms = {
      Form{&ops::conv, 1, false},           Form{&ops::fused_conv, 1, false},
      Form{&ops::conv_transpose, 1, false}, Form{&ops::fused_conv_transpose, 1, false},
      Form{&ops::gemm, 1, false},           Form{&ops::fused_gemm, 1, false},
      Form{&ops::mat_mul, 1, false},        Form{&ops::fused_mat_mul, 1, false},
      Form{&ops::conv_integer, 1, true},    Form{&ops::mat_mul_integer, 1, true},
      Form{&ops::q_linear_conv, 3, true},   Form{&ops::fused_q_linear_conv, 3, true},
      Form{&ops::q_gemm, 3, true}};
  const auto it = std::ranges::find(forms, op, &Form::op);
  return it == forms.end() ? nullptr : &*it;
}

Status refused(const Graph& graph, const Node& node, const std::string& why) {
  return Status(Code::kUnsupported, place_of(graph, node) + " cannot be coded: " + why);
}

// The only axis along which a box is not whole.
std::optional<size_t> cut_axis(const Region& box, const Shape& shape) {
  std::optional<size_t> axis;
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (box.begin[d] == 0 && box.end[d] == shape[d]) continue;
    if (axis) return std::nullopt;
    axis = d;
  }
  return axis;
}

// Whether the tiles divide this input exactly as they divide the output: one channel for each.
bool is_divided(std::span<const Tile* const> tiles, size_t input, const Shape& shape,
                const SplitProduct& split) {
  for (size_t t = 0; t < tiles.size(); ++t) {
    const Region& box = tiles[t]->inputs[input];
    const auto axis = cut_axis(box, shape);
    if (!axis || box.begin[*axis] != split.blocks[t].begin[split.axis] ||
        box.end[*axis] != split.blocks[t].end[split.axis]) {
      return false;
    }
  }
  return true;
}

// The tiles as blocks along one axis, if they cover it from the first element to the last without
// overlap.
std::optional<SplitProduct> find_blocks(const Shape& shape, std::span<const Tile* const> tiles) {
  SplitProduct split;
  for (const Tile* tile : tiles) {
    const auto axis = cut_axis(tile->output, shape);
    if (!axis || (!split.blocks.empty() && *axis != split.axis)) return std::nullopt;
    split.axis = *axis;
    split.blocks.push_back(tile->output);
  }
  std::vector<Region> order = split.blocks;
  std::ranges::sort(order, {}, [&](const Region& box) { return box.begin[split.axis]; });
  int64_t end = 0;
  for (const Region& box : order) {
    if (box.begin[split.axis] != end) return std::nullopt;
    end = box.end[split.axis];
  }
  return end == shape[split.axis] ? std::optional(split) : std::nullopt;
}

// The transposed matrix.
Tensor transposed(const Tensor& matrix) {
  Tensor across({matrix.dtype(), {matrix.shape()[1], matrix.shape()[0]}});
  const Node node{&ops::transpose, {}, {}, {}, {}};
  ops::transpose.reference(node, std::span(&matrix, 1), std::span(&across, 1));
  return across;
}

// Reshapes one parameter per channel to [c, 1, 1, ...], so that it broadcasts over images.
Result<ValueId> append_upright(ValueId parameter, size_t rank, Graph& graph) {
  if (graph[parameter].type.shape.count() == 1) return parameter;
  std::vector<int64_t> shape(rank - 1, 1);
  shape[0] = -1;
  const ValueId to =
      graph.add_constant("shape", Tensor::of<int64_t>({static_cast<int64_t>(shape.size())}, shape));
  return graph.add(ops::reshape, {parameter, to});
}

// QLinearConv as its integer sums followed by bias, scale and rounding, in the operator's own
// order, so that results are the same to the last bit.
Result<ValueId> append_integer_conv(const Node& node, const std::vector<ValueId>& inputs,
                                    Graph& graph) {
  const size_t rank = graph[inputs[0]].type.shape.rank();
  SHOAL_ASSIGN(
      ValueId sums,
      graph.add(ops::conv_integer, {inputs[0], inputs[3], inputs[2], inputs[5]}, node.attributes));
  if (inputs.size() > 8 && inputs[8] != kNoValue) {
    SHOAL_ASSIGN(const ValueId bias, append_upright(inputs[8], rank, graph));
    SHOAL_ASSIGN(sums, graph.add(ops::add, {sums, bias}));
  }
  SHOAL_ASSIGN(ValueId scale, graph.add(ops::mul, {inputs[1], inputs[4]}));
  SHOAL_ASSIGN(scale, graph.add(ops::div, {scale, inputs[6]}));
  SHOAL_ASSIGN(scale, append_upright(scale, rank, graph));
  return ops::append_requantize(sums, scale, inputs[7], graph);
}

}  // namespace

Result<SplitProduct> find_split(const Graph& graph, const Node& node,
                                std::span<const Tile* const> tiles) {
  const Form* form = form_of(node.op);
  if (form == nullptr) return refused(graph, node, "it is no product with weights");
  const auto shape_of = [&](size_t i) { return graph[node.inputs[i]].type.shape; };
  const auto is_given = [&](size_t i) {
    return i < node.inputs.size() && node.inputs[i] != kNoValue;
  };
  if (!graph[node.inputs[form->weights]].constant) {
    return refused(graph, node, "its weights are not constant");
  }
  if (!form->is_integer && graph[node.outputs[0]].type.dtype != DType::kF32) {
    return refused(graph, node, "it is computed in another type than f32");
  }
  if (tiles.size() < 2) return refused(graph, node, "it is not shared by several workers");
  for (const Tile* tile : tiles) {
    if (tile->inputs[0] != tiles[0]->inputs[0]) {
      return refused(graph, node, "the split divides its input, so no factor is shared");
    }
  }
  const auto split = find_blocks(graph[node.outputs[0]].type.shape, tiles);
  if (!split || !is_divided(tiles, form->weights, shape_of(form->weights), *split)) {
    return refused(graph, node, "the split does not divide its weights");
  }
  const size_t zero_point = form->weights + 2;
  if (form->is_integer && is_given(zero_point) && !graph[node.inputs[zero_point]].constant) {
    return refused(graph, node, "the zero points of its weights are not constant");
  }
  const bool has_bias = !form->is_integer && is_given(kBias);
  if (has_bias &&
      (!graph[node.inputs[kBias]].constant || !is_divided(tiles, kBias, shape_of(kBias), *split))) {
    return refused(graph, node, "its bias is not one constant per channel");
  }
  return *split;
}

bool is_plain(const Node& node) {
  const Form* form = form_of(node.op);
  return form != nullptr && node.op->expand == nullptr && node.op != &ops::q_linear_conv;
}

Result<ValueId> append_lowered(Node node, std::vector<ValueId> inputs, Graph& graph) {
  if (node.op == &ops::q_linear_conv) return append_integer_conv(node, inputs, graph);
  // Weights must be a constant to be cut, not the output of a Transpose node.
  if (node.op == &ops::q_gemm && node.integer("transB", 0) != 0) {
    const Value& weights = graph[inputs[3]];
    const Tensor across = transposed(*weights.constant);
    inputs[3] = graph.add_constant(weights.name + ".across", across);
    node.attributes.erase("transB");
  }
  SHOAL_ASSIGN(const std::vector<ValueId> outputs, node.op->expand(node, inputs, graph));
  return outputs[0];
}

namespace {

Status expand(const Node& node, passes::Rewriter& rewriter) {
  SHOAL_ASSIGN(const std::vector<ValueId> outputs,
               node.op->expand(node, rewriter.map(node.inputs), rewriter.to()));
  for (size_t i = 0; i < outputs.size(); ++i) rewriter.replace(node.outputs[i], outputs[i]);
  return {};
}

// The first product at or after node `first` of the new graph, which stands for `node`.
Result<size_t> find_product(const Node& node, size_t first, passes::Rewriter& rewriter) {
  const Graph& to = rewriter.to();
  for (size_t i = first; i < to.nodes().size(); ++i) {
    if (ops::contraction_of(to.nodes()[i], to.operands(to.nodes()[i].inputs))) return i;
  }
  return Status(Code::kUnsupported, place_of(rewriter.from(), node) + " is no sum of products");
}

}  // namespace

Result<ExpandedProducts> expand_products(const Graph& graph, const std::vector<size_t>& nodes) {
  const std::set<size_t> wanted(nodes.begin(), nodes.end());
  passes::Rewriter rewriter(graph);
  ExpandedProducts expanded;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const size_t first = rewriter.to().nodes().size();
    const bool is_wanted = wanted.contains(i);
    SHOAL_TRY(is_wanted && node.op->expand != nullptr ? expand(node, rewriter)
                                                      : rewriter.copy(node));
    if (!is_wanted) continue;
    SHOAL_ASSIGN(expanded.products[i], find_product(node, first, rewriter));
  }
  SHOAL_ASSIGN(expanded.graph, rewriter.finish());
  return expanded;
}

Result<Graph> graph_of(const Graph& graph, const Node& node) {
  Graph alone;
  std::vector<ValueId> inputs;
  for (ValueId id : node.inputs) {
    const Value* value = id == kNoValue ? nullptr : &graph[id];
    inputs.push_back(value == nullptr  ? kNoValue
                     : value->constant ? alone.add_constant(value->name, *value->constant)
                                       : alone.add_input(value->name, value->type));
  }
  const std::vector<std::string> names(node.outputs.size());
  SHOAL_ASSIGN(const auto outputs,
               alone.add_node(*node.op, std::move(inputs), node.attributes, names));
  for (ValueId id : outputs) alone.mark_output(id);
  return alone;
}

namespace {

// Products as sums of terms. y = x W = sum_t x[:, K_t] W[K_t, :] for a partition K_t of the
// contracted axis. The rewrite has two passes: expand_products() turns fused operators into ONNX's
// own, whose products are linear, and Summer replaces each product by slices, terms and a sum. No
// operator is named here: the contracted axis is found by asking `split` and `infer`.
using SharesByNode = std::map<size_t, std::vector<double>>;

// Every product as a sum of its terms.
class Summer {
 public:
  explicit Summer(const Graph& graph) : rewriter_(graph) {}

  Result<Graph> run(const SharesByNode& products) {
    const auto nodes = rewriter_.from().nodes();
    for (size_t i = 0; i < nodes.size(); ++i) {
      const auto shares = products.find(i);
      SHOAL_TRY(shares == products.end() ? rewriter_.copy(nodes[i])
                                         : add_sum(nodes[i], shares->second));
    }
    return rewriter_.finish();
  }

 private:
  Status add_sum(const Node& node, const std::vector<double>& shares) {
    const Graph& from = rewriter_.from();
    const ops::Contraction along = *ops::contraction_of(node, from.operands(node.inputs));
    const auto points = cut_points(from, node.inputs[0], along.axis, shares);
    // All slices of weights first, so that a plan cannot end a segment between two terms
    // (search/choices.cc).
    SHOAL_ASSIGN(const auto weights, slices(node.inputs[1], along.weight_axis, points));
    SHOAL_ASSIGN(const auto inputs, slices(node.inputs[0], along.axis, points));
    std::vector<ValueId> terms;
    for (size_t t = 0; t < inputs.size(); ++t) {
      std::vector<ValueId> operands = {inputs[t], weights[t]};
      for (size_t i = 2; t == 0 && i < node.inputs.size(); ++i) {
        operands.push_back(rewriter_.map(node.inputs[i]));
      }
      SHOAL_ASSIGN(const ValueId term,
                   rewriter_.to().add(*node.op, std::move(operands), node.attributes,
                                      from[node.outputs[0]].name + ".term"));
      terms.push_back(term);
    }
    SHOAL_ASSIGN(const ValueId sum, rewriter_.to().add(ops::sum, std::move(terms)));
    rewriter_.replace(node.outputs[0], sum);
    return {};
  }

  // The slices that are not empty: shares may be too small for an element.
  Result<std::vector<ValueId>> slices(ValueId value, size_t axis,
                                      const std::vector<int64_t>& points) {
    std::vector<ValueId> parts;
    for (size_t i = 0; i + 1 < points.size(); ++i) {
      if (points[i] == points[i + 1]) continue;
      SHOAL_ASSIGN(const ValueId part, append_slice(rewriter_.to(), rewriter_.map(value), axis,
                                                    points[i], points[i + 1]));
      parts.push_back(part);
    }
    return parts;
  }

  passes::Rewriter rewriter_;
};

}  // namespace

Result<ValueId> append_slice(Graph& graph, ValueId value, size_t axis, int64_t begin, int64_t end) {
  const auto list = [&](const char* role, int64_t number) {
    return graph.add_constant(graph[value].name + role, Tensor::of<int64_t>({1}, {number}));
  };
  std::vector<ValueId> inputs = {value, list(".begin", begin), list(".end", end),
                                 list(".axis", static_cast<int64_t>(axis))};
  return graph.add(ops::slice, std::move(inputs));
}

bool can_be_sum(const Graph& graph, const Node& node) {
  // Tried on a graph of this node alone: the rewrite itself is the only authority.
  const auto alone = graph_of(graph, node);
  return alone.ok() && with_partial_sums(*alone, {{0, {1, 1}}}).ok();
}

Result<Graph> with_partial_sums(const Graph& graph, const std::vector<SumOfTerms>& sums) {
  std::vector<size_t> nodes;
  for (const SumOfTerms& sum : sums) nodes.push_back(sum.node);
  SHOAL_ASSIGN(const ExpandedProducts expanded, expand_products(graph, nodes));
  SharesByNode products;
  for (const SumOfTerms& sum : sums) products.emplace(expanded.products.at(sum.node), sum.shares);
  return Summer(expanded.graph).run(products);
}

}  // namespace shoal::plan
