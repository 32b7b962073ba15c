// Gradients of RNN, GRU and LSTM: the sequence is unrolled into matrix products and activations,
// one step after the other, and differentiated node by node. The graph grows with the number of
// steps.
#include <algorithm>
#include <string>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/recurrent/recurrent.h"

namespace shoal::ops {
namespace {

using Gradients = Result<std::vector<ValueId>>;

constexpr size_t kX = 0, kW = 1, kR = 2, kB = 3, kLengths = 4, kInitialH = 5, kInitialC = 6, kP = 7;

// The parameters of an activation as attributes of its operator.
Attributes attributes_of(const RecurrentActivation& activation) {
  const auto& [alpha, beta] = activation.function->parameters;
  Attributes attributes;
  if (!alpha.attribute.empty()) attributes[std::string(alpha.attribute)] = activation.alpha;
  if (!beta.attribute.empty()) attributes[std::string(beta.attribute)] = activation.beta;
  return attributes;
}

// Whether the activation is an operator whose parameters are all numbers. ONNX has functions for
// recurrent nodes that no operator computes.
bool has_operator(const RecurrentActivation& activation) {
  const auto is_number = [](const ElementParameter& p) { return p.input == 0 && p.text.empty(); };
  return activation.op != nullptr &&
         std::ranges::all_of(activation.op->elementwise.parameters, is_number);
}

struct State {
  ValueId h, c;  // [batch, hidden]
};

class Unrolled {
 public:
  Unrolled(const RecurrentKind& kind, const Node& node, Chain& chain)
      : kind_(kind),
        node_(node),
        chain_(chain),
        sizes_(recurrent_sizes(node, chain.shape_of(node.inputs[kX]),
                               chain.shape_of(node.inputs[kR]))) {}

  // Y, Y_h, Y_c as the node gives them.
  std::vector<ValueId> run() {
    std::vector<ValueId> y, h, c;  // per direction
    for (int64_t d = 0; d < sizes_.directions; ++d) {
      const State last = walk(d, y);
      h.push_back(chain_.reshape(last.h, {1, sizes_.batch, sizes_.hidden}));
      c.push_back(chain_.reshape(last.c, {1, sizes_.batch, sizes_.hidden}));
    }
    std::vector<ValueId> outputs{joined(y, 1), joined(h, 0), joined(c, 0)};
    if (sizes_.batch_first) {
      outputs[0] = chain_.transpose(outputs[0], {2, 0, 1, 3});
      for (size_t i : {1u, 2u}) outputs[i] = chain_.transpose(outputs[i], {1, 0, 2});
    }
    outputs.resize(node_.outputs.size());
    return outputs;
  }

 private:
  bool given(size_t i) const { return i < node_.inputs.size() && node_.inputs[i] != kNoValue; }

  ValueId joined(const std::vector<ValueId>& parts, int64_t axis) {
    return parts.size() == 1 ? parts[0] : chain_.add(concat, parts, {{"axis", axis}});
  }

  // Elements [begin, end) of an axis.
  ValueId part(ValueId x, int64_t axis, int64_t begin, int64_t end) {
    const auto one = [&](int64_t i) { return chain_.list(std::vector{i}); };
    return chain_.add(slice, {x, one(begin), one(end), one(axis)});
  }
  // Gates [first, first + count) of sums that lie side by side on the last axis.
  ValueId gates(ValueId x, int64_t first, int64_t count = 1) {
    const auto last = static_cast<int64_t>(chain_.shape_of(x).rank()) - 1;
    return part(x, last, first * sizes_.hidden, (first + count) * sizes_.hidden);
  }
  // The part of an input [directions, ...] that belongs to direction d.
  ValueId of_direction(size_t input, int64_t d) {
    const Shape all = chain_.shape_of(node_.inputs[input]);
    return chain_.reshape(part(node_.inputs[input], 0, d, d + 1), Shape(std::span(all).subspan(1)));
  }
  ValueId initial(size_t input, int64_t d) {
    const Shape state{sizes_.batch, sizes_.hidden};
    if (!given(input)) return chain_.zeros(state);
    return chain_.reshape(part(node_.inputs[input], sizes_.batch_first ? 1 : 0, d, d + 1), state);
  }

  ValueId plus(ValueId a, ValueId b) { return chain_.add(add, {a, b}); }
  ValueId times(ValueId a, ValueId b) { return chain_.add(mul, {a, b}); }
  ValueId product(ValueId a, ValueId b) { return chain_.add(mat_mul, {a, b}); }
  ValueId one_minus(ValueId x) { return chain_.add(sub, {chain_.scalar(1), x}); }

  ValueId activate(size_t which, ValueId x) {
    const RecurrentActivation& activation = activations_[which];
    return chain_.add(*activation.op, {x}, attributes_of(activation));
  }

  // One direction; adds its hidden states [steps, 1, batch, hidden] and gives the last ones.
  State walk(int64_t d, std::vector<ValueId>& y) {
    activations_ = activations_of(kind_, node_, d);
    const int64_t width = chain_.shape_of(node_.inputs[kW])[1];
    r_ = chain_.transpose(of_direction(kR, d), {1, 0});  // [hidden, width]
    const ValueId bias = given(kB) ? of_direction(kB, d) : chain_.zeros({2 * width});
    r_bias_ = part(bias, 0, width, 2 * width);
    peephole_ = given(kP) ? of_direction(kP, d) : chain_.zeros({3 * sizes_.hidden});
    ValueId x = node_.inputs[kX];
    if (sizes_.batch_first) x = chain_.transpose(x, {1, 0, 2});
    const ValueId w = chain_.transpose(of_direction(kW, d), {1, 0});   // [input, width]
    const ValueId all = plus(product(x, w), part(bias, 0, 0, width));  // [steps, batch, width]
    State state{initial(kInitialH, d), initial(kInitialC, d)};
    std::vector<ValueId> states(static_cast<size_t>(sizes_.steps));
    for (int64_t k = 0; k < sizes_.steps; ++k) {
      const int64_t t = is_reverse(node_, d) ? sizes_.steps - 1 - k : k;
      state = step(chain_.reshape(part(all, 0, t, t + 1), {sizes_.batch, width}), state);
      states[static_cast<size_t>(t)] = chain_.reshape(state.h, {1, 1, sizes_.batch, sizes_.hidden});
    }
    y.push_back(joined(states, 0));
    return state;
  }

  State step(ValueId sums, const State& before) {
    if (node_.op == &lstm) return lstm_step(sums, before);
    if (node_.op == &gru) return gru_step(sums, before);
    const ValueId h = activate(0, plus(plus(sums, product(before.h, r_)), r_bias_));
    return {h, before.c};
  }

  // Gates in the order update, reset, candidate. gru.cc has the equations.
  State gru_step(ValueId sums, const State& before) {
    const ValueId both =
        plus(plus(gates(sums, 0, 2), product(before.h, gates(r_, 0, 2))), gates(r_bias_, 0, 2));
    const ValueId update = activate(0, gates(both, 0)), reset = activate(0, gates(both, 1));
    const ValueId r = gates(r_, 2), bias = gates(r_bias_, 2);
    const ValueId recurrent = node_.integer("linear_before_reset", 0) != 0
                                  ? times(reset, plus(product(before.h, r), bias))
                                  : plus(product(times(reset, before.h), r), bias);
    const ValueId candidate = activate(1, plus(gates(sums, 2), recurrent));
    return {plus(times(one_minus(update), candidate), times(update, before.h)), before.c};
  }

  // Gates in the order input, output, forget, cell; there is no peephole for the cell. lstm.cc has
  // the equations.
  State lstm_step(ValueId sums, const State& before) {
    const ValueId all = plus(plus(sums, product(before.h, r_)), r_bias_);
    const auto seeing = [&](int64_t gate, ValueId cell) {
      return activate(0, plus(gates(all, gate), times(gates(peephole_, gate), cell)));
    };
    const ValueId input = seeing(0, before.c);
    const ValueId forget =
        node_.integer("input_forget", 0) != 0 ? one_minus(input) : seeing(2, before.c);
    const ValueId c = plus(times(forget, before.c), times(input, activate(1, gates(all, 3))));
    return {times(seeing(1, c), activate(2, c)), c};
  }

  const RecurrentKind& kind_;
  const Node& node_;
  Chain& chain_;
  const RecurrentSizes sizes_;
  std::vector<RecurrentActivation> activations_;  // of the direction that is unrolled
  ValueId r_ = kNoValue, r_bias_ = kNoValue, peephole_ = kNoValue;
};

// Lengths are data and would change the unrolled graph. The gradient of a clipped gate would need a
// mask per gate.
Status require_plain(const RecurrentKind& kind, const Node& node, int64_t directions) {
  const auto unsupported = [&](const std::string& what) {
    return Status(Code::kUnsupported, std::string(node.op->name) + " has no gradient with " + what);
  };
  if (node.inputs.size() > kLengths && node.inputs[kLengths] != kNoValue) {
    return unsupported("lengths of sequences");
  }
  if (node.has("clip")) return unsupported("clip");
  for (int64_t d = 0; d < directions; ++d) {
    if (!std::ranges::all_of(activations_of(kind, node, d), has_operator)) {
      return unsupported("one of its activations");
    }
  }
  return {};
}

}  // namespace

Gradients recurrent_gradient(const RecurrentKind& kind, const Node& node,
                             std::span<const ValueId> outputs, Graph& graph) {
  SHOAL_TRY(require_plain(kind, node, graph[node.inputs[kR]].type.shape[0]));
  return gradient_of_formula(node, outputs, graph,
                             [&](Chain& chain) { return Unrolled(kind, node, chain).run(); });
}

}  // namespace shoal::ops
