// QuantizeLinear: y = saturate(round(x / scale) + zero_point), and DequantizeLinear: y = (x -
// zero_point) * scale. Scale and zero point are one for all elements or one per index of `axis`.
// Without a zero point it is 0, and QuantizeLinear gives u8.
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/quantized/quantize.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

using Reals = Types<float, double, Half, BFloat16, int32_t>;
using Quantized = Types<int8_t, uint8_t, int16_t, uint16_t>;
using Dequantized = Types<int8_t, uint8_t, int16_t, uint16_t, int32_t>;

bool has_zero_point(std::span<const Operand> inputs) {
  return inputs.size() > 2 && inputs[2].given;
}

// The scale and the zero point have the same shape: one element, or one per index of `axis`.
Status require_parameters(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[1]));
  const Shape& x = inputs[0].type.shape;
  const Shape& scale = inputs[1].type.shape;
  if (scale.count() != 1) {
    SHOAL_ASSIGN(const size_t axis, require_axis(node.integer("axis", 1), x.rank()));
    if (scale != Shape{x[axis]}) {
      return invalid("the scale has shape " + to_string(scale) + ", should be a scalar or have " +
                     to_string(Shape{x[axis]}));
    }
  }
  if (has_zero_point(inputs) && inputs[2].type.shape.count() != scale.count()) {
    return invalid("the zero point has shape " + to_string(inputs[2].type.shape) +
                   ", the scale has " + to_string(scale));
  }
  return {};
}

Result<std::vector<TensorType>> infer_quantize(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Reals>(inputs[0]));
  SHOAL_TRY(require_parameters(node, inputs));
  DType dtype = DType::kU8;
  if (has_zero_point(inputs)) {
    SHOAL_TRY(require<Quantized>(inputs[2]));
    dtype = inputs[2].type.dtype;
  }
  return std::vector{TensorType{dtype, inputs[0].type.shape}};
}

Result<std::vector<TensorType>> infer_dequantize(const Node& node,
                                                 std::span<const Operand> inputs) {
  SHOAL_TRY(require<Dequantized>(inputs[0]));
  SHOAL_TRY(require_parameters(node, inputs));
  if (has_zero_point(inputs) && inputs[2].type.dtype != inputs[0].type.dtype) {
    return invalid("the zero point has another element type than the input");
  }
  return std::vector{TensorType{inputs[1].type.dtype, inputs[0].type.shape}};
}

// The parameters as f32 and i32, and x as [outer, lines, inner] with one scale and zero point per
// line.
struct Lines {
  Lines(const Node& node, std::span<const Tensor> inputs)
      : scales(converted(inputs[1], DType::kF32)),
        zero_points(inputs.size() > 2 && inputs[2].defined()
                        ? converted(inputs[2], DType::kI32)
                        : Tensor({DType::kI32, inputs[1].shape()})) {
    const Shape& x = inputs[0].shape();
    inner = x.count();
    if (scales.count() == 1) return;
    const size_t axis = axis_in(node.integer("axis", 1), x.rank());
    outer = x.count(0, axis);
    inner = x.count(axis + 1, x.rank());
  }

  // Calls f(first element, elements, scale, zero point) for every run that shares its parameters.
  template <class F>
  void for_each(F f) const {
    const size_t lines = scales.data<float>().size();
    const auto length = static_cast<size_t>(inner);
    for (size_t run = 0; run < static_cast<size_t>(outer) * lines; ++run) {
      f(run * length, length, scales.data<float>()[run % lines],
        zero_points.data<int32_t>()[run % lines]);
    }
  }

  Tensor scales, zero_points;
  int64_t outer = 1, inner = 1;
};

void quantize_all(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Lines lines(node, inputs);
  visit<Reals>(inputs[0].dtype(), [&]<class T>() {
    visit<Quantized>(outputs[0].dtype(), [&]<class Q>() {
      lines.for_each([&](size_t first, size_t n, float scale, int32_t zero_point) {
        std::ranges::transform(
            inputs[0].data<T>().subspan(first, n), outputs[0].data<Q>().subspan(first, n).begin(),
            [=](T x) { return quantize<Q>(convert<float>(x) / scale, zero_point); });
      });
    });
  });
}

void dequantize_all(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Lines lines(node, inputs);
  visit<Dequantized>(inputs[0].dtype(), [&]<class Q>() {
    visit<Floats>(outputs[0].dtype(), [&]<class T>() {
      lines.for_each([&](size_t first, size_t n, float scale, int32_t zero_point) {
        std::ranges::transform(
            inputs[0].data<Q>().subspan(first, n), outputs[0].data<T>().subspan(first, n).begin(),
            [=](Q q) { return convert<T>(static_cast<float>(int64_t{q} - zero_point) * scale); });
      });
    });
  });
}

// Element-wise in x; parameters per axis are cut with that axis.
std::optional<Tile> split_quantize_linear(const Node& node, std::span<const Operand> inputs,
                                          const Region& output) {
  const Shape& x = inputs[0].type.shape;
  Tile tile{{output}, output, node.attributes, {}};
  for (const Operand& parameter : inputs.subspan(1)) {
    Region part = Region::whole(parameter.type.shape);
    if (parameter.type.shape.count() != 1) {
      const size_t axis = axis_in(node.integer("axis", 1), x.rank());
      part = {{output.begin[axis]}, {output.end[axis]}};
    }
    tile.inputs.push_back(part);
  }
  return tile;
}

}  // namespace

SHOAL_RECORD(dequantize_linear) = {.name = "DequantizeLinear",
                                   .min_inputs = 2,
                                   .max_inputs = 3,
                                   .statistic_inputs = 1 << 1,  // the scale
                                   .infer = infer_dequantize,
                                   .reference = dequantize_all,
                                   .split = split_quantize_linear};

SHOAL_RECORD(quantize_linear) = {.name = "QuantizeLinear",
                                 .min_inputs = 2,
                                 .max_inputs = 3,
                                 .statistic_inputs = 1 << 1,  // the scale
                                 .infer = infer_quantize,
                                 .reference = quantize_all,
                                 .split = split_quantize_linear};

}  // namespace shoal::ops
