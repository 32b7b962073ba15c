#include "shoal/train/step/optimizer/step_count.h"

namespace shoal::train {

Result<int64_t> steps_from(const std::map<std::string, Tensor>& state, const std::string& name) {
  // More than any training has, and exact as the f64 that corrections are computed in.
  constexpr int64_t kMostSteps = int64_t{1} << 53;
  const auto position = state.find(name);
  if (position != state.end() && position->second.type() == TensorType{DType::kI64, {}}) {
    const int64_t steps = position->second.data<int64_t>()[0];
    if (steps >= 0 && steps <= kMostSteps) return steps;
  }
  return Status(Code::kCorrupt, name + " is no number of steps");
}

}  // namespace shoal::train
