// The state exists twice on the device. A step reads `state_` and writes `next_`, and the two are
// swapped if loss and norm are finite. So a step that diverged, or that failed half way, leaves no
// trace, at the cost of memory for a second copy.
#include "shoal/train/step/trainer/resident_step.h"

#include <cmath>

namespace shoal::train {
namespace {

enum Output : size_t { kScores, kLoss, kFirstStatistic };

Result<float> number(const DeviceValue& value) {
  SHOAL_ASSIGN(const Tensor tensor, value.to_host());
  return tensor.data<float>()[0];
}

}  // namespace

Result<ResidentStep> ResidentStep::create(Device& device, const UpdateGraph& update,
                                          size_t statistics) {
  ResidentStep step(device, update, statistics);
  SHOAL_ASSIGN(step.executable_, device.compile(update.graph));
  return step;
}

Status ResidentStep::put(const ResidentState& state) {
  std::vector<DeviceValue> values;
  for (const auto* tensors : {&state.statistics, &state.weights, &state.memories}) {
    for (const Tensor& tensor : *tensors) {
      SHOAL_ASSIGN(DeviceValue value, device_->upload(tensor.clone()));
      values.push_back(std::move(value));
    }
  }
  SHOAL_CHECK(values.size() == statistics_ + weights_ + memories_);
  state_ = std::move(values);
  next_.assign(state_.size(), {});
  return {};
}

Result<ResidentState> ResidentStep::get() const {
  std::vector<Tensor> tensors;
  for (const DeviceValue& value : state_) {
    SHOAL_ASSIGN(const Tensor tensor, value.to_host());
    // A device in host memory gives the tensor that a later step writes to.
    tensors.push_back(value.host() != nullptr ? tensor.clone() : tensor);
  }
  const auto weights = tensors.begin() + static_cast<int64_t>(statistics_);
  const auto memories = weights + static_cast<int64_t>(weights_);
  return ResidentState{{tensors.begin(), weights}, {weights, memories}, {memories, tensors.end()}};
}

Result<ResidentStep::Outcome> ResidentStep::run(std::span<const Tensor> batch,
                                                std::span<const float> scalars) {
  SHOAL_CHECK(scalars.size() == scalars_ && !state_.empty());
  const auto memories = state_.end() - static_cast<int64_t>(memories_);
  // Inputs: batch, statistics, weights, scalars, memories. Outputs: scores, loss, statistics, norm,
  // weights, memories. UpdateGraph defines the order.
  std::vector<DeviceValue> inputs(batch.begin(), batch.end());
  inputs.insert(inputs.end(), state_.begin(), memories);
  for (float scalar : scalars) inputs.emplace_back(Tensor::of<float>({}, {scalar}));
  inputs.insert(inputs.end(), memories, state_.end());

  const auto after_statistics = next_.begin() + static_cast<int64_t>(statistics_);
  std::vector<DeviceValue> outputs(kFirstStatistic);
  outputs.insert(outputs.end(), next_.begin(), after_statistics);
  const size_t norm = outputs.size();
  outputs.emplace_back();
  outputs.insert(outputs.end(), after_statistics, next_.end());
  SHOAL_TRY(executable_->run_values(inputs, outputs, {}));

  Outcome outcome;
  SHOAL_ASSIGN(outcome.scores, outputs[kScores].to_host());
  SHOAL_ASSIGN(outcome.loss, number(outputs[kLoss]));
  // Without the norm, the outputs are in the order of the state.
  SHOAL_ASSIGN(outcome.norm, number(outputs[norm]));
  outputs.erase(outputs.begin() + static_cast<int64_t>(norm));
  next_.assign(outputs.begin() + kFirstStatistic, outputs.end());
  if (std::isfinite(outcome.loss) && std::isfinite(outcome.norm)) std::swap(state_, next_);
  return outcome;
}

}  // namespace shoal::train
