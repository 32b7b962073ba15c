// BatchNormalizationBackward, our own operator: the gradients of a BatchNormalization in training.
// Inputs are x, scale and dy, outputs dx, dscale and dbias. With n = (x - mean) / deviation and
// deviation = sqrt(variance + epsilon), all sums and means over one channel:
//   dbias  = sum(dy)
//   dscale = sum(dy * n)
//   dx     = scale * (dy - mean(dy) - n * mean(dy * n)) / deviation
// Mean and variance are computed again; keeping them would take outputs that ONNX does not have.
#include <vector>

#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/norm/moments.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

constexpr float kEpsilon = 1e-5f;

// A vector is a batch of one channel.
int64_t channels_of(const Shape& x) { return x.rank() > 1 ? x[1] : 1; }
int64_t plane_of(const Shape& x) { return x.rank() > 1 ? x.count(2, x.rank()) : 1; }

Result<std::vector<TensorType>> infer_batch_normalization_backward(
    const Node& node, std::span<const Operand> inputs) {
  const TensorType &x = inputs[0].type, &scale = inputs[1].type;
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  if (x.shape.rank() == 0) return invalid("a scalar has no channels");
  if (scale.shape != Shape{channels_of(x.shape)} || inputs[2].type.shape != x.shape) {
    return invalid("x is " + to_string(x) + ", scale " + to_string(scale) + ", dy " +
                   to_string(inputs[2].type));
  }
  std::vector<TensorType> types{x, scale, scale};
  types.resize(node.outputs.size());
  return types;
}

// Calls f(offset) for every element of the channel.
template <class F>
void for_each_of_channel(const Shape& x, int64_t c, const F& f) {
  const int64_t channels = channels_of(x), plane = plane_of(x);
  for (int64_t n = 0; n < x[0]; ++n) {
    const int64_t first = (n * channels + c) * plane;
    for (int64_t i = first; i < first + plane; ++i) f(static_cast<size_t>(i));
  }
}

template <class T>
void run_channel(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs,
                 int64_t c) {
  const Shape& shape = inputs[0].shape();
  const auto channel = static_cast<size_t>(c);
  const std::span<const T> x = inputs[0].data<T>(), dy = inputs[2].data<T>();
  std::vector<T> elements;
  for_each_of_channel(shape, c, [&](size_t i) { elements.push_back(x[i]); });
  const Moments moments = moments_of(std::span<const T>(elements));
  const double inverse = moments.inverse_deviation(node.real("epsilon", kEpsilon));
  // Computed for each use: storing it would take another copy of the channel, in double.
  const auto normal = [&](size_t i) {
    return (static_cast<double>(x[i]) - moments.mean) * inverse;
  };
  double sum = 0, along = 0;
  for_each_of_channel(shape, c, [&](size_t i) {
    sum += static_cast<double>(dy[i]);
    along += static_cast<double>(dy[i]) * normal(i);
  });
  const auto count = static_cast<double>(elements.size());
  const double factor = static_cast<double>(inputs[1].data<T>()[channel]) * inverse;
  for_each_of_channel(shape, c, [&](size_t i) {
    const double moved = static_cast<double>(dy[i]) - sum / count - normal(i) * along / count;
    outputs[0].data<T>()[i] = static_cast<T>(static_cast<Compute<T>>(factor * moved));
  });
  const auto store = [&](size_t output, double value) {
    if (outputs.size() <= output) return;
    outputs[output].data<T>()[channel] = static_cast<T>(static_cast<Compute<T>>(value));
  };
  store(1, along);
  store(2, sum);
}

void reference_batch_normalization_backward(const Node& node, std::span<const Tensor> inputs,
                                            std::span<Tensor> outputs) {
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    for (int64_t c = 0; c < channels_of(inputs[0].shape()); ++c) {
      run_channel<T>(node, inputs, outputs, c);
    }
  });
}

}  // namespace

SHOAL_RECORD(batch_normalization_backward) = {.name = "BatchNormalizationBackward",
                                              .min_inputs = 3,
                                              .max_inputs = 3,
                                              .max_outputs = 3,
                                              .infer = infer_batch_normalization_backward,
                                              .reference = reference_batch_normalization_backward,
                                              .expand = expand_batch_normalization_backward};

}  // namespace shoal::ops
