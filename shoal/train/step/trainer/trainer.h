// Trainer: a network learns, one batch a step. A step is forward and backward in one run of a
// graph, which gives gradients by name, and then the update: what comes between, such as an
// exchange with others, needs nothing else.
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

// The products of a step, and the nodes that a device does not take.
struct StepWork {
  int64_t macs = 0;                    // forward, backward and update
  std::vector<std::string> elsewhere;  // by their names: another device has to compute them
};

// Of a step whose update is a part of it. Fails where make_step_graph() does.
Result<StepWork> step_work(const Graph& network, const StepOptions& options,
                           const OptimizerOptions& optimizer, const Device& device);

class ResidentStep;

// How to train.
struct TrainerOptions {
  OptimizerOptions optimizer = {};               // how weights follow their gradients
  StepOptions step = {};                         // the loss, and what is not learned
  std::vector<Regularizer> regularizers = {};    // penalties on weights, besides the loss
  std::optional<UnitPenalty> unit_penalty = {};  // another one, on units of several weights
  // Stores activations for the backward pass as bfloat16, in half the memory. Together with a
  // limit, what is learned depends on that, too.
  bool bf16 = false;
  // Limit of the memory for the values of a step on the device: weights, gradients, activations.
  // Where it is too low for all of them, activations are computed again in the backward pass. 0: no
  // limit.
  int64_t memory_bytes = 0;
  // The update is a part of the step's graph, and weights, statistics and what the optimiser
  // remembers stay on the device from step to step. On a host CPU that is no faster; on a device
  // with memory of its own only the batch travels. Then step() does everything: compute() and
  // update() fail, there are no gradients(), and penalties are refused (kUnsupported).
  bool update_on_device = false;
  uint64_t seed = 1;  // of what Dropout drops: a function of this and of the number of the step
};

// A network that learns. One thread at a time may use it; the device outlives it, the network need
// not. A step that fails leaves the weights as they were.
class Trainer {
 public:
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  // The network has one input, whose first axis is the batch, and one output, or as many as
  // options.step.output_weights says. It learns its float
  // constants, but not scalars; BatchNormalization's statistics are measured. Fails where an
  // operator has no gradient, the device cannot compile the step, or `memory_bytes` is too little.
  static Result<Trainer> create(Device& device, const Graph& network,
                                const TrainerOptions& options);

  // Forward and backward: the loss of the batch; fills scores() and gradients(). kInvalidArgument
  // for tensors of other types than the network's and the loss's, and for a loss that is no number.
  // Batches of one step differ in their `part`, so that Dropout drops other elements of each.
  // REQUIRES: as many targets as targets_of says.
  Result<float> compute(const Tensor& inputs, std::span<const Tensor> targets, uint64_t part = 0);
  // Weights follow the gradients and those of the penalties, statistics become the measured ones.
  // If gradients are no numbers that is an error, and nothing changes.
  Status update(double rate_factor = 1);
  // Both, with nothing between them.
  Result<float> step(const Tensor& inputs, std::span<const Tensor> targets, double rate_factor = 1);

  // Results of the last batch: the scores of the network's first output, and gradients in the order
  // of parameters(). Both are written again by the next compute() or step().
  const Tensor& scores() const { return outputs_[0]; }
  std::span<Tensor> gradients();
  // Statistics as they would be after the step, likewise; update() takes them. A step of several
  // batches replaces both with the means.
  std::span<Tensor> measured();
  // The names of the learned constants in the network; and their tensors as they are now, which the
  // next update changes in place.
  const std::vector<std::string>& parameters() const { return names_; }
  const std::vector<Tensor>& weights() const { return weights_; }
  // What is measured and not learned, as it is now.
  const std::vector<Tensor>& statistics() const { return statistics_; }
  double penalty() const { return penalty_; }  // of the weights before the last update
  // The memory that a step takes on the device.
  MemoryUse memory() const;

  // With `update_on_device`: brings what was learned to the host, for weights(), learned(),
  // network() and state(), which otherwise give what they gave before. Fails if the device does.
  Status fetch();

  // Weights and statistics by the names they have in the network. They share memory with the
  // trainer: the next update changes them, and clone() keeps them.
  std::map<std::string, Tensor> learned() const;
  // The network with the weights as they are now.
  Result<Graph> network() const;

  // Learns from these on, as learned() gave them. Refuses (kCorrupt) what is of another network.
  Status restore_learned(const std::map<std::string, Tensor>& learned);

  // All that a trainer of the same network and options needs to go on from here, bit by bit. Shares
  // memory with the trainer, as learned() does.
  std::map<std::string, Tensor> state() const;
  // Goes on from such a state. Fails with kCorrupt where it is of another network; the trainer is
  // then between two states and must be restored or destroyed.
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
  int64_t steps_on_device_ = 0;  // of the optimiser, where that is not on the host
  std::vector<Mask> mask_kinds_;
  std::vector<Tensor> masks_;
  std::vector<std::string> names_, statistic_names_;
  std::vector<Tensor> weights_, statistics_;
  std::vector<Tensor> feeds_;    // of a run; its memory is used again in the next
  std::vector<Tensor> outputs_;  // of the last run, and written again in the next
};

}  // namespace shoal::train

#pragma GCC visibility pop
