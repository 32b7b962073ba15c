// GroupNormalization: y = scale * (x - mean) / sqrt(variance + epsilon) + bias, where mean and
// variance are those of one group of channels of one image. InstanceNormalization is the same with
// one channel per group. The gradient of the latter is in gradient_norm.cc; the former is
// differentiated through its expansion.
#include <algorithm>
#include <string>

#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/norm/moments.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

constexpr float kEpsilon = 1e-5f;

// The number of groups of the channels of x.
using GroupsOf = int64_t (*)(const Node&, const Shape& x);
int64_t declared_groups(const Node& node, const Shape&) { return node.integer("num_groups", 0); }
int64_t one_per_channel(const Node&, const Shape& x) { return x[1]; }

// Scale or bias has `count` elements.
Status require_vector(const Operand& operand, int64_t count) {
  if (operand.type.shape == Shape{count}) return {};
  return invalid("scale or bias has shape " + to_string(operand.type.shape) + ", should have " +
                 to_string(Shape{count}));
}

Status require_planes(std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  if (inputs[0].type.shape.rank() < 2) return invalid("the input has no channels");
  return {};
}

Result<std::vector<TensorType>> infer_instance(const Node&, std::span<const Operand> inputs) {
  SHOAL_TRY(require_planes(inputs));
  SHOAL_TRY(require_vector(inputs[1], inputs[0].type.shape[1]));
  SHOAL_TRY(require_vector(inputs[2], inputs[0].type.shape[1]));
  return std::vector{inputs[0].type};
}

// Scale and bias have one element per channel since opset 21, one per group in opset 18.
Result<std::vector<TensorType>> infer_group(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require_planes(inputs));
  const Shape& shape = inputs[0].type.shape;
  const int64_t channels = shape[1], groups = declared_groups(node, shape);
  if (groups < 1 || channels % groups != 0) {
    return invalid(std::to_string(channels) + " channels do not make " + std::to_string(groups) +
                   " groups");
  }
  const bool per_group = inputs[1].type.shape == Shape{groups};
  SHOAL_TRY(require_vector(inputs[1], per_group ? groups : channels));
  SHOAL_TRY(require_vector(inputs[2], per_group ? groups : channels));
  return std::vector{inputs[0].type};
}

// y = (x - mean) * factor + bias, a run of elements that share all three.
template <class T>
void scale_run(std::span<const T> x, double mean, double factor, double bias, T* y) {
  using C = Compute<T>;
  const auto m = static_cast<C>(mean), f = static_cast<C>(factor), b = static_cast<C>(bias);
  std::ranges::transform(x, y,
                         [=](T e) { return static_cast<T>((static_cast<C>(e) - m) * f + b); });
}

template <class T>
void normalize(std::span<const Tensor> inputs, int64_t groups, double epsilon, Tensor& output) {
  const Shape& shape = inputs[0].shape();
  if (shape.count() == 0) return;
  const int64_t channels = shape[1];
  const auto plane = static_cast<size_t>(shape.count(2, shape.rank()));
  const int64_t in_group = channels / groups;
  const int64_t per_scale = channels / inputs[1].shape()[0];  // channels that share a scale
  std::span<const T> x = inputs[0].data<T>();
  T* y = output.data<T>().data();
  for (int64_t group = 0; group < shape[0] * groups; ++group) {
    const Moments moments = moments_of(x.first(static_cast<size_t>(in_group) * plane));
    const double inverse = moments.inverse_deviation(epsilon);
    for (int64_t c = group * in_group; c < (group + 1) * in_group; ++c) {
      const auto parameter = static_cast<size_t>(c % channels / per_scale);
      const auto scale = static_cast<double>(inputs[1].data<T>()[parameter]);
      const auto bias = static_cast<double>(inputs[2].data<T>()[parameter]);
      scale_run(x.first(plane), moments.mean, scale * inverse, bias, y);
      x = x.subspan(plane);
      y += plane;
    }
  }
}

template <GroupsOf groups_of>
void reference_group_normalization(const Node& node, std::span<const Tensor> inputs,
                                   std::span<Tensor> outputs) {
  const int64_t groups = groups_of(node, inputs[0].shape());
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    normalize<T>(inputs, groups, node.real("epsilon", kEpsilon), outputs[0]);
  });
}

// Batch and groups are cut. Every element of a group depends on all others, so a group stays whole.
template <GroupsOf groups_of>
std::optional<Tile> split_group_normalization(const Node& node, std::span<const Operand> inputs,
                                              const Region& output) {
  const Shape& shape = inputs[0].type.shape;
  if (output.shape().count() == 0) return std::nullopt;
  const int64_t each = shape[1] / groups_of(node, shape);
  const int64_t first = output.begin[1] / each, last = (output.end[1] - 1) / each + 1;
  Region box = Region::whole(shape);
  box.begin[0] = output.begin[0];
  box.end[0] = output.end[0];
  box.begin[1] = first * each;
  box.end[1] = last * each;
  const int64_t per_scale = shape[1] / inputs[1].type.shape[0];
  const Region parameters{{box.begin[1] / per_scale}, {box.end[1] / per_scale}};
  Tile tile{{box, parameters, parameters}, box, node.attributes, {}};
  if (node.has("num_groups")) tile.attributes["num_groups"] = last - first;
  return tile;
}

// Groups stay or go as a whole.
std::optional<Settings> shrink_groups(const Node& node, std::span<const Operand> inputs,
                                      const Remainder& left) {
  const Shape& shape = inputs[0].type.shape;
  const int64_t each = shape[1] / declared_groups(node, shape);
  Settings settings{node.attributes, {}};
  settings.attributes["num_groups"] = std::ssize(left.inputs[0][1]) / each;
  return settings;
}

// A constant vector [value, value, ...] in the graph.
ValueId add_vector(Graph& graph, DType dtype, int64_t count, double value) {
  const std::vector<double> elements(static_cast<size_t>(count), value);
  return graph.add_constant("vector", converted(Tensor::of<double>({count}, elements), dtype));
}

ValueId add_dims(Graph& graph, const Shape& dims) {
  const std::vector<int64_t> elements(dims.begin(), dims.end());
  return graph.add_constant("shape",
                            Tensor::of<int64_t>({static_cast<int64_t>(dims.rank())}, elements));
}

// A vector over the channels, [c], shaped to broadcast over x: [1, c, 1, ...].
Result<ValueId> per_channel(Graph& graph, ValueId vector, const Shape& x) {
  Shape dims = Shape::filled(x.rank(), 1);
  dims[1] = x[1];
  return graph.add(reshape, {vector, add_dims(graph, dims)});
}

// An InstanceNormalization whose channels are the groups: x as [n, groups, everything else].
Result<std::vector<ValueId>> expand_node(const Node& node, std::span<const ValueId> inputs,
                                         Graph& graph) {
  const TensorType type = graph[inputs[0]].type;
  const Shape& shape = type.shape;
  const int64_t groups = declared_groups(node, shape);
  const bool per_group = graph[inputs[1]].type.shape[0] == groups;
  const ValueId scale = per_group ? inputs[1] : add_vector(graph, type.dtype, groups, 1);
  const ValueId bias = per_group ? inputs[2] : add_vector(graph, type.dtype, groups, 0);
  const Shape grouped{shape[0], groups, shape.count(1, shape.rank()) / groups};
  SHOAL_ASSIGN(ValueId y, graph.add(reshape, {inputs[0], add_dims(graph, grouped)}));
  SHOAL_ASSIGN(y, graph.add(instance_normalization, {y, scale, bias},
                            {{"epsilon", node.real("epsilon", kEpsilon)}}));
  SHOAL_ASSIGN(y, graph.add(reshape, {y, add_dims(graph, shape)}));
  if (per_group) return std::vector{y};
  SHOAL_ASSIGN(const ValueId factors, per_channel(graph, inputs[1], shape));
  SHOAL_ASSIGN(const ValueId shifts, per_channel(graph, inputs[2], shape));
  SHOAL_ASSIGN(y, graph.add(mul, {y, factors}));
  SHOAL_ASSIGN(y, graph.add(add, {y, shifts}));
  return std::vector{y};
}

}  // namespace

// ONNX has it from opset 18 on; here it is our own operator.
SHOAL_RECORD(group_normalization) = {.name = "GroupNormalization",
                                     .min_inputs = 3,
                                     .max_inputs = 3,
                                     .infer = infer_group,
                                     .reference = reference_group_normalization<declared_groups>,
                                     .split = split_group_normalization<declared_groups>,
                                     .shrink = shrink_groups,
                                     .in_place = true,
                                     .expand = expand_node};

SHOAL_RECORD(instance_normalization) = {.name = "InstanceNormalization",
                                        .min_inputs = 3,
                                        .max_inputs = 3,
                                        .infer = infer_instance,
                                        .reference = reference_group_normalization<one_per_channel>,
                                        .split = split_group_normalization<one_per_channel>,
                                        .in_place = true,
                                        .gradient = instance_normalization_gradient};

}  // namespace shoal::ops
