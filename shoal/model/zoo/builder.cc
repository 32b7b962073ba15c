#include "shoal/model/zoo/builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shoal/base/math/random.h"
#include "shoal/model/ops/ops.h"

namespace shoal::zoo {
namespace {

// He's initialization: the standard deviation of weights that keeps the mean square of activations
// over a sum of `fan_in` terms, sqrt(2 / fan_in) behind a ReLU, which halves it.
double deviation(int64_t fan_in, After after) {
  return std::sqrt((after == After::kRelu ? 2.0 : 1.0) / static_cast<double>(fan_in));
}

constexpr float kBias = 0.125F;  // biases lie in [-kBias, kBias]

}  // namespace

int64_t Builder::wide(int64_t published) const {
  return std::max<int64_t>(1, std::llround(static_cast<double>(published) * options_.width));
}

// Sizes above the published one are refused: fully connected layers behind them would have weights
// that grow with the square of the size.
int64_t Builder::size(int64_t published) {
  if (options_.size >= 0 && options_.size <= published) {
    return options_.size == 0 ? published : options_.size;
  }
  if (status_.ok()) status_ = invalid("the size can be 1 to " + std::to_string(published));
  return published;
}

ValueId Builder::input(std::string name, std::initializer_list<int64_t> shape_of_one) {
  Shape shape{options_.batch};
  for (int64_t d : shape_of_one) shape.push_back(d);
  return input(std::move(name), shape);
}

ValueId Builder::image(std::string name, std::initializer_list<int64_t> before, int64_t published) {
  Shape shape{options_.batch};
  for (int64_t d : before) shape.push_back(d);
  for (int i = 0; i < 2; ++i) shape.push_back(size(published));
  return input(std::move(name), shape);
}

ValueId Builder::input(std::string name, const Shape& shape) {
  const TensorType type{DType::kF32, shape};
  if (status_.ok()) status_ = check(type).at(name);
  return graph_.add_input(std::move(name), type);
}

ValueId Builder::add(const Operator& op, std::vector<ValueId> inputs, Attributes attributes,
                     const std::string& name) {
  const ValueId first = inputs[0];  // returned if there is no output
  if (!status_.ok()) return first;
  auto outputs = graph_.add_node(op, std::move(inputs), std::move(attributes), {name}, name);
  if (outputs.ok()) return (*outputs)[0];
  status_ = outputs.status();
  return first;
}

ValueId Builder::apply(const Operator& op, ValueId x, std::string_view suffix,
                       Attributes attributes) {
  return add(op, {x}, std::move(attributes), name_of(x) + "." + std::string(suffix));
}

ValueId Builder::constant(std::string name, Tensor tensor) {
  return graph_.add_constant(std::move(name), std::move(tensor));
}

// Each tensor has its own stream, numbered in the order of creation, so adding a layer does not
// change the weights before it.
ValueId Builder::normal(std::string name, const Shape& shape, double deviation) {
  Tensor tensor({DType::kF32, shape});
  fill_normal(tensor.data<float>(), RandomStream(options_.seed, tensors_++), deviation);
  return constant(std::move(name), std::move(tensor));
}

ValueId Builder::uniform(std::string name, const Shape& shape, float low, float high) {
  Tensor tensor({DType::kF32, shape});
  fill_uniform(tensor.data<float>(), RandomStream(options_.seed, tensors_++), low, high);
  return constant(std::move(name), std::move(tensor));
}

ValueId Builder::conv(const std::string& name, ValueId x, const Convolution& layer) {
  if (!status_.ok()) return x;
  const size_t axes = shape_of(x).rank() - 2;
  const int64_t in_channels = shape_of(x)[1] / layer.groups;
  Shape shape{layer.filters, in_channels};
  for (size_t i = 0; i < axes; ++i) shape.push_back(layer.kernel);
  const int64_t fan_in = shape.count(1, shape.rank());
  std::vector<ValueId> inputs = {x,
                                 normal(name + ".weight", shape, deviation(fan_in, layer.after))};
  if (layer.bias) inputs.push_back(uniform(name + ".bias", {layer.filters}, -kBias, kBias));
  return add(ops::conv, std::move(inputs),
             {{"kernel_shape", std::vector(axes, layer.kernel)},
              {"strides", std::vector(axes, layer.stride)},
              {"pads", std::vector(2 * axes, layer.pad)},
              {"dilations", std::vector<int64_t>(axes, 1)},
              {"group", layer.groups}},
             name);
}

ValueId Builder::fc(const std::string& name, ValueId x, int64_t outputs, After after) {
  if (!status_.ok()) return x;
  const int64_t inputs = shape_of(x)[1];
  const ValueId weight = normal(name + ".weight", {outputs, inputs}, deviation(inputs, after));
  const ValueId bias = uniform(name + ".bias", {outputs}, -kBias, kBias);
  return add(ops::gemm, {x, weight, bias}, {{"transB", int64_t{1}}}, name);
}

ValueId Builder::linear(const std::string& name, ValueId x, int64_t outputs, After after) {
  if (!status_.ok()) return x;
  const int64_t inputs = shape_of(x)[shape_of(x).rank() - 1];
  const ValueId weight = normal(name + ".weight", {inputs, outputs}, deviation(inputs, after));
  const ValueId bias = uniform(name + ".bias", {outputs}, -kBias, kBias);
  // PyTorch exports the bias as the left operand.
  return add(ops::add, {bias, add(ops::mat_mul, {x, weight}, {}, name + ".product")}, {}, name);
}

ValueId Builder::batch_norm(ValueId x, float scale) {
  if (!status_.ok()) return x;
  const Shape channels{shape_of(x)[1]};
  const std::string name = name_of(x) + ".bn";
  // The mean of weight^2 / variance over these ranges is 0.94; the shifts add the remainder.
  const ValueId weight = uniform(name + ".weight", channels, 0.75F * scale, 1.25F * scale);
  const ValueId bias = uniform(name + ".bias", channels, -0.25F, 0.25F);
  const ValueId mean = uniform(name + ".running_mean", channels, -0.25F, 0.25F);
  const ValueId variance = uniform(name + ".running_var", channels, 0.75F, 1.5F);
  return add(ops::batch_normalization, {x, weight, bias, mean, variance}, {{"epsilon", 1e-5F}},
             name);
}

ValueId Builder::relu(ValueId x) { return apply(ops::relu, x, "relu"); }

ValueId Builder::relu6(ValueId x) {
  if (!status_.ok()) return x;
  const std::string name = name_of(x) + ".relu6";
  const ValueId low = constant(name + ".min", Tensor::of<float>({}, {0}));
  const ValueId high = constant(name + ".max", Tensor::of<float>({}, {6}));
  return add(ops::clip, {x, low, high}, {}, name);
}

ValueId Builder::leaky_relu(ValueId x, float slope) {
  return apply(ops::leaky_relu, x, "leaky_relu", {{"alpha", slope}});
}

ValueId Builder::tanh(ValueId x) { return apply(ops::tanh, x, "tanh"); }

ValueId Builder::max_pool(ValueId x, const Window& window, Attributes more) {
  more.insert({{"kernel_shape", window.kernel}, {"strides", window.strides}});
  if (!window.pads.empty()) more.insert({"pads", window.pads});
  return apply(ops::max_pool, x, "pool", std::move(more));
}

ValueId Builder::average_pool(ValueId x, const Window& window) {
  return apply(
      ops::average_pool, x, "pool",
      {{"kernel_shape", window.kernel}, {"strides", window.strides}, {"pads", window.pads}});
}

ValueId Builder::global_average_pool(ValueId x) {
  return apply(ops::global_average_pool, x, "pool");
}

ValueId Builder::flatten(ValueId x) {
  return apply(ops::flatten, x, "flat", {{"axis", int64_t{1}}});
}

ValueId Builder::softmax(ValueId x, int64_t axis) {
  return apply(ops::softmax, x, "softmax", {{"axis", axis}});
}

Result<Graph> Builder::finish(ValueId output) {
  if (!status_.ok()) return status_;
  graph_.rename(output, "output");
  graph_.mark_output(output);
  return std::move(graph_);
}

}  // namespace shoal::zoo
