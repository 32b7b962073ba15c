// Windows that weigh the frames of an STFT: w_n = a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N),
// where N is the size, or one less for a symmetric window. The constants are those of ONNX.
#include <cmath>
#include <numbers>

#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_window_function(const Node& node,
                                                      std::span<const Operand> inputs) {
  SHOAL_ASSIGN(std::vector<int64_t> size, require_ints(inputs[0]));
  if (size.size() != 1) return invalid("size should be one number");
  SHOAL_ASSIGN(DType dtype, require_dtype(node.integer("output_datatype", 1)));
  if (!Numbers::contains(dtype)) return invalid("output_datatype should be a number's");
  return std::vector{TensorType{dtype, {size[0]}}};
}

struct Weights {
  double a0, a1, a2;
};

template <Weights a>
void reference_window_function(const Node& node, std::span<const Tensor>,
                               std::span<Tensor> outputs) {
  const int64_t size = outputs[0].count();
  const int64_t period = node.integer("periodic", 1) != 0 ? size : size - 1;
  visit<Numbers>(outputs[0].dtype(), [&]<class T>() {
    for (int64_t n = 0; n < size; ++n) {
      // A symmetric window of one element is its middle.
      const double part = period == 0 ? 0.5 : static_cast<double>(n) / static_cast<double>(period);
      const double angle = 2 * std::numbers::pi * part;
      outputs[0].data<T>()[static_cast<size_t>(n)] =
          convert<T>(a.a0 - a.a1 * std::cos(angle) + a.a2 * std::cos(2 * angle));
    }
  });
}

template <Weights a>
constexpr Operator window(std::string_view name) {
  return {.name = name,
          .value_inputs = 0b1,
          .infer = infer_window_function,
          .reference = reference_window_function<a>};
}

}  // namespace

SHOAL_RECORD(hann_window) = window<Weights{0.5, 0.5, 0}>("HannWindow");
SHOAL_RECORD(hamming_window) = window<Weights{25.0 / 46, 21.0 / 46, 0}>("HammingWindow");
SHOAL_RECORD(blackman_window) = window<Weights{0.42, 0.5, 0.08}>("BlackmanWindow");

}  // namespace shoal::ops
