// Gradients of normalizations: y = scale * n + bias, where n = (x - mean) / deviation and deviation
// = sqrt(variance + epsilon). With dn = dy * scale,
//   dbias  = sum(dy)
//   dscale = sum(dy * n)
//   dx     = dn / deviation                                     if mean and variance are inputs
//   dx     = (dn - mean(dn) - n * mean(dn * n)) / deviation     if they are measured on x
#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

using Gradients = Result<std::vector<ValueId>>;
using Ints = std::vector<int64_t>;

constexpr float kEpsilon = 1e-5f;

class Normalization : public Chain {
 public:
  Normalization(const Node& node, Graph& graph)
      : Chain(graph, node.inputs[0]),
        x_(node.inputs[0]),
        epsilon_(node.real("epsilon", kEpsilon)) {}

  void use(ValueId middle, ValueId variance) {
    inverse_ = add(reciprocal, {add(sqrt, {add(ops::add, {variance, scalar(epsilon_)})})});
    n = add(mul, {add(sub, {x_, middle}), inverse_});
  }
  void measure(Ints axes) {
    measured_ = true;
    axes_ = std::move(axes);
    const ValueId middle = mean_of(x_), centred = add(sub, {x_, middle});
    use(middle, mean_of(add(mul, {centred, centred})));
  }

  // dx from dn, by the formula for given or for measured statistics.
  ValueId dx(ValueId dn) {
    if (!measured_) return add(mul, {dn, inverse_});
    const ValueId along = add(mul, {n, mean_of(add(mul, {dn, n}))});
    const ValueId moved = add(sub, {add(sub, {dn, mean_of(dn)}), along});
    return add(mul, {moved, inverse_});
  }

  ValueId n = kNoValue;

 private:
  // A list without axes (x has no spatial axes) would make ReduceMean take them all.
  ValueId mean_of(ValueId value) {
    return axes_.empty() ? value : add(reduce_mean, {value}, {{"axes", axes_}});
  }

  ValueId x_;
  double epsilon_;
  ValueId inverse_ = kNoValue;
  bool measured_ = false;
  Ints axes_;  // that mean and variance are measured along
};

Ints axes_from(size_t first, size_t rank) {
  Ints axes;
  for (size_t d = first; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  return axes;
}

// One element per channel, in a shape that stretches to [n, c, spatial...]; a vector is one
// channel.
Shape channels_of(const Shape& x) {
  Shape shape = Shape::filled(x.rank(), 1);
  if (x.rank() > 1) shape[1] = x[1];
  return shape;
}

// Gradients of x, scale and bias. `scale` is in the shape that stretches to x. REQUIRES: n is set.
Gradients finish_scaled(Normalization& chain, const Node& node, ValueId scale, ValueId dy) {
  const Shape wide = chain.shape_of(scale);
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  gradients[0] = chain.dx(chain.add(mul, {dy, scale}));
  const ValueId dscale = chain.sum_to(chain.add(mul, {dy, chain.n}), wide);
  gradients[1] = chain.reshape(dscale, chain.shape_of(node.inputs[1]));
  if (node.inputs.size() > 2 && node.inputs[2] != kNoValue) {
    const Shape bias = chain.shape_of(node.inputs[2]);
    const bool per_channel = bias == chain.shape_of(node.inputs[1]);
    gradients[2] = chain.reshape(chain.sum_to(dy, per_channel ? wide : bias), bias);
  }
  return chain.finish(std::move(gradients));
}

// Running statistics are not learned, so a model has no reason to differentiate through them.
Status only_output_0(const Node& node, std::span<const ValueId> outputs) {
  for (ValueId dy : outputs.subspan(1)) {
    if (dy == kNoValue) continue;
    return Status(Code::kUnsupported,
                  std::string(node.op->name) + " has no gradient through its statistics");
  }
  return {};
}

}  // namespace

Gradients expand_batch_normalization_backward(const Node& node, std::span<const ValueId> inputs,
                                              Graph& graph) {
  // The node in training, as far as its gradients depend on it. Scale stands in for the bias, which
  // has the same type.
  const Node forward{
      &batch_normalization, {inputs[0], inputs[1], inputs[1]}, {}, node.attributes, {}};
  Normalization chain(forward, graph);
  const Shape x = chain.shape_of(inputs[0]);
  Ints axes{0};
  for (size_t d = 2; d < x.rank(); ++d) axes.push_back(static_cast<int64_t>(d));
  chain.measure(std::move(axes));
  SHOAL_ASSIGN(std::vector<ValueId> gradients,
               finish_scaled(chain, forward, chain.reshape(inputs[1], channels_of(x)), inputs[2]));
  gradients.resize(node.outputs.size());
  return gradients;
}

Gradients batch_normalization_gradient(const Node& node, std::span<const ValueId> outputs,
                                       Graph& graph) {
  SHOAL_TRY(only_output_0(node, outputs));
  Normalization chain(node, graph);
  const Shape wide = channels_of(chain.shape_of(node.inputs[0]));
  if (node.integer("training_mode", 0) != 0) {
    std::vector<ValueId> gradients =
        chain.add_all(batch_normalization_backward, {node.inputs[0], node.inputs[1], outputs[0]},
                      {{"epsilon", node.real("epsilon", kEpsilon)}}, 3);
    gradients.resize(node.inputs.size(), kNoValue);
    return chain.finish(std::move(gradients));
  }
  const ValueId middle = chain.cast(chain.reshape(node.inputs[3], wide));
  chain.use(middle, chain.cast(chain.reshape(node.inputs[4], wide)));
  return finish_scaled(chain, node, chain.reshape(node.inputs[1], wide), outputs[0]);
}

Gradients instance_normalization_gradient(const Node& node, std::span<const ValueId> outputs,
                                          Graph& graph) {
  Normalization chain(node, graph);
  const Shape x = chain.shape_of(node.inputs[0]);
  chain.measure(axes_from(2, x.rank()));
  const ValueId scale = chain.reshape(node.inputs[1], channels_of(x));
  return finish_scaled(chain, node, scale, outputs[0]);
}

Gradients layer_normalization_gradient(const Node& node, std::span<const ValueId> outputs,
                                       Graph& graph) {
  SHOAL_TRY(only_output_0(node, outputs));
  Normalization chain(node, graph);
  const Shape x = chain.shape_of(node.inputs[0]);
  chain.measure(axes_from(axis_in(node.integer("axis", -1), x.rank()), x.rank()));
  return finish_scaled(chain, node, node.inputs[1], outputs[0]);
}

}  // namespace shoal::ops
