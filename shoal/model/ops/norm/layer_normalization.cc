// LayerNormalization: y = scale * (x - mean) / sqrt(variance + epsilon) + bias, where mean and
// variance are those of the axes from `axis` on: of one row, if x is seen as [rows, row]. Outputs 1
// and 2, if requested, are the mean and 1 / sqrt(variance + epsilon) of every row. The gradient is
// in gradient_norm.cc.
//
// RMSNormalization: y = scale * x / sqrt(mean(x^2) + epsilon), the same around 0 instead of the
// mean. ONNX has it from opset 23 on; here it is our own operator, and is differentiated through
// its expansion.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/norm/moments.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

constexpr float kEpsilon = 1e-5f;
constexpr int64_t kOnnxFloat = 1, kOnnxBFloat16 = 16;  // values of stash_type

size_t axis_of(const Node& node, const Shape& shape) {
  return axis_in(node.integer("axis", -1), shape.rank());
}

// ONNX lets scale and bias broadcast to x; usually they have the shape of a row.
Status require_stretches(const Operand& operand, const Shape& to) {
  if (!operand.given) return {};
  SHOAL_ASSIGN(const Shape all, broadcast(std::vector{to, operand.type.shape}));
  return all == to ? Status()
                   : invalid("scale or bias of shape " + to_string(operand.type.shape) +
                             " does not broadcast to the input");
}

Result<std::vector<TensorType>> infer_layer_normalization(const Node& node,
                                                          std::span<const Operand> inputs) {
  const Shape& shape = inputs[0].type.shape;
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  SHOAL_ASSIGN(const size_t axis, require_axis(node.integer("axis", -1), shape.rank()));
  for (const Operand& parameter : inputs.subspan(1)) {
    SHOAL_TRY(require_stretches(parameter, shape));
  }
  const int64_t stash = node.integer("stash_type", kOnnxFloat);
  if (stash != kOnnxFloat && stash != kOnnxBFloat16) {
    return invalid("stash_type " + std::to_string(stash) + " is neither float nor bfloat16");
  }
  TensorType statistic{stash == kOnnxFloat ? DType::kF32 : DType::kBF16, shape};
  std::fill(statistic.shape.begin() + axis, statistic.shape.end(), 1);
  std::vector<TensorType> types(node.outputs.size(), statistic);
  types[0] = inputs[0].type;
  return types;
}

// Mean and inverse deviation of every row.
struct Rows {
  std::vector<double> mean, inverse;
};

enum class Around { kMean, kZero };

template <Around around, class T>
Rows rows_of(const Tensor& input, int64_t rows, double epsilon) {
  std::span<const T> x = input.data<T>();
  const size_t row = rows == 0 ? 0 : x.size() / static_cast<size_t>(rows);
  Rows result;
  for (int64_t i = 0; i < rows; ++i, x = x.subspan(row)) {
    const Moments moments =
        around == Around::kMean ? moments_of(x.first(row)) : moments_around_zero(x.first(row));
    result.mean.push_back(moments.mean);
    result.inverse.push_back(moments.inverse_deviation(epsilon));
  }
  return result;
}

template <class T>
void normalize(std::span<const Tensor> inputs, const Rows& rows, Tensor& output) {
  using C = Compute<T>;
  const Shape& shape = output.shape();
  const bool has_bias = inputs.size() > 2 && inputs[2].defined();
  const std::array strides = {
      strides_of(shape), broadcast_strides(inputs[1].shape(), shape),
      has_bias ? broadcast_strides(inputs[2].shape(), shape) : Shape::filled(shape.rank(), 0)};
  const T zero{};
  const T* x = inputs[0].data<T>().data();
  const T* scale = inputs[1].data<T>().data();
  const T* bias = has_bias ? inputs[2].data<T>().data() : &zero;
  T* y = output.data<T>().data();
  const int64_t row = shape.count() / std::max<int64_t>(std::ssize(rows.mean), 1);
  for_each_run(shape, strides, [&](auto at, auto step, int64_t n) {
    const auto r = static_cast<size_t>(at[0] / row);  // a run never leaves its row
    const auto mean = static_cast<C>(rows.mean[r]), inverse = static_cast<C>(rows.inverse[r]);
    for (int64_t k = 0; k < n; ++k) {
      const C normal = (static_cast<C>(x[at[0] + k]) - mean) * inverse;
      y[at[0] + k] = static_cast<T>(normal * static_cast<C>(scale[at[1] + k * step[1]]) +
                                    static_cast<C>(bias[at[2] + k * step[2]]));
    }
  });
}

void store(std::span<const double> from, Tensor& to) {
  visit<Floats>(to.dtype(), [&]<class T>() {
    std::ranges::transform(from, to.data<T>().begin(),
                           [](double x) { return static_cast<T>(static_cast<Compute<T>>(x)); });
  });
}

template <Around around>
void reference_layer_normalization(const Node& node, std::span<const Tensor> inputs,
                                   std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const int64_t count = shape.count(0, axis_of(node, shape));
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    const Rows rows = rows_of<around, T>(inputs[0], count, node.real("epsilon", kEpsilon));
    normalize<T>(inputs, rows, outputs[0]);
    if (outputs.size() > 1) store(rows.mean, outputs[1]);
    if (outputs.size() > 2) store(rows.inverse, outputs[2]);
  });
}

// Tiles have whole rows. Statistics as outputs are not split: the region asked for is one of output
// 0 only.
std::optional<Tile> split_layer_normalization(const Node& node, std::span<const Operand> inputs,
                                              const Region& output) {
  if (node.outputs.size() > 1) return std::nullopt;
  const Shape& shape = inputs[0].type.shape;
  Region rows = output;
  for (size_t d = axis_of(node, shape); d < shape.rank(); ++d) {
    rows.begin[d] = 0;
    rows.end[d] = shape[d];
  }
  Tile tile{{rows}, rows, node.attributes, {}};
  for (const Operand& parameter : inputs.subspan(1)) {
    tile.inputs.push_back(parameter.given ? broadcast_region(parameter.type.shape, rows)
                                          : Region{});
  }
  return tile;
}

Result<ValueId> cast_to(Graph& graph, ValueId x, DType dtype) {
  if (graph[x].type.dtype == dtype) return x;
  return graph.add(cast, {x}, {{"to", onnx_number_of(dtype)}});
}

// In f32 at least: the square of a 16-bit float may be too large for one.
Result<std::vector<ValueId>> expand_rms(const Node& node, std::span<const ValueId> inputs,
                                        Graph& graph) {
  const TensorType type = graph[inputs[0]].type;
  const DType wide = type.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  std::vector<int64_t> axes(type.shape.rank() - axis_of(node, type.shape));
  std::iota(axes.begin(), axes.end(), -std::ssize(axes));
  const Tensor epsilon = Tensor::of<float>({}, {node.real("epsilon", kEpsilon)});
  SHOAL_ASSIGN(const ValueId x, cast_to(graph, inputs[0], wide));
  SHOAL_ASSIGN(const ValueId scale, cast_to(graph, inputs[1], wide));
  SHOAL_ASSIGN(ValueId y, graph.add(mul, {x, x}));
  SHOAL_ASSIGN(y, graph.add(reduce_mean, {y}, {{"axes", std::move(axes)}}));
  SHOAL_ASSIGN(y, graph.add(add, {y, graph.add_constant("epsilon", converted(epsilon, wide))}));
  SHOAL_ASSIGN(y, graph.add(sqrt, {y}));
  SHOAL_ASSIGN(y, graph.add(div, {x, y}));
  SHOAL_ASSIGN(y, graph.add(mul, {y, scale}));
  SHOAL_ASSIGN(y, cast_to(graph, y, type.dtype));
  return std::vector{y};
}

}  // namespace

SHOAL_RECORD(layer_normalization) = {.name = "LayerNormalization",
                                     .min_inputs = 2,
                                     .max_inputs = 3,
                                     .max_outputs = 3,
                                     .infer = infer_layer_normalization,
                                     .reference = reference_layer_normalization<Around::kMean>,
                                     .split = split_layer_normalization,
                                     .in_place = true,
                                     .gradient = layer_normalization_gradient};

SHOAL_RECORD(rms_normalization) = {.name = "RMSNormalization",
                                   .min_inputs = 2,
                                   .max_inputs = 2,
                                   .infer = infer_layer_normalization,
                                   .reference = reference_layer_normalization<Around::kZero>,
                                   .split = split_layer_normalization,
                                   .in_place = true,
                                   .expand = expand_rms};

}  // namespace shoal::ops
