// Trainer: trains a network one batch per step: one run of a graph for forward and backward, which
// gives gradients by name, then the update. Gradients may be exchanged in between.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/train/step/graph/step_graph.h"
#include "shoal/train/step/optimizer/optimizer.h"
#include "shoal/train/step/optimizer/regularizer.h"

#pragma GCC visibility push(default)

namespace shoal::train {

// The work of a step, and the nodes that the device does not support.
struct StepWork {
  int64_t macs = 0;                    // forward, backward and update
  std::vector<std::string> elsewhere;  // names of nodes that another device has to compute
};

// For a step that includes the update. Fails as make_step_graph() does.
Result<StepWork> step_work(const Graph& network, const StepOptions& options,
                           const OptimizerOptions& optimizer, const Device& device);

class ResidentStep;

// How to train.
struct TrainerOptions {
  OptimizerOptions optimizer = {};               // how weights follow their gradients
  StepOptions step = {};                         // the loss, and frozen weights
  std::vector<Regularizer> regularizers = {};    // penalties on weights
  std::optional<UnitPenalty> unit_penalty = {};  // another one, on units of several weights
  // Stores activations for the backward pass as bfloat16. Together with a limit, this changes what
  // is learned.
  bool bf16 = false;
  // Limit of the memory for the values of a step on the device: weights, gradients, activations.
  // Activations that do not fit are recomputed in the backward pass. 0: no limit.
  int64_t memory_bytes = 0;
  // Makes the update part of the step's graph: weights, statistics and optimizer state stay on the
  // device. No faster on a host CPU; on a device with its own memory only the batch travels. Only
  // step() works then: compute() and update() fail, there are no gradients(), and penalties are
  // refused (kUnsupported).
  bool update_on_device = false;
  uint64_t seed = 1;  // Dropout is a function of this and of the step
};

// Not thread-safe. The device outlives it, the network need not. A failed step leaves the weights
// unchanged.
class Trainer {
 public:
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  // The network has one input, whose first axis is the batch, and one output, or as many as
  // options.step.output_weights. Learns its float constants except scalars; BatchNormalization's
  // statistics are measured. Fails if an operator has no gradient, the device cannot compile the
  // step, or `memory_bytes` is too little.
  static Result<Trainer> create(Device& device, const Graph& network,
                                const TrainerOptions& options);

  // Forward and backward: returns the batch's loss; fills scores() and gradients().
  // kInvalidArgument for tensors of wrong types, and for a NaN loss. Batches of one step differ in
  // `part`, which Dropout depends on. REQUIRES: as many targets as targets_of says.
  Result<float> compute(const Tensor& inputs, std::span<const Tensor> targets, uint64_t part = 0);
  // Applies gradients, penalties and measured statistics. Fails, and changes nothing, if gradients
  // are NaN or infinite.
  Status update(double rate_factor = 1);
  // compute() and update().
  Result<float> step(const Tensor& inputs, std::span<const Tensor> targets, double rate_factor = 1);

  // Scores of the network's first output, and gradients in the order of parameters(). Overwritten
  // by the next compute() or step().
  const Tensor& scores() const { return outputs_[0]; }
  std::span<Tensor> gradients();
  // The measured statistics that update() takes. With several batches per step, replace them with
  // their means.
  std::span<Tensor> measured();
  // The names of the learned constants, and their tensors, which the next update changes in place.
  const std::vector<std::string>& parameters() const { return names_; }
  const std::vector<Tensor>& weights() const { return weights_; }
  // The measured statistics that are in force.
  const std::vector<Tensor>& statistics() const { return statistics_; }
  double penalty() const { return penalty_; }  // of the weights before the last update
  // The memory that a step takes on the device.
  MemoryUse memory() const;

  // With `update_on_device`: copies what was learned to the host, for weights(), learned(),
  // network() and state(), which are stale otherwise. Fails if the device does.
  Status fetch();

  // Weights and statistics by name. They share memory with the trainer, and the next update changes
  // them: clone() to keep them.
  std::map<std::string, Tensor> learned() const;
  // The network with the current weights.
  Result<Graph> network() const;

  // Continues from learned() of the same network; kCorrupt for another.
  Status restore_learned(const std::map<std::string, Tensor>& learned);

  // All that a trainer of the same network and options needs to resume, bit by bit. Shares memory
  // with the trainer, as learned() does.
  std::map<std::string, Tensor> state() const;
  // Resumes from such a state. kCorrupt if it is of another network; the trainer must then be
  // restored again or destroyed.
  Status restore(const std::map<std::string, Tensor>& state);

 private:
  Trainer(const Graph& network, const TrainerOptions& options, std::vector<std::string> names);
  // The executables of a step, and the state to begin with.
  Status prepare(Device& device, const StepGraph& step, const TrainerOptions& options);
  const Graph& step_graph() const;
  Status feed(const Tensor& inputs, std::span<const Tensor> targets, uint64_t part);
  Result<float> step_on_device(double rate_factor);
  Status put();
  Status read_learned(const std::map<std::string, Tensor>& learned);
  void add_penalties();
  void draw_masks(uint64_t part);

  Graph network_;
  OptimizerOptions optimizer_options_;
  Optimizer optimizer_;
  std::vector<Regularizer> regularizers_;
  std::optional<UnitPenalty> unit_penalty_;
  double penalty_ = 0;
  // One of them: by `update_on_device`.
  std::unique_ptr<Executable> executable_;
  std::unique_ptr<ResidentStep> resident_;
  size_t targets_ = 0;
  uint64_t seed_ = 1;
  int64_t steps_ = 0;            // done so far
  int64_t steps_on_device_ = 0;  // of the optimizer, if on the device
  std::vector<Mask> mask_kinds_;
  std::vector<Tensor> masks_;
  std::vector<std::string> names_, statistic_names_;
  std::vector<Tensor> weights_, statistics_;
  std::vector<Tensor> feeds_;    // of a run; the memory is reused
  std::vector<Tensor> outputs_;  // of the last run; the memory is reused
};

}  // namespace shoal::train

#pragma GCC visibility pop
