// QGemm, our own operator: y = a b' + bias of quantised matrices with 32-bit sums, where '
// transposes if transB says so. b has one scale and zero point, or one per column of the product.
// Without y_scale and y_zero_point the result is real, sum * a_scale * b_scale. With them it is
// quantised and clamped to [low, high].
#include <algorithm>
#include <array>

#include "shoal/base/checked.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/quantized/quantize.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

constexpr size_t kA = 0, kAScale = 1, kAZeroPoint = 2, kB = 3, kBScale = 4, kBZeroPoint = 5;
constexpr size_t kBias = 6, kYScale = 7, kYZeroPoint = 8;

bool is_given(std::span<const Operand> inputs, size_t i) {
  return i < inputs.size() && inputs[i].given;
}

struct Sizes {
  int64_t m, n, k;
};

Sizes sizes_of(const Node& node, const Shape& a, const Shape& b) {
  return {a[0], b[node.integer("transB", 0) != 0 ? 0 : 1], a[1]};
}

Status require_one_or_per_column(const Operand& parameter, int64_t columns) {
  if (parameter.type.shape.count() == 1 || parameter.type.shape == Shape{columns}) return {};
  return invalid("a parameter of b has shape " + to_string(parameter.type.shape) +
                 ", should be a scalar or have " + to_string(Shape{columns}));
}

Result<Sizes> require_sizes(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require_rank(inputs[kA], 2));
  SHOAL_TRY(require_rank(inputs[kB], 2));
  const Shape &a = inputs[kA].type.shape, &b = inputs[kB].type.shape;
  if (a[1] == b[node.integer("transB", 0) != 0 ? 1 : 0]) return sizes_of(node, a, b);
  return invalid("matrices " + to_string(a) + " and " + to_string(b) + " do not multiply");
}

Result<std::vector<TensorType>> infer_q_gemm(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Bytes>(inputs[kA]));
  SHOAL_TRY(require<Bytes>(inputs[kB]));
  SHOAL_ASSIGN(const Sizes sizes, require_sizes(node, inputs));
  SHOAL_TRY(require_quantization(inputs[kAScale], inputs[kAZeroPoint], inputs[kA].type.dtype));
  SHOAL_TRY(require<Types<float>>(inputs[kBScale]));
  SHOAL_TRY(require_same_type(std::array{inputs[kB], inputs[kBZeroPoint]}));
  for (size_t i : {kBScale, kBZeroPoint}) {
    SHOAL_TRY(require_one_or_per_column(inputs[i], sizes.n));
  }
  if (is_given(inputs, kBias)) {
    SHOAL_TRY(require<Types<int32_t>>(inputs[kBias]));
    if (inputs[kBias].type.shape != Shape{sizes.n})
      return invalid("the bias is not one per column");
  }
  const bool is_quantized = is_given(inputs, kYScale);
  if (is_quantized != is_given(inputs, kYZeroPoint)) {
    return invalid("of y_scale and y_zero_point only one is given");
  }
  const Shape shape{sizes.m, sizes.n};
  if (!is_quantized) return std::vector{TensorType{DType::kF32, shape}};
  const DType dtype = inputs[kYZeroPoint].type.dtype;
  SHOAL_TRY(require<Bytes>(inputs[kYZeroPoint]));
  SHOAL_TRY(require_quantization(inputs[kYScale], inputs[kYZeroPoint], dtype));
  SHOAL_TRY(require_bounds(node, dtype));
  return std::vector{TensorType{dtype, shape}};
}

template <class T>
T column_of(std::span<const T> parameters, int64_t column) {
  return parameters[parameters.size() == 1 ? 0 : static_cast<size_t>(column)];
}

// Calls finish(column, sum, element of y) for every element.
template <class A, class B, class Finish>
void multiply(const Node& node, std::span<const Tensor> inputs, Finish finish) {
  const Sizes size = sizes_of(node, inputs[kA].shape(), inputs[kB].shape());
  const bool across = node.integer("transB", 0) == 0;
  const Tensor b_zeros = converted(inputs[kBZeroPoint], DType::kI32);
  const int32_t a_zero = zero_point_of(inputs[kAZeroPoint]);
  const A* a = inputs[kA].data<A>().data();
  const B* b = inputs[kB].data<B>().data();
  const int32_t* bias = inputs.size() > kBias && inputs[kBias].defined()
                            ? inputs[kBias].data<int32_t>().data()
                            : nullptr;
  for (int64_t i = 0; i < size.m; ++i) {
    for (int64_t j = 0; j < size.n; ++j) {
      const int32_t b_zero = column_of(b_zeros.data<int32_t>(), j);
      // Unsigned: sums wrap, as in MatMulInteger.
      uint32_t sum = bias != nullptr ? static_cast<uint32_t>(bias[j]) : 0;
      for (int64_t p = 0; p < size.k; ++p) {
        const B right = b[across ? p * size.n + j : j * size.k + p];
        sum += static_cast<uint32_t>((a[i * size.k + p] - a_zero) * (right - b_zero));
      }
      finish(j, static_cast<float>(static_cast<int32_t>(sum)), static_cast<size_t>(i * size.n + j));
    }
  }
}

template <class Finish>
void multiply(const Node& node, std::span<const Tensor> inputs, Finish finish) {
  visit<Bytes>(inputs[kA].dtype(), [&]<class A>() {
    visit<Bytes>(inputs[kB].dtype(), [&]<class B>() { multiply<A, B>(node, inputs, finish); });
  });
}

void reference_q_gemm(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const float a_scale = scale_of(inputs[kAScale]);
  const auto b_scales = inputs[kBScale].data<float>();
  if (outputs[0].dtype() == DType::kF32) {
    const auto y = outputs[0].data<float>();
    return multiply(node, inputs, [&](int64_t column, float sum, size_t at) {
      y[at] = sum * (a_scale * column_of(b_scales, column));
    });
  }
  const float y_scale = scale_of(inputs[kYScale]);
  const int32_t y_zero = zero_point_of(inputs[kYZeroPoint]);
  visit<Bytes>(outputs[0].dtype(), [&]<class Y>() {
    const auto y = outputs[0].data<Y>();
    multiply(node, inputs, [&](int64_t column, float sum, size_t at) {
      y[at] = quantize<Y>(sum * (a_scale * column_of(b_scales, column) / y_scale), y_zero);
    });
  });
  apply(bounds_of(node, outputs[0].dtype()), outputs[0]);
}

std::optional<Tile> split_q_gemm(const Node& node, std::span<const Operand> inputs,
                                 const Region& output) {
  Tile tile{{}, output, node.attributes, {}};
  for (const Operand& input : inputs) {
    // Vectors of more than one element belong to the columns of b, so they are cut with them.
    const bool per_column = input.given && input.type.shape.rank() == 1 && input.type.shape[0] != 1;
    tile.inputs.push_back(per_column ? Region{{output.begin[1]}, {output.end[1]}}
                                     : Region::whole(input.type.shape));
  }
  const size_t column = node.integer("transB", 0) != 0 ? 0 : 1;
  tile.inputs[kA].begin[0] = output.begin[0];
  tile.inputs[kA].end[0] = output.end[0];
  tile.inputs[kB].begin[column] = output.begin[1];
  tile.inputs[kB].end[column] = output.end[1];
  return tile;
}

int64_t macs_of_q_gemm(const Node& node, std::span<const Operand> inputs,
                       std::span<const TensorType>) {
  const Sizes size = sizes_of(node, inputs[kA].type.shape, inputs[kB].type.shape);
  return (Checked(size.m) * size.n * size.k).value();
}

// Every step is an ONNX operator whose rounding is specified, so the expansion gives the same
// integers.
Result<std::vector<ValueId>> expand_gemm(const Node& node, std::span<const ValueId> inputs,
                                         Graph& graph) {
  const auto given = [&](size_t i) { return i < inputs.size() && inputs[i] != kNoValue; };
  ValueId b = inputs[kB];
  if (node.integer("transB", 0) != 0) {
    SHOAL_ASSIGN(b, graph.add(transpose, {b}));
  }
  SHOAL_ASSIGN(ValueId y, graph.add(mat_mul_integer,
                                    {inputs[kA], b, inputs[kAZeroPoint], inputs[kBZeroPoint]}));
  if (given(kBias)) {
    SHOAL_ASSIGN(y, graph.add(add, {y, inputs[kBias]}));
  }
  SHOAL_ASSIGN(ValueId scale, graph.add(mul, {inputs[kAScale], inputs[kBScale]}));
  if (!given(kYScale)) {
    SHOAL_ASSIGN(y, append_scaled(y, scale, graph));
    return std::vector{y};
  }
  SHOAL_ASSIGN(scale, graph.add(div, {scale, inputs[kYScale]}));
  SHOAL_ASSIGN(y, append_requantize(y, scale, inputs[kYZeroPoint], graph));
  SHOAL_ASSIGN(y, append(bounds_of(node, graph[y].type.dtype), y, graph));
  return std::vector{y};
}

}  // namespace

SHOAL_RECORD(q_gemm) = {.name = "QGemm",
                        .min_inputs = 6,
                        .max_inputs = 9,
                        .infer = infer_q_gemm,
                        .reference = reference_q_gemm,
                        .split = split_q_gemm,
                        .macs = macs_of_q_gemm,
                        .expand = expand_gemm};

}  // namespace shoal::ops
