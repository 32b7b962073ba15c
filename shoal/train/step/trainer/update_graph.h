// The optimizer's update as nodes of the step's graph, so that it runs on the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/train/step/optimizer/optimizer.h"

namespace shoal::train {

// A step with its update. Inputs: the step's, whose last ones are the weights; the scalars of
// update_scalars(); the optimizer's memories, role by role as in Optimizer. Outputs: the step's
// without gradients; the norm of all gradients; the new weights; the new memories.
//
// Covers all rules of Optimizer, with clipping and decay. The norm adds up in f32, so a clipped
// gradient may differ from the host's in the last bits.
struct UpdateGraph {
  Graph graph;
  size_t weights = 0;
  size_t scalars = 0;
  size_t memories = 0;  // tensors: roles times weights
};

Result<UpdateGraph> add_update(const Graph& step, size_t weights, const OptimizerOptions& options);

// Scalar inputs of an update: rates, and Adam's bias corrections. `step` counts from 1; `factor` as
// in Optimizer::update().
std::vector<float> update_scalars(const OptimizerOptions& options, int64_t step, double factor);

// ResidentStep: a training step that keeps weights, statistics and optimizer state on the device;
// only batches go in, and only scores and loss come out.

// The state that stays on the device, copied to host memory.
struct ResidentState {
  std::vector<Tensor> statistics, weights, memories;
};

// Not thread-safe. REQUIRES: the device outlives it.
class ResidentStep {
 public:
  // `update` is a step with its update. Inputs: a batch, as many statistics as given, then those of
  // UpdateGraph; outputs: scores, loss, statistics, and the rest.
  static Result<ResidentStep> create(Device& device, const UpdateGraph& update, size_t statistics);

  // Copies the state to the device.
  Status put(const ResidentState& state);
  // A copy of the state.
  Result<ResidentState> get() const;

  struct Outcome {
    Tensor scores;  // valid until the next run
    float loss = 0;
    float norm = 0;  // of the gradients
  };
  // One step on `batch`: images, targets and masks. The state is unchanged if the loss or the norm
  // is NaN or infinite; the outcome says so.
  Result<Outcome> run(std::span<const Tensor> batch, std::span<const float> scalars);

  const Graph& graph() const { return executable_->graph(); }
  MemoryUse memory() const { return executable_->memory(); }

 private:
  ResidentStep(Device& device, const UpdateGraph& update, size_t statistics)
      : device_(&device),
        statistics_(statistics),
        weights_(update.weights),
        scalars_(update.scalars),
        memories_(update.memories) {}

  Device* device_;
  size_t statistics_, weights_, scalars_, memories_;
  std::unique_ptr<Executable> executable_;
  std::vector<DeviceValue> state_, next_;  // statistics, weights, memories; `next_` is written
};

}  // namespace shoal::train
