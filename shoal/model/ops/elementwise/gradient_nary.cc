// Gradients of element-wise operators with several inputs. dy is the gradient of the output. Where
// an input was stretched to the shape of the output, its gradient is the sum over its copies.
#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/ops.h"

namespace shoal::ops {
namespace {

using Gradients = Result<std::vector<ValueId>>;

bool given(const Node& node, size_t input) {
  return input < node.inputs.size() && node.inputs[input] != kNoValue;
}

// Gradients of a and b, still in the shape of y.
Gradients finish_pair(Chain& chain, const Node& node, ValueId da, ValueId db) {
  return chain.finish({chain.sum_to(da, chain.shape_of(node.inputs[0])),
                       chain.sum_to(db, chain.shape_of(node.inputs[1]))});
}

// The exponent of the derivative of a^b. For b = 0 any will do, because the derivative is 0; 0
// keeps 0^-1, which is infinite, out of it.
ValueId less_one(Chain& chain, ValueId b) {
  const ValueId is_zero = chain.add(equal, {b, chain.scalar(0)});
  const ValueId less = chain.add(sub, {b, chain.scalar(1)});
  return chain.add(where, {is_zero, chain.scalar(0), less});
}

}  // namespace

// Add, and Sum of any number.
Gradients add_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  std::vector<ValueId> gradients;
  for (ValueId x : node.inputs) {
    gradients.push_back(chain.sum_to(outputs[0], chain.shape_of(x)));
  }
  return chain.finish(std::move(gradients));
}

// da = dy, db = -dy.
Gradients sub_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  return finish_pair(chain, node, outputs[0], chain.add(neg, {outputs[0]}));
}

// da = dy b, db = dy a.
Gradients mul_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const ValueId da = chain.add(mul, {outputs[0], node.inputs[1]});
  return finish_pair(chain, node, da, chain.add(mul, {outputs[0], node.inputs[0]}));
}

// y = a / b: da = dy / b, db = -dy a / b^2 = -da y.
Gradients div_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const ValueId da = chain.add(div, {outputs[0], node.inputs[1]});
  return finish_pair(chain, node, da, chain.add(neg, {chain.add(mul, {da, node.outputs[0]})}));
}

// y = a^b: da = dy b a^(b-1), db = dy y log(a). A negative base has integer powers only, which have
// no derivative in b, and 0^b is 0 for every b > 0. In both cases db is 0.
Gradients pow_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const ValueId a = node.inputs[0], b = node.inputs[1], dy = outputs[0];
  if (graph[a].type.dtype !=
      graph[b].type.dtype) {  // such as an integer power, which has no gradient
    const ValueId power = chain.cast(b);
    const ValueId da = chain.add(mul, {power, chain.add(pow, {a, less_one(chain, power)})});
    return chain.finish({chain.sum_to(chain.add(mul, {dy, da}), chain.shape_of(a)), kNoValue});
  }
  const ValueId slope = chain.add(mul, {b, chain.add(pow, {a, less_one(chain, b)})});
  const ValueId da = chain.add(mul, {dy, slope});
  const ValueId positive = chain.add(greater, {a, chain.scalar(0)});
  const ValueId base = chain.add(where, {positive, a, chain.scalar(1)});
  const ValueId db =
      chain.add(mul, {dy, chain.add(mul, {node.outputs[0], chain.add(log, {base})})});
  return finish_pair(chain, node, da, db);
}

// dx = x < 0 ? dy slope : dy, dslope = x < 0 ? dy x : 0.
Gradients prelu_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const ValueId x = node.inputs[0], slope = node.inputs[1], dy = outputs[0];
  const ValueId below = chain.add(less, {x, chain.scalar(0)});
  const ValueId dx = chain.add(where, {below, chain.add(mul, {dy, slope}), dy});
  return finish_pair(chain, node, dx, chain.only_where(below, chain.add(mul, {dy, x})));
}

// The condition is boolean and has no gradient. a receives dy where it was chosen, b elsewhere.
Gradients where_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[1]);
  const ValueId condition = node.inputs[0], zero = chain.scalar(0);
  const ValueId da = chain.add(where, {condition, outputs[0], zero});
  const ValueId db = chain.add(where, {condition, zero, outputs[0]});
  return chain.finish({kNoValue, chain.sum_to(da, chain.shape_of(node.inputs[1])),
                       chain.sum_to(db, chain.shape_of(node.inputs[2]))});
}

Gradients mean_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const ValueId count = chain.scalar(static_cast<double>(node.inputs.size()));
  const ValueId share = chain.add(div, {outputs[0], count});
  std::vector<ValueId> gradients;
  for (ValueId x : node.inputs) gradients.push_back(chain.sum_to(share, chain.shape_of(x)));
  return chain.finish(std::move(gradients));
}

// Max and Min: dy goes to the input that is equal to y. Inputs that tie share it equally.
Gradients extremum_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  std::vector<ValueId> chosen;
  for (ValueId x : node.inputs) {
    chosen.push_back(chain.cast(chain.add(equal, {x, node.outputs[0]})));
  }
  const ValueId share = chain.add(div, {outputs[0], chain.add(sum, chosen)});
  std::vector<ValueId> gradients;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const ValueId dx = chain.add(mul, {share, chosen[i]});
    gradients.push_back(chain.sum_to(dx, chain.shape_of(node.inputs[i])));
  }
  return chain.finish(std::move(gradients));
}

// A bound receives dy where it was applied. Both apply only if low > high, and then high wins.
Gradients clip_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const ValueId x = node.inputs[0];
  ValueId dx = outputs[0];
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  const auto cut_off = [&](size_t bound, const Operator& beyond, ValueId value) {
    const ValueId id = node.inputs[bound];
    const ValueId cut = chain.add(beyond, {value, chain.reshape(id, {})});
    gradients[bound] =
        chain.reshape(chain.sum_to(chain.only_where(cut, dx), {}), chain.shape_of(id));
    dx = chain.add(where, {cut, chain.scalar(0), dx});
  };
  // The bounds are undone in reverse order: `high` was applied last, to max(x, low).
  const bool low = given(node, 1);
  if (given(node, 2)) {
    cut_off(2, greater, low ? chain.add(max, {x, chain.reshape(node.inputs[1], {})}) : x);
  }
  if (low) cut_off(1, less, x);
  gradients[0] = dx;
  return chain.finish(std::move(gradients));
}

// Inference copies: dx = dy. Training keeps elements by a mask and scales them: dx = mask dy / (1 -
// ratio). Whether a node trains may be known only at run time, hence the Where.
Gradients dropout_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  gradients[0] = outputs[0];
  if (!given(node, 2)) return gradients;
  const std::optional<Tensor>& trains = graph[node.inputs[2]].constant;
  if (trains && !trains->data<bool>()[0]) return gradients;
  if (node.outputs.size() < 2) {
    return Status(Code::kUnsupported, "Dropout has no gradient without its mask, output 1");
  }
  Chain chain(graph, node.inputs[0]);
  const ValueId mode = chain.reshape(node.inputs[2], {}), dy = outputs[0];
  const ValueId ratio =
      given(node, 1) ? chain.cast(chain.reshape(node.inputs[1], {})) : chain.scalar(0.5);
  const ValueId rest = chain.add(sub, {chain.scalar(1), ratio});
  const ValueId kept = chain.only_where(node.outputs[1], dy);
  gradients[0] = chain.add(where, {mode, chain.add(div, {kept, rest}), dy});
  return chain.finish(std::move(gradients));
}

}  // namespace shoal::ops
