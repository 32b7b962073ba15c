// DFT: y_k = sum_t x_t exp(-2 pi i k t / n) along one axis of [..., signal, ..., 1 or 2], where the
// last axis holds the real and, if it is there, the imaginary part. The signal is cut or padded
// with zeros to dft_length. With onesided only k <= n / 2 is given: the others are conjugates of
// those.
#include <algorithm>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"
#include "shoal/model/ops/signal/fourier.h"

namespace shoal::ops {
namespace {

size_t axis_of(const Node& node, const Shape& shape) {
  return axis_in(node.integer("axis", 1), shape.rank());
}

// The length becomes a plan and a buffer, so it is bounded even though it is only a number in the
// file.
Result<int64_t> length_of(const Node& node, std::span<const Operand> inputs) {
  if (inputs.size() > 1 && inputs[1].given) return require_length(inputs[1], "dft_length");
  const Shape& shape = inputs[0].type.shape;
  return require_length(shape[axis_of(node, shape)], "the length of the signal");
}

Result<std::vector<TensorType>> infer_dft(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  const Shape& shape = inputs[0].type.shape;
  const size_t rank = shape.rank();
  SHOAL_ASSIGN(size_t axis, require_axis(node.integer("axis", 1), rank));
  if (axis + 1 == rank || (shape[rank - 1] != 1 && shape[rank - 1] != 2)) {
    return invalid("needs the real and imaginary part in a last axis of 1 or 2");
  }
  const bool onesided = node.integer("onesided", 0) != 0;
  if (onesided && (shape[rank - 1] == 2 || node.integer("inverse", 0) != 0)) {
    return Status(Code::kUnsupported, "onesided is only for real input, and not inverse");
  }
  SHOAL_ASSIGN(int64_t length, length_of(node, inputs));
  Shape output = shape;
  output[axis] = frequencies(length, onesided);
  output[rank - 1] = 2;
  return std::vector{TensorType{inputs[0].type.dtype, output}};
}

// A tensor seen as [outer, length, inner, parts].
template <class T>
void transform(const Node& node, const Tensor& x, int64_t length, Tensor& y) {
  const Shape &in = x.shape(), &out = y.shape();
  const size_t axis = axis_of(node, in), last = in.rank() - 1;
  const int64_t outer = in.count(0, axis), inner = in.count(axis + 1, last), parts = in[last];
  const int64_t copied = std::min(length, in[axis]);
  const bool inverse = node.integer("inverse", 0) != 0;
  Fourier fourier(static_cast<size_t>(length));
  std::vector<Complex> line;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const T* from = x.data<T>().data() + (o * in[axis] * inner + i) * parts;
      line.assign(static_cast<size_t>(length), 0);
      for (int64_t t = 0; t < copied; ++t, from += inner * parts) {
        line[static_cast<size_t>(t)] = {static_cast<double>(from[0]),
                                        parts == 2 ? static_cast<double>(from[1]) : 0};
      }
      fourier.transform(line, inverse);
      T* to = y.data<T>().data() + (o * out[axis] * inner + i) * 2;
      for (int64_t k = 0; k < out[axis]; ++k, to += inner * 2) {
        to[0] = convert<T>(line[static_cast<size_t>(k)].real());
        to[1] = convert<T>(line[static_cast<size_t>(k)].imag());
      }
    }
  }
}

void reference_dft(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const bool given = inputs.size() > 1 && inputs[1].defined();
  const Shape& shape = inputs[0].shape();
  const int64_t length = given ? to_ints(inputs[1])[0] : shape[axis_of(node, shape)];
  visit<Floats>(inputs[0].dtype(),
                [&]<class T>() { transform<T>(node, inputs[0], length, outputs[0]); });
}

// Lines are independent, and each stays whole.
std::optional<Tile> split_dft(const Node& node, std::span<const Operand> inputs,
                              const Region& output) {
  auto types = node.op->infer(node, inputs);
  if (!types.ok()) return std::nullopt;
  const Shape &in = inputs[0].type.shape, &out = (*types)[0].shape;
  Region x = output, y = output;
  for (size_t d : {axis_of(node, in), in.rank() - 1}) {
    x.begin[d] = y.begin[d] = 0;
    x.end[d] = in[d];
    y.end[d] = out[d];
  }
  Tile tile{{x}, y, node.attributes, {}};
  if (inputs.size() > 1) tile.inputs.push_back(Region::whole(inputs[1].type.shape));
  return tile;
}

// x, cut or padded with zeros to this length.
ValueId fitted(Chain& chain, ValueId x, size_t axis, int64_t length) {
  const Shape shape = chain.shape_of(x);
  if (shape[axis] < length) {
    std::vector<int64_t> pads(2 * shape.rank(), 0);
    pads[shape.rank() + axis] = length - shape[axis];
    return chain.add(pad_, {x, chain.list(pads)});
  }
  const auto list = [&](int64_t element) { return chain.list(std::span(&element, 1)); };
  return chain.add(slice, {x, list(0), list(length), list(static_cast<int64_t>(axis))});
}

// The gradient of y = F x is dx = F^H dy. F is symmetric, so F^H is the conjugate of F, which is
// the transform in the other direction, times n: only the inverse divides by n.
Result<std::vector<ValueId>> gradient(const Node& node, std::span<const ValueId> outputs,
                                      Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const Shape shape = chain.shape_of(node.inputs[0]);
  const size_t axis = axis_of(node, shape), last = shape.rank() - 1;
  SHOAL_ASSIGN(const int64_t length, length_of(node, graph.operands(node.inputs)));
  const bool inverse = node.integer("inverse", 0) != 0;
  const auto factor = static_cast<double>(length);
  const ValueId lengths = chain.constant(Tensor::of<int64_t>({}, {length}));
  ValueId dx = chain.add(dft, {outputs[0], lengths},
                         {{"axis", static_cast<int64_t>(axis)}, {"inverse", int64_t{!inverse}}});
  dx = chain.add(mul, {dx, chain.scalar(inverse ? 1 / factor : factor)});
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  gradients[0] = fitted(chain, fitted(chain, dx, axis, shape[axis]), last, shape[last]);
  return chain.finish(std::move(gradients));
}

}  // namespace

SHOAL_RECORD(dft) = {.name = "DFT",
                     .min_inputs = 1,
                     .max_inputs = 2,
                     .value_inputs = 0b10,
                     .infer = infer_dft,
                     .reference = reference_dft,
                     .split = split_dft,
                     .linear = true,
                     .gradient = gradient};

}  // namespace shoal::ops
