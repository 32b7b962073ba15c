// BatchNormalization: y = scale * (x - mean) / sqrt(variance + epsilon) + bias, per channel. In
// inference, mean and variance are inputs 3 and 4. In training (opset 14) they are those of x
// itself, and outputs 1 and 2 are the running averages of inputs 3 and 4. The gradient is in
// gradient_norm.cc.
#include <vector>

#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/norm/moments.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

constexpr float kEpsilon = 1e-5f;
constexpr float kMomentum = 0.9f;

bool is_training(const Node& node) { return node.integer("training_mode", 0) != 0; }

// A vector is a batch of one channel.
int64_t channels_of(const Shape& x) { return x.rank() > 1 ? x[1] : 1; }

Result<std::vector<TensorType>> infer_batch_normalization(const Node& node,
                                                          std::span<const Operand> inputs) {
  const Shape& x = inputs[0].type.shape;
  if (x.rank() == 0) return invalid("a scalar has no channels");
  const Shape per_channel{channels_of(x)};
  SHOAL_TRY(require<Floats>(inputs[0]));
  // ONNX lets the parameters have other float types than x.
  for (const Operand& parameter : inputs.subspan(1)) {
    SHOAL_TRY(require<Floats>(parameter));
    if (parameter.type.shape != per_channel) {
      return invalid("a parameter has shape " + to_string(parameter.type.shape) + ", should have " +
                     to_string(per_channel));
    }
  }
  if (!is_training(node) && node.outputs.size() > 1) {
    return invalid("running statistics are outputs only if training_mode is set");
  }
  std::vector<TensorType> types{inputs[0].type};
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    types.push_back({inputs[3].type.dtype, per_channel});
  }
  return types;
}

// The moments of every channel of x, [batch, channels, plane].
template <class T>
std::vector<Moments> moments_per_channel(const Tensor& x, int64_t channels) {
  const Shape& shape = x.shape();
  const auto plane = static_cast<size_t>(shape.rank() > 1 ? shape.count(2, shape.rank()) : 1);
  std::vector<Moments> all;
  std::vector<T> elements;
  for (int64_t c = 0; c < channels; ++c) {
    elements.clear();
    for (int64_t n = 0; n < shape[0]; ++n) {
      const auto of_image =
          x.data<T>().subspan(static_cast<size_t>(n * channels + c) * plane, plane);
      elements.insert(elements.end(), of_image.begin(), of_image.end());
    }
    all.push_back(moments_of(std::span<const T>(elements)));
  }
  return all;
}

std::vector<Moments> statistics_of(const Node& node, std::span<const Tensor> inputs) {
  const int64_t channels = channels_of(inputs[0].shape());
  std::vector<Moments> all;
  if (is_training(node)) {
    visit<Floats>(inputs[0].dtype(),
                  [&]<class T>() { all = moments_per_channel<T>(inputs[0], channels); });
    return all;
  }
  const Tensor mean = converted(inputs[3], DType::kF64),
               variance = converted(inputs[4], DType::kF64);
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
    all.push_back({mean.data<double>()[c], variance.data<double>()[c]});
  }
  return all;
}

template <class T>
void normalize(const Node& node, std::span<const Tensor> inputs,
               std::span<const Moments> statistics, Tensor& output) {
  using C = Compute<T>;
  const double epsilon = node.real("epsilon", kEpsilon);
  const Tensor scale = converted(inputs[1], DType::kF64), bias = converted(inputs[2], DType::kF64);
  const size_t channels = statistics.size();
  const Shape& shape = inputs[0].shape();
  const int64_t plane = shape.rank() > 1 ? shape.count(2, shape.rank()) : 1;
  const T* x = inputs[0].data<T>().data();
  T* y = output.data<T>().data();
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (size_t c = 0; c < channels; ++c, x += plane, y += plane) {
      // Scale and deviation are multiplied in double, so that a plane costs one product per element
      // and is rounded once.
      const auto factor =
          static_cast<C>(scale.data<double>()[c] * statistics[c].inverse_deviation(epsilon));
      const auto mean = static_cast<C>(statistics[c].mean);
      const auto shift = static_cast<C>(bias.data<double>()[c]);
      for (int64_t i = 0; i < plane; ++i) {
        y[i] = static_cast<T>((static_cast<C>(x[i]) - mean) * factor + shift);
      }
    }
  }
}

// running = momentum * running + (1 - momentum) * current
void update(const Node& node, const Tensor& before, std::span<const Moments> statistics,
            double Moments::*current, Tensor& after) {
  const double momentum = node.real("momentum", kMomentum);
  visit<Floats>(before.dtype(), [&]<class T>() {
    for (size_t c = 0; c < statistics.size(); ++c) {
      const double running = static_cast<double>(before.data<T>()[c]);
      after.data<T>()[c] = static_cast<T>(
          static_cast<Compute<T>>(momentum * running + (1 - momentum) * statistics[c].*current));
    }
  });
}

void reference_batch_normalization(const Node& node, std::span<const Tensor> inputs,
                                   std::span<Tensor> outputs) {
  const std::vector<Moments> statistics = statistics_of(node, inputs);
  visit<Floats>(inputs[0].dtype(),
                [&]<class T>() { normalize<T>(node, inputs, statistics, outputs[0]); });
  if (outputs.size() > 1) update(node, inputs[3], statistics, &Moments::mean, outputs[1]);
  if (outputs.size() > 2) update(node, inputs[4], statistics, &Moments::variance, outputs[2]);
}

// In training the statistics need the whole channel of the whole batch. In inference the channels
// of a tile read their own parameters.
std::optional<Tile> split_batch_normalization(const Node& node, std::span<const Operand> inputs,
                                              const Region& output) {
  if (is_training(node)) return std::nullopt;
  Region channels{{0}, {1}};
  if (output.begin.rank() > 1) channels = {{output.begin[1]}, {output.end[1]}};
  Tile tile{{output}, output, node.attributes, {}};
  tile.inputs.insert(tile.inputs.end(), inputs.size() - 1, channels);
  return tile;
}

}  // namespace

SHOAL_RECORD(batch_normalization) = {.name = "BatchNormalization",
                                     .min_inputs = 5,
                                     .max_inputs = 5,
                                     .max_outputs = 3,
                                     .statistic_inputs = 0b11000,
                                     .infer = infer_batch_normalization,
                                     .reference = reference_batch_normalization,
                                     .split = split_batch_normalization,
                                     .in_place = true,
                                     .gradient = batch_normalization_gradient};

}  // namespace shoal::ops
