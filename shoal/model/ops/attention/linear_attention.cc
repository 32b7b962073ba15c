// LinearAttention, of opset 27: attention with a state S in place of all earlier keys and values,
// [key size, value size] for every image and head of the keys. Token by token
//
//   S = exp(decay) S                              gated, gated_delta; row by row of S
//   S = S + k v'                                  linear, gated
//   S = S + beta k (v - S' k)'                    delta, gated_delta
//   y = scale S' q                                for every head of queries that shares the head
//
// query: [batch, tokens, heads * key size], key and value likewise with their own number of heads;
// decay: one per row of S, or one per head; beta: one per head, or one for all. Output 1 is S after
// the last token. S is kept in f32, or f64 for f64.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/checked.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

enum Input : size_t { kQuery, kKey, kValue, kPast, kDecay, kBeta };

struct Rule {
  bool gated = false, delta = false;
};

std::optional<Rule> rule_of(const Node& node) {
  const std::string name = node.text("update_rule", "gated_delta");
  if (name == "linear") return Rule{};
  if (name == "gated") return Rule{.gated = true};
  if (name == "delta") return Rule{.delta = true};
  if (name == "gated_delta") return Rule{.gated = true, .delta = true};
  return std::nullopt;
}

struct Sizes {
  int64_t batch, tokens, q_heads, heads, depth, width;

  Shape state() const { return {batch, heads, depth, width}; }
};

// REQUIRES: `infer` has accepted the shapes.
Sizes sizes_of(const Node& node, const Shape& query, const Shape& value) {
  const int64_t q_heads = node.integer("q_num_heads", 0), heads = node.integer("kv_num_heads", 0);
  return {query[0], query[1], q_heads, heads, query[2] / q_heads, value[2] / heads};
}

Status require_heads(const Node& node, const Shape& query, const Shape& value) {
  const int64_t q_heads = node.integer("q_num_heads", 0), heads = node.integer("kv_num_heads", 0);
  if (q_heads < 1 || heads < 1 || q_heads % heads != 0) {
    return invalid("q_num_heads is not a multiple of kv_num_heads");
  }
  if (query[2] % q_heads != 0 || value[2] % heads != 0 || query[2] == 0 || value[2] == 0) {
    return invalid("the heads do not divide the last axis, or have no elements");
  }
  return {};
}

bool given(std::span<const Operand> inputs, size_t i) {
  return inputs.size() > i && inputs[i].given;
}

// decay and beta are [batch, tokens, one of the two sizes].
Status require_gate(std::span<const Operand> inputs, size_t input, const Sizes& n, int64_t one,
                    int64_t other) {
  if (!given(inputs, input)) return invalid("this update_rule needs decay and beta");
  SHOAL_TRY(require_rank(inputs[input], 3));
  const Shape& shape = inputs[input].type.shape;
  if (inputs[input].type.dtype != inputs[kQuery].type.dtype || shape[0] != n.batch ||
      shape[1] != n.tokens || (shape[2] != one && shape[2] != other)) {
    return invalid("decay or beta does not fit the keys");
  }
  return {};
}

Result<std::vector<TensorType>> infer_linear_attention(const Node& node,
                                                       std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[kQuery]));
  SHOAL_TRY(require_same_type(inputs.first(3)));
  for (const Operand& input : inputs.first(3)) SHOAL_TRY(require_rank(input, 3));
  const Shape &query = inputs[kQuery].type.shape, &value = inputs[kValue].type.shape;
  SHOAL_TRY(require_heads(node, query, value));
  const auto rule = rule_of(node);
  if (!rule) return invalid("there is no such update_rule");
  const Sizes n = sizes_of(node, query, value);
  if (inputs[kKey].type.shape != Shape{n.batch, n.tokens, n.heads * n.depth} ||
      value != Shape{n.batch, n.tokens, n.heads * n.width}) {
    return invalid("queries, keys and values do not go together");
  }
  TensorType state{inputs[kQuery].type.dtype, n.state()};
  if (given(inputs, kPast)) {
    SHOAL_TRY(require<Floats>(inputs[kPast]));
    if (inputs[kPast].type.shape != state.shape) return invalid("past_state has another shape");
    state.dtype = inputs[kPast].type.dtype;
  }
  SHOAL_TRY(check(state));
  if (rule->gated) SHOAL_TRY(require_gate(inputs, kDecay, n, n.heads * n.depth, n.heads));
  if (rule->delta) SHOAL_TRY(require_gate(inputs, kBeta, n, n.heads, 1));
  // Too large a number is no size of a tensor, and is refused as one.
  const int64_t row = (Checked(n.q_heads) * n.width).value();
  std::vector<TensorType> types = {{inputs[kQuery].type.dtype, {n.batch, n.tokens, row}}, state};
  types.resize(node.outputs.size());
  return types;
}

// One step of one head. `k` and `decay`, a factor, have one element per row of the state, `v` one
// per column.
template <class C>
void update(std::vector<C>& state, const C* k, const C* v, const C* decay, C beta, const Rule& rule,
            int64_t depth, int64_t width) {
  std::vector<C> change(v, v + width);
  for (int64_t i = 0; i < depth; ++i) {
    C* row = state.data() + i * width;
    for (int64_t j = 0; j < width; ++j) {
      row[j] *= decay[i];
      if (rule.delta) change[static_cast<size_t>(j)] -= row[j] * k[i];
    }
  }
  for (int64_t i = 0; i < depth; ++i) {
    C* row = state.data() + i * width;
    for (int64_t j = 0; j < width; ++j) {
      row[j] += (rule.delta ? beta : C{1}) * k[i] * change[static_cast<size_t>(j)];
    }
  }
}

template <class C>
void answer(const std::vector<C>& state, const C* q, C scale, int64_t depth, int64_t width, C* y) {
  for (int64_t j = 0; j < width; ++j) {
    C sum = 0;
    for (int64_t i = 0; i < depth; ++i) sum += q[i] * state[static_cast<size_t>(i * width + j)];
    y[j] = scale * sum;
  }
}

// The inputs in the type that is computed in; those not given are empty.
template <class C>
struct Rows {
  explicit Rows(std::span<const Tensor> inputs, size_t i) {
    if (inputs.size() <= i || !inputs[i].defined()) return;
    tensor = converted(inputs[i], kDTypeOf<C>);
    size = tensor.shape()[tensor.shape().rank() - 1];
  }
  const C* at(int64_t row) const { return tensor.template data<C>().data() + row * size; }

  Tensor tensor;
  int64_t size = 0;
};

template <class C>
void attend(const Node& node, std::span<const Tensor> inputs, Tensor& y, Tensor& states) {
  const Sizes n = sizes_of(node, inputs[kQuery].shape(), inputs[kValue].shape());
  const Rule rule = *rule_of(node);
  const Rows<C> q(inputs, kQuery), k(inputs, kKey), v(inputs, kValue), decays(inputs, kDecay),
      betas(inputs, kBeta);
  const float asked = node.real("scale", 0);
  const C scale = asked != 0 ? static_cast<C>(asked) : 1 / std::sqrt(static_cast<C>(n.depth));
  const int64_t shared = n.q_heads / n.heads;
  std::vector<C> state(static_cast<size_t>(n.depth * n.width));
  std::vector<C> decay(static_cast<size_t>(n.depth), 1);
  for (int64_t line = 0; line < n.batch * n.heads; ++line) {
    const int64_t image = line / n.heads, head = line % n.heads;
    const std::span<C> kept =
        states.data<C>().subspan(static_cast<size_t>(line) * state.size(), state.size());
    std::ranges::copy(kept, state.begin());
    for (int64_t row = image * n.tokens; row < (image + 1) * n.tokens; ++row) {
      for (int64_t i = 0; rule.gated && i < n.depth; ++i) {
        const bool per_head = decays.size == n.heads && n.depth != 1;
        decay[static_cast<size_t>(i)] =
            std::exp(decays.at(row)[per_head ? head : head * n.depth + i]);
      }
      const C beta = rule.delta ? betas.at(row)[betas.size == 1 ? 0 : head] : C{1};
      update(state, k.at(row) + head * n.depth, v.at(row) + head * n.width, decay.data(), beta,
             rule, n.depth, n.width);
      for (int64_t h = head * shared; h < (head + 1) * shared; ++h) {
        answer(state, q.at(row) + h * n.depth, scale, n.depth, n.width,
               y.data<C>().data() + (row * n.q_heads + h) * n.width);
      }
    }
    std::ranges::copy(state, kept.begin());
  }
}

void reference_linear_attention(const Node& node, std::span<const Tensor> inputs,
                                std::span<Tensor> outputs) {
  const DType dtype = inputs[kQuery].dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Sizes n = sizes_of(node, inputs[kQuery].shape(), inputs[kValue].shape());
  Tensor y({dtype, outputs[0].shape()}), state({dtype, n.state()});
  if (inputs.size() > kPast && inputs[kPast].defined()) convert(inputs[kPast], state);
  visit<Types<float, double>>(dtype, [&]<class C>() { attend<C>(node, inputs, y, state); });
  convert(y, outputs[0]);
  if (outputs.size() > 1) convert(state, outputs[1]);
}

int64_t macs_of_linear_attention(const Node& node, std::span<const Operand> inputs,
                                 std::span<const TensorType>) {
  const Sizes n = sizes_of(node, inputs[kQuery].type.shape, inputs[kValue].type.shape);
  const Checked state = Checked(n.batch) * n.tokens * n.depth * n.width;
  return (state * (Checked(n.q_heads) + n.heads)).value();
}

}  // namespace

SHOAL_RECORD(linear_attention) = {.name = "LinearAttention",
                                  .min_inputs = 3,
                                  .max_inputs = 6,
                                  .max_outputs = 2,
                                  .infer = infer_linear_attention,
                                  .reference = reference_linear_attention,
                                  .macs = macs_of_linear_attention};

}  // namespace shoal::ops
