// MeanVarianceNormalization: y = (x - mean) / (deviation + 1e-9), where mean and deviation are
// those over `axes`, by default all but the channels of an image. The gradient is in
// gradient_formulas.cc.
#include <cmath>
#include <vector>

#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

constexpr double kEpsilon = 1e-9;  // as in the function body that ONNX gives

std::vector<int64_t> axes_of(const Node& node) { return node.integers("axes", {0, 2, 3}); }

Result<std::vector<TensorType>> infer_mean_variance_normalization(const Node& node,
                                                                  std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require_axes(axes_of(node), inputs[0].type.shape.rank()).status());
  return std::vector{inputs[0].type};
}

// The shape of the statistics: x's with the axes set to 1.
Shape statistics_shape(const Node& node, const Shape& x) {
  Shape shape = x;
  for (int64_t axis : axes_of(node)) shape[axis_in(axis, x.rank())] = 1;
  return shape;
}

template <class T>
void normalize(const Node& node, const Tensor& input, Tensor& output) {
  const Shape& shape = input.shape();
  const Shape reduced = statistics_shape(node, shape);
  const std::array strides = {strides_of(shape), broadcast_strides(reduced, shape)};
  const auto groups = static_cast<size_t>(reduced.count());
  const double n = static_cast<double>(shape.count()) / static_cast<double>(groups);
  const T* x = input.data<T>().data();
  T* y = output.data<T>().data();
  // Calls f(offset of an element, the group whose statistics it shares).
  const auto for_each = [&](auto f) {
    for_each_run(shape, strides, [&](auto at, auto step, int64_t run) {
      for (int64_t k = 0; k < run; ++k) {
        f(at[0] + k, static_cast<size_t>(at[1] + k * step[1]));
      }
    });
  };
  std::vector<double> mean(groups), deviation(groups);
  for_each([&](int64_t i, size_t g) { mean[g] += static_cast<double>(x[i]) / n; });
  for_each([&](int64_t i, size_t g) {
    const double distance = static_cast<double>(x[i]) - mean[g];
    deviation[g] += distance * distance / n;
  });
  for (double& d : deviation) d = std::sqrt(d) + kEpsilon;
  for_each([&](int64_t i, size_t g) {
    y[i] = static_cast<T>(
        static_cast<Compute<T>>((static_cast<double>(x[i]) - mean[g]) / deviation[g]));
  });
}

void reference_mean_variance_normalization(const Node& node, std::span<const Tensor> inputs,
                                           std::span<Tensor> outputs) {
  visit<Floats>(inputs[0].dtype(), [&]<class T>() { normalize<T>(node, inputs[0], outputs[0]); });
}

// The reduced axes stay whole.
std::optional<Tile> split_mean_variance_normalization(const Node& node,
                                                      std::span<const Operand> inputs,
                                                      const Region& output) {
  const Shape& shape = inputs[0].type.shape;
  Region box = output;
  for (int64_t axis : axes_of(node)) {
    const size_t d = axis_in(axis, shape.rank());
    box.begin[d] = 0;
    box.end[d] = shape[d];
  }
  return Tile{{box}, box, node.attributes, {}};
}

}  // namespace

SHOAL_RECORD(mean_variance_normalization) = {.name = "MeanVarianceNormalization",
                                             .infer = infer_mean_variance_normalization,
                                             .reference = reference_mean_variance_normalization,
                                             .split = split_mean_variance_normalization,
                                             .in_place = true,
                                             .gradient = mean_variance_normalization_gradient};

}  // namespace shoal::ops
