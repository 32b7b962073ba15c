// MelWeightMatrix: [frequencies, bands]. Each band weighs the frequencies around its centre by a
// triangle. The centres lie evenly on the mel scale, mel = 2595 log10(1 + hertz / 700). All inputs
// are constants, since they decide the shape.
#include <algorithm>
#include <cmath>

#include "shoal/base/limits.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

enum Input { kBands, kLength, kSampleRate, kLowerEdge, kUpperEdge };

double number_of(const Tensor& tensor) { return converted(tensor, DType::kF64).data<double>()[0]; }

Status require_scalar(const Operand& operand) {
  return operand.type.shape.count() == 1 ? Status() : invalid("takes scalars");
}

Result<std::vector<TensorType>> infer_mel_weight_matrix(const Node& node,
                                                        std::span<const Operand> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    SHOAL_TRY(require_scalar(inputs[i]));
    SHOAL_TRY(i < kLowerEdge ? require<Indices>(inputs[i]) : require<Floats>(inputs[i]));
  }
  const int64_t bands = to_ints(*inputs[kBands].value)[0];
  const int64_t length = to_ints(*inputs[kLength].value)[0];
  if (bands < 0 || bands > kLimits.max_dimension) return invalid("num_mel_bins is out of range");
  if (length < 0 || length > kLimits.max_dimension) return invalid("dft_length is out of range");
  if (to_ints(*inputs[kSampleRate].value)[0] < 1) return invalid("sample_rate should be positive");
  for (size_t i : {kLowerEdge, kUpperEdge}) {
    const double hertz = number_of(*inputs[i].value);
    if (!(hertz >= 0) || std::isinf(hertz)) return invalid("an edge is no frequency");
  }
  SHOAL_ASSIGN(DType dtype, require_dtype(node.integer("output_datatype", 1)));
  if (!Numbers::contains(dtype)) return invalid("output_datatype should be a number's");
  return std::vector{TensorType{dtype, {length / 2 + 1, bands}}};
}

// The frequencies where bands begin, peak and end: those of band i have the numbers i, i + 1 and i
// + 2.
class Corners {
 public:
  explicit Corners(std::span<const Tensor> inputs)
      : low_(mel_of(number_of(inputs[kLowerEdge]))),
        step_((mel_of(number_of(inputs[kUpperEdge])) - low_) / (number_of(inputs[kBands]) + 2)),
        bins_per_hertz_((number_of(inputs[kLength]) + 1) / number_of(inputs[kSampleRate])) {}

  int64_t operator[](int64_t i) const {
    const double hertz = 700 * (std::pow(10, (low_ + static_cast<double>(i) * step_) / 2595) - 1);
    // Larger than any frequency, and small enough that differences do not overflow.
    return static_cast<int64_t>(std::floor(std::clamp(hertz * bins_per_hertz_, -1.0, 0x1p52)));
  }

 private:
  static double mel_of(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
  double low_, step_, bins_per_hertz_;
};

// The weight of frequency f in a band. Corners are rounded to frequencies, so a narrow band may
// have left == centre or centre == right; no quotient is taken there.
double weight_of(int64_t f, int64_t left, int64_t centre, int64_t right) {
  if (f >= centre && f < right) {
    return static_cast<double>(right - f) / static_cast<double>(right - centre);
  }
  if (f == centre) return 1;
  if (f < left || f > centre) return 0;
  return static_cast<double>(f - left) / static_cast<double>(centre - left);
}

void reference_mel_weight_matrix(const Node&, std::span<const Tensor> inputs,
                                 std::span<Tensor> outputs) {
  const Corners corners(inputs);
  const int64_t frequencies = outputs[0].shape()[0], bands = outputs[0].shape()[1];
  visit<Numbers>(outputs[0].dtype(), [&]<class T>() {
    for (int64_t band = 0; band < bands; ++band) {
      const int64_t left = corners[band], centre = corners[band + 1], right = corners[band + 2];
      for (int64_t f = 0; f < frequencies; ++f) {
        outputs[0].data<T>()[static_cast<size_t>(f * bands + band)] =
            convert<T>(weight_of(f, left, centre, right));
      }
    }
  });
}

}  // namespace

SHOAL_RECORD(mel_weight_matrix) = {.name = "MelWeightMatrix",
                                   .min_inputs = 5,
                                   .max_inputs = 5,
                                   .value_inputs = 0b11111,
                                   .infer = infer_mel_weight_matrix,
                                   .reference = reference_mel_weight_matrix};

}  // namespace shoal::ops
