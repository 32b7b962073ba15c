// Optimizer: update rules, as in torch.optim.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal::train {

// Which rule, and its parameters under the names they have in torch.optim.
struct OptimizerOptions {
  // How a weight follows its gradient.
  enum class Rule { kSgd, kAdam, kAdamW };
  Rule rule = Rule::kSgd;  // which of them
  float rate = 0.01f;      // the learning rate, before a schedule's factor
  float momentum = 0;      // SGD
  bool nesterov = false;   // SGD
  float beta1 = 0.9f;      // Adam
  float beta2 = 0.999f;    // Adam
  float epsilon = 1e-8f;   // Adam
  // Adds this share of a weight to its gradient, or with AdamW subtracts it from the weight; not
  // for biases and parameters of norms, which have less than two dimensions.
  float weight_decay = 0;
  float max_norm = 0;  // clips the norm of all gradients together; 0: none
};

// "sgd", "adam" or "adamw", and the rule of a name; nullopt for any other.
std::string_view name_of(OptimizerOptions::Rule rule);
std::optional<OptimizerOptions::Rule> find_rule(std::string_view name);

// One pass over each weight's memory per step. Not thread-safe.
class Optimizer {
 public:
  // `names` are the keys of the state, one per weight.
  Optimizer(const OptimizerOptions& options, std::vector<std::string> names)
      : options_(options), names_(std::move(names)) {}

  // One step, in place; f32. The rate is options.rate times `factor`. kInvalidArgument, and nothing
  // changes, if gradients are NaN or infinite. REQUIRES: the same weights in the same order in
  // every call, and gradients of the same shapes.
  Status update(std::span<Tensor> weights, std::span<const Tensor> gradients, double factor = 1);

  // The roles of the tensors that a rule keeps per weight: "velocity", or "mean" and "square".
  static std::vector<std::string> roles(const OptimizerOptions& options);
  // These tensors, role by role and in each weight by weight; zero before the first step. For an
  // update that is computed elsewhere (update_graph.h), which gives them back with the number of
  // steps done.
  std::vector<Tensor> memories(std::span<const Tensor> weights);
  void set_memories(std::span<const Tensor> memories, int64_t steps);
  int64_t steps() const { return steps_; }  // done so far

  // The state between two steps, to be saved; empty before the first step. Its tensors share memory
  // with the optimiser, which the next step changes.
  std::map<std::string, Tensor> state() const;
  // Goes on from such a state; one without steps is that before the first. Fails with kCorrupt, and
  // changes nothing, where it is of other weights or no number of steps.
  Status restore(const std::map<std::string, Tensor>& state, std::span<const Tensor> weights);

 private:
  struct Memory {
    std::string role;
    std::vector<Tensor> tensors;  // one per weight
  };
  void remember(std::span<const Tensor> weights);

  OptimizerOptions options_;
  std::vector<std::string> names_;
  std::vector<Memory> memories_;  // of the rule
  int64_t steps_ = 0;
};

}  // namespace shoal::train

#pragma GCC visibility pop
