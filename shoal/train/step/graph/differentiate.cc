// With q = DequantizeLinear(QuantizeLinear(x)) and c = x or Clip(x),
//
//   y = c + stop(q - c),
//
// which is q up to rounding in f32, and has the gradient of c. Integers have no gradient, so
// stop(d) is d in fixed point: steps of 2^-30 of the scale, as i64, because d may be large where x
// is.
#include "shoal/train/step/graph/differentiate.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::train {
namespace {

// Reverse-mode differentiation, as a rewriting of the graph.
//
//   g(loss) = 1
//   g(x)    = sum over the readers y of x of (dy/dx)^T g(y)
//
// Nodes are visited from last to first, a reverse topological order, so g(y) is complete when the
// node that makes y is visited. Each operator's `gradient` appends the product with its transposed
// Jacobian to the same graph, which grows by a constant factor.

size_t at(ValueId id) { return static_cast<size_t>(id); }

// The graph as backpropagation wants it: parameters are inputs, every operator is ONNX's or has a
// gradient of its own. On return, loss, parameters and fixed values are values of it.
Result<Graph> prepare(const Graph& graph, ValueId& loss, std::span<ValueId> parameters,
                      std::span<ValueId> fixed) {
  // Parameters become inputs first, so that every later reader of a constant maps to the input.
  passes::Rewriter rewriter(graph);
  for (ValueId& id : parameters) {
    const Value& value = graph[id];
    if (value.constant) rewriter.replace(id, rewriter.to().add_input(value.name, value.type));
    id = rewriter.map(id);
    // An operator without a gradient of its own is expanded to ONNX operators, which have theirs.
  }
  for (const Node& node : graph.nodes()) {
    if (node.op->expand == nullptr || node.op->gradient != nullptr) {
      SHOAL_TRY(rewriter.copy(node));
      continue;
    }
    const std::vector<ValueId> inputs = rewriter.map(node.inputs);
    SHOAL_ASSIGN(const std::vector<ValueId> results, node.op->expand(node, inputs, rewriter.to()));
    for (size_t i = 0; i < results.size(); ++i) rewriter.replace(node.outputs[i], results[i]);
  }
  loss = rewriter.map(loss);
  for (ValueId& id : fixed) id = rewriter.map(id);
  return rewriter.finish();
}

// Reverse mode: from the loss back, node by node, adding up what every reader of a value says.
class Backpropagation {
 public:
  Backpropagation(Graph graph, ValueId loss, std::vector<ValueId> parameters,
                  std::span<const ValueId> fixed)
      : graph_(std::move(graph)),
        loss_(loss),
        parameters_(std::move(parameters)),
        nodes_(graph_.nodes().size()),
        gradients_(graph_.value_count(), kNoValue) {
    find_dependents(fixed);
  }

  Result<Differentiated> run() {
    SHOAL_TRY(require_gradients());
    ops::Chain chain(graph_, loss_);
    gradients_[at(loss_)] = chain.reshape(chain.scalar(1), chain.shape_of(loss_));
    for (size_t n = nodes_; n-- > 0;) {
      const Node node = graph_.nodes()[n];  // a copy: the graph grows
      SHOAL_TRY(pass(node).at(place_of(graph_, node)));
    }
    return finish();
  }

 private:
  bool depends(std::span<const ValueId> ids) const {
    return std::ranges::any_of(ids,
                               [&](ValueId id) { return id != kNoValue && dependent_[at(id)]; });
  }

  // The values that depend on a parameter through floating-point values. Nothing else has a
  // gradient: an integer does not change by degrees, and what is fixed does not change.
  void find_dependents(std::span<const ValueId> fixed) {
    dependent_.assign(graph_.value_count(), false);
    for (ValueId id : parameters_) dependent_[at(id)] = true;
    for (const Node& node : graph_.nodes()) {
      if (!depends(node.inputs)) continue;
      for (ValueId id : node.outputs) {
        dependent_[at(id)] =
            Floats::contains(graph_[id].type.dtype) && std::ranges::find(fixed, id) == fixed.end();
      }
    }
  }

  // All missing gradients are reported at once, and before the graph has grown.
  Status require_gradients() const {
    std::vector<bool> reaches(graph_.value_count(), false);
    reaches[at(loss_)] = true;
    std::string missing;
    for (size_t n = nodes_; n-- > 0;) {
      const Node& node = graph_.nodes()[n];
      const bool counts = std::ranges::any_of(
          node.outputs, [&](ValueId id) { return reaches[at(id)] && dependent_[at(id)]; });
      if (!counts) continue;
      if (node.op->gradient == nullptr) {
        missing += (missing.empty() ? "" : ", ") + std::string(node.op->name) + " (" +
                   place_of(graph_, node) + ")";
      }
      for (ValueId id : node.inputs) {
        if (id != kNoValue) reaches[at(id)] = true;
      }
    }
    if (missing.empty()) return {};
    return Status(Code::kUnsupported,
                  "cannot train through operators without gradient: " + missing);
  }

  // The step back over one node. A node that the loss does not reach, or that no parameter reaches,
  // adds nothing to the graph.
  Status pass(const Node& node) {
    std::vector<ValueId> outputs;
    for (ValueId id : node.outputs) outputs.push_back(gradients_[at(id)]);
    const bool reached = std::ranges::any_of(outputs, [](ValueId id) { return id != kNoValue; });
    if (!reached || !depends(node.inputs)) return {};
    SHOAL_ASSIGN(const std::vector<ValueId> inputs, node.op->gradient(node, outputs, graph_));
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == kNoValue || !dependent_[at(node.inputs[i])]) continue;
      ValueId& sum = gradients_[at(node.inputs[i])];
      if (sum == kNoValue) {
        sum = inputs[i];
      } else {
        SHOAL_ASSIGN(sum, graph_.add(ops::add, {sum, inputs[i]}));
      }
    }
    return {};
  }

  Result<Differentiated> finish() {
    std::vector<ValueId> results;
    for (ValueId id : parameters_) {
      ops::Chain chain(graph_, id);
      ValueId gradient = gradients_[at(id)];
      // The loss does not depend on this parameter.
      if (gradient == kNoValue) gradient = chain.zeros(chain.shape_of(id));
      SHOAL_TRY(chain.status());
      SHOAL_CHECK(graph_[gradient].type == graph_[id].type);
      graph_.mark_output(gradient);
      results.push_back(gradient);
    }
    return Differentiated{std::move(graph_), std::move(parameters_), std::move(results)};
  }

  Graph graph_;
  ValueId loss_;
  std::vector<ValueId> parameters_;
  size_t nodes_;                    // of the network; those after them are the backward pass
  std::vector<ValueId> gradients_;  // of the network's values, as far as they are summed up
  std::vector<bool> dependent_;
};

constexpr float kFine = 0x1p30f;

class StraightThrough {
 public:
  explicit StraightThrough(const Graph& network)
      : network_(network), links_(network), rewriter_(network) {}

  Result<Graph> run() {
    for (const Node& node : network_.nodes()) {
      SHOAL_TRY(rewriter_.copy(node));
      if (node.op == &ops::dequantize_linear) SHOAL_TRY(let_through(node));
    }
    return rewriter_.finish();
  }

 private:
  Status let_through(const Node& dequantize) {
    const Node* quantize = links_.producer(dequantize.inputs[0], ops::quantize_linear);
    const Tensor* scale =
        quantize == nullptr ? nullptr : passes::constant(network_, quantize->inputs[1]);
    if (scale == nullptr || scale->dtype() != DType::kF32 || scale->count() == 0) return {};
    const float largest = std::ranges::max(scale->data<float>());
    if (!std::isnormal(largest)) return {};
    ValueId c = rewriter_.map(quantize->inputs[0]);
    if (scale->count() == 1) {
      SHOAL_ASSIGN(c, clamped(*quantize, largest, c));
    }
    Graph& to = rewriter_.to();
    const ValueId q = rewriter_.map(dequantize.outputs[0]);
    SHOAL_ASSIGN(const ValueId y, straight_through(to, q, c, largest));
    rewriter_.replace(dequantize.outputs[0], y);
    return {};
  }

  // To the least and the greatest number that a byte stands for.
  Result<ValueId> clamped(const Node& quantize, float scale, ValueId x) {
    const TensorType& bytes = network_[quantize.outputs[0]].type;
    const bool is_signed = bytes.dtype == DType::kI8;
    double zero = 0;
    if (quantize.inputs.size() > 2 && quantize.inputs[2] != kNoValue) {
      const auto known = passes::scalar(network_, quantize.inputs[2]);
      if (!known) return x;
      zero = *known;
    }
    const auto end = [&](double byte) { return static_cast<float>(scale * (byte - zero)); };
    return rewriter_.to().add(ops::clip, {x, scalar("low", end(is_signed ? -128 : 0)),
                                          scalar("high", end(is_signed ? 127 : 255))});
  }

  ValueId scalar(const char* name, float number) {
    return rewriter_.to().add_constant(name, Tensor::of<float>({}, {number}));
  }

  const Graph& network_;
  const passes::UseDefs links_;
  passes::Rewriter rewriter_;
};

}  // namespace

Result<Differentiated> differentiate(const Graph& graph, ValueId loss,
                                     std::span<const ValueId> parameters,
                                     std::span<const ValueId> fixed) {
  if (graph[loss].type.shape.count() != 1 || !Floats::contains(graph[loss].type.dtype)) {
    return invalid("the loss is " + to_string(graph[loss].type) + ", should be one number");
  }
  std::vector<ValueId> ids(parameters.begin(), parameters.end());
  for (ValueId id : ids) {
    if (Floats::contains(graph[id].type.dtype)) continue;
    return invalid(graph[id].name + " has no gradient: it is " + to_string(graph[id].type));
  }
  std::vector<ValueId> stops(fixed.begin(), fixed.end());
  SHOAL_ASSIGN(Graph prepared, prepare(graph, loss, ids, stops));
  return Backpropagation(std::move(prepared), loss, std::move(ids), stops).run();
}

Result<Graph> straight_through(const Graph& network) { return StraightThrough(network).run(); }

Result<ValueId> straight_through(Graph& graph, ValueId value, ValueId like, float unit) {
  ops::Chain chain(graph, like);
  const auto times = [&](ValueId x, float factor) {
    return chain.add(ops::mul, {x, chain.scalar(double{factor})});
  };
  const ValueId fine = times(chain.add(ops::sub, {value, like}), kFine / unit);
  const ValueId integer = chain.add(ops::cast, {fine}, {{"to", ops::onnx_number_of(DType::kI64)}});
  const ValueId stopped = times(chain.cast(integer), unit / kFine);
  const ValueId result = chain.add(ops::add, {like, stopped});
  SHOAL_TRY(chain.status());
  return result;
}

}  // namespace shoal::train
