// With q = DequantizeLinear(QuantizeLinear(x)) and c = x or Clip(x),
//
//   y = c + stop(q - c),
//
// which is q up to rounding in f32, and has the gradient of c. Integers have no gradient, so
// stop(d) is d in fixed point: steps of 2^-30 of the scale, as i64, because d may be large where x
// is.
#include "shoal/train/step/graph/straight_through.h"

#include <algorithm>
#include <cmath>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::train {
namespace {

constexpr float kFine = 0x1p30f;

class StraightThrough {
 public:
  explicit StraightThrough(const Graph& network)
      : network_(network), links_(network), rewriter_(network) {}

  Result<Graph> run() {
    for (const Node& node : network_.nodes()) {
      SHOAL_TRY(rewriter_.copy(node));
      if (node.op == &ops::dequantize_linear) SHOAL_TRY(let_through(node));
    }
    return rewriter_.finish();
  }

 private:
  Status let_through(const Node& dequantize) {
    const Node* quantize = links_.producer(dequantize.inputs[0], ops::quantize_linear);
    const Tensor* scale =
        quantize == nullptr ? nullptr : passes::constant(network_, quantize->inputs[1]);
    if (scale == nullptr || scale->dtype() != DType::kF32 || scale->count() == 0) return {};
    const float largest = std::ranges::max(scale->data<float>());
    if (!std::isnormal(largest)) return {};
    ValueId c = rewriter_.map(quantize->inputs[0]);
    if (scale->count() == 1) {
      SHOAL_ASSIGN(c, clamped(*quantize, largest, c));
    }
    Graph& to = rewriter_.to();
    const ValueId q = rewriter_.map(dequantize.outputs[0]);
    SHOAL_ASSIGN(const ValueId y, straight_through(to, q, c, largest));
    rewriter_.replace(dequantize.outputs[0], y);
    return {};
  }

  // To the least and the greatest number that a byte stands for.
  Result<ValueId> clamped(const Node& quantize, float scale, ValueId x) {
    const TensorType& bytes = network_[quantize.outputs[0]].type;
    const bool is_signed = bytes.dtype == DType::kI8;
    double zero = 0;
    if (quantize.inputs.size() > 2 && quantize.inputs[2] != kNoValue) {
      const auto known = passes::scalar(network_, quantize.inputs[2]);
      if (!known) return x;
      zero = *known;
    }
    const auto end = [&](double byte) { return static_cast<float>(scale * (byte - zero)); };
    return rewriter_.to().add(ops::clip, {x, scalar("low", end(is_signed ? -128 : 0)),
                                          scalar("high", end(is_signed ? 127 : 255))});
  }

  ValueId scalar(const char* name, float number) {
    return rewriter_.to().add_constant(name, Tensor::of<float>({}, {number}));
  }

  const Graph& network_;
  const passes::UseDefs links_;
  passes::Rewriter rewriter_;
};

}  // namespace

Result<Graph> straight_through(const Graph& network) { return StraightThrough(network).run(); }

Result<ValueId> straight_through(Graph& graph, ValueId value, ValueId like, float unit) {
  ops::Chain chain(graph, like);
  const auto times = [&](ValueId x, float factor) {
    return chain.add(ops::mul, {x, chain.scalar(double{factor})});
  };
  const ValueId fine = times(chain.add(ops::sub, {value, like}), kFine / unit);
  const ValueId integer = chain.add(ops::cast, {fine}, {{"to", ops::onnx_number_of(DType::kI64)}});
  const ValueId stopped = times(chain.cast(integer), unit / kFine);
  const ValueId result = chain.add(ops::add, {like, stopped});
  SHOAL_TRY(chain.status());
  return result;
}

}  // namespace shoal::train
