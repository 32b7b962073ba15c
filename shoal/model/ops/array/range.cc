// Range: y_i = start + i delta, for as many i as y_i is before limit: max(0, ceil((limit - start) /
// delta)). A delta of 0 is refused. The inputs decide the shape, so they must be constants.
#include <cmath>

#include "shoal/base/limits.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

using RangeTypes = Types<float, double, Half, BFloat16, int16_t, int32_t, int64_t>;

// The number of elements, as a double: infinities and counts far beyond any tensor then compare
// like numbers, and counts below the limit of a dimension are exact. The distance of two int64
// takes 64 bits without a sign.
template <class T>
double count_of(T start, T limit, T delta) {
  if constexpr (std::is_integral_v<T>) {
    const auto a = static_cast<uint64_t>(start), b = static_cast<uint64_t>(limit);
    const auto step = static_cast<uint64_t>(delta);
    if (delta > 0 ? limit <= start : limit >= start) return 0;
    const uint64_t distance = delta > 0 ? b - a : a - b, stride = delta > 0 ? step : -step;
    const uint64_t count = (distance - 1) / stride + 1;
    return static_cast<double>(count);
  } else {
    const double count = std::ceil((static_cast<double>(limit) - start) / delta);
    return count < 0 ? 0 : count;  // a NaN stays one, and is refused
  }
}

Result<std::vector<TensorType>> infer_range(const Node&, std::span<const Operand> inputs) {
  SHOAL_TRY(require<RangeTypes>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  for (const Operand& input : inputs) SHOAL_TRY(require_single(input));
  const DType dtype = inputs[0].type.dtype;
  double count = 0;
  bool stands_still = false;
  visit<RangeTypes>(dtype, [&]<class T>() {
    auto value = [&](size_t i) { return inputs[i].value->data<T>()[0]; };
    stands_still = value(2) == 0;
    if (!stands_still) count = count_of(value(0), value(1), value(2));
  });
  if (stands_still) return invalid("delta is 0");
  if (!(count <= static_cast<double>(kLimits.max_dimension))) {
    return invalid("start, limit and delta give no number of elements that fits");
  }
  return std::vector{TensorType{dtype, {static_cast<int64_t>(count)}}};
}

void reference_range(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  visit<RangeTypes>(inputs[0].dtype(), [&]<class T>() {
    // Unsigned, because an element times delta may leave int64 though the sum does not.
    using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
    const auto start = static_cast<Sum>(inputs[0].data<T>()[0]);
    const auto delta = static_cast<Sum>(inputs[2].data<T>()[0]);
    const std::span<T> y = outputs[0].data<T>();
    for (size_t i = 0; i < y.size(); ++i) {
      const Sum element = start + static_cast<Sum>(i) * delta;
      if constexpr (std::is_integral_v<T>) {
        y[i] = static_cast<T>(element);
      } else {
        y[i] = convert<T>(element);
      }
    }
  });
}

}  // namespace

SHOAL_RECORD(range_) = {.name = "Range",
                        .min_inputs = 3,
                        .max_inputs = 3,
                        .value_inputs = 0b111,
                        .infer = infer_range,
                        .reference = reference_range,
                        .linear_time = true};

}  // namespace shoal::ops
