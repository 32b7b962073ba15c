// Update rules, for a weight w with the gradient g, at the learning rate r. Clipping and decay come
// first:
//
//   g := g * min(1, max_norm / |all g|)
//   g := g + decay * w                                      SGD and Adam
//
//   SGD    v := momentum * v + g
//          w := w - r * v                                   or r * (g + momentum * v), Nesterov
//   Adam   m := m + (1 - beta1) * (g - m)
//          v := v + (1 - beta2) * (g^2 - v)
//          w := w - r * mhat / (sqrt(vhat) + epsilon)       where mhat = m / (1 - beta1^t),
//                                                           vhat = v / (1 - beta2^t)
//   AdamW  the same, with w := w * (1 - r * decay) before the last line
//
// update_graph.cc expresses the same rules as nodes. A change here needs one there.
#include "shoal/train/step/optimizer/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "shoal/train/step/optimizer/step_count.h"

namespace shoal::train {
namespace {

using Rule = OptimizerOptions::Rule;

constexpr const char* kSteps = "optimizer.steps";

struct Slice {
  std::span<float> w;
  std::span<const float> g;
  float scale, rate, decay;
};

void descend(const OptimizerOptions& options, const Slice& s, std::span<float> v) {
  for (size_t i = 0; i < s.w.size(); ++i) {
    const float g = s.scale * s.g[i] + s.decay * s.w[i];
    v[i] = options.momentum * v[i] + g;
    s.w[i] -= s.rate * (options.nesterov ? g + options.momentum * v[i] : v[i]);
  }
}

// Adam of one weight. The means m and v begin with zero, which is too small in the first steps; the
// corrections of t steps are two factors, computed once, in f64 because 1 - beta2^t is small.
void adapt(const OptimizerOptions& options, int64_t steps, const Slice& s, std::span<float> m,
           std::span<float> v) {
  const double t = static_cast<double>(steps);
  const auto rate = static_cast<float>(s.rate / (1 - std::pow(double{options.beta1}, t)));
  const auto root = static_cast<float>(1 / std::sqrt(1 - std::pow(double{options.beta2}, t)));
  const float keep = options.rule == Rule::kAdamW ? 1 - s.rate * s.decay : 1;
  const float decay = options.rule == Rule::kAdamW ? 0 : s.decay;
  // Copies, which no store can change: otherwise nothing is vectorised.
  const float new_m = 1 - options.beta1, new_v = 1 - options.beta2, epsilon = options.epsilon;
  const float scale = s.scale;
  float* const w = s.w.data();
  const float* const gradient = s.g.data();
  float* const mean = m.data();
  float* const square = v.data();
  for (size_t i = 0; i < s.w.size(); ++i) {
    const float g = scale * gradient[i] + decay * w[i];
    mean[i] += new_m * (g - mean[i]);
    square[i] += new_v * (g * g - square[i]);
    w[i] = keep * w[i] - rate * mean[i] / (std::sqrt(square[i]) * root + epsilon);
  }
}

// The sum of squares. Floats add up in as many lanes as a vector register has, and for one block
// only; blocks add up in f64. So the error does not grow with the length.
double sum_of_squares(std::span<const float> x) {
  constexpr size_t kLanes = 16, kBlock = 1024;
  double sum = 0;
  for (; !x.empty(); x = x.subspan(std::min(kBlock, x.size()))) {
    const std::span<const float> block = x.first(std::min(kBlock, x.size()));
    std::array<float, kLanes> lanes{};
    size_t i = 0;
    for (; i + kLanes <= block.size(); i += kLanes) {
      for (size_t k = 0; k < kLanes; ++k) lanes[k] += block[i + k] * block[i + k];
    }
    for (; i < block.size(); ++i) lanes[0] += block[i] * block[i];
    for (float lane : lanes) sum += double{lane};
  }
  return sum;
}

double norm_of(std::span<const Tensor> gradients) {
  double sum = 0;
  for (const Tensor& gradient : gradients) sum += sum_of_squares(gradient.data<float>());
  return std::sqrt(sum);
}

constexpr std::array kRules = {std::pair{Rule::kSgd, std::string_view("sgd")},
                               std::pair{Rule::kAdam, std::string_view("adam")},
                               std::pair{Rule::kAdamW, std::string_view("adamw")}};

}  // namespace

std::string_view name_of(Rule rule) {
  return std::ranges::find(kRules, rule, &decltype(kRules)::value_type::first)->second;
}

std::optional<Rule> find_rule(std::string_view name) {
  const auto position = std::ranges::find(kRules, name, &decltype(kRules)::value_type::second);
  return position == kRules.end() ? std::nullopt : std::optional(position->first);
}

void Optimizer::remember(std::span<const Tensor> weights) {
  if (!memories_.empty()) return;
  for (const std::string& role : roles(options_)) {
    Memory& memory = memories_.emplace_back(Memory{role, {}});
    for (const Tensor& weight : weights) memory.tensors.emplace_back(weight.type());
  }
}

std::vector<std::string> Optimizer::roles(const OptimizerOptions& options) {
  if (options.rule == Rule::kSgd) return {"velocity"};
  return {"mean", "square"};
}

std::vector<Tensor> Optimizer::memories(std::span<const Tensor> weights) {
  remember(weights);
  std::vector<Tensor> all;
  for (const Memory& memory : memories_) {
    all.insert(all.end(), memory.tensors.begin(), memory.tensors.end());
  }
  return all;
}

void Optimizer::set_memories(std::span<const Tensor> memories, int64_t steps) {
  SHOAL_CHECK(memories.size() == memories_.size() * names_.size());
  for (Memory& memory : memories_) {
    memory.tensors.assign(memories.begin(), memories.begin() + std::ssize(names_));
    memories = memories.subspan(names_.size());
  }
  steps_ = steps;
}

// The norm is computed even without clipping: it is the cheapest test of all gradients for NaN and
// infinity, and it comes before the first weight changes.
Status Optimizer::update(std::span<Tensor> weights, std::span<const Tensor> gradients,
                         double factor) {
  SHOAL_CHECK(weights.size() == gradients.size() && weights.size() == names_.size());
  const double norm = norm_of(gradients);
  if (!std::isfinite(norm))
    return invalid("gradients are no numbers; a lower rate or clipped gradients may help");
  remember(weights);
  ++steps_;
  const bool clips = options_.max_norm > 0 && norm > options_.max_norm;
  const auto scale = static_cast<float>(clips ? options_.max_norm / norm : 1);
  for (size_t i = 0; i < weights.size(); ++i) {
    const Slice slice{.w = weights[i].data<float>(),
                      .g = gradients[i].data<float>(),
                      .scale = scale,
                      .rate = static_cast<float>(options_.rate * factor),
                      // Biases and parameters of norms do not decay.
                      .decay = weights[i].shape().rank() > 1 ? options_.weight_decay : 0};
    const auto memory = [&](size_t k) { return memories_[k].tensors[i].data<float>(); };
    if (options_.rule == Rule::kSgd) {
      descend(options_, slice, memory(0));
    } else {
      adapt(options_, steps_, slice, memory(0), memory(1));
    }
  }
  return {};
}

std::map<std::string, Tensor> Optimizer::state() const {
  std::map<std::string, Tensor> state;
  if (steps_ == 0) return state;
  state[kSteps] = Tensor::of<int64_t>({}, {steps_});
  for (const Memory& memory : memories_) {
    for (size_t i = 0; i < names_.size(); ++i) {
      state["optimizer." + memory.role + "." + names_[i]] = memory.tensors[i];
    }
  }
  return state;
}

Status Optimizer::restore(const std::map<std::string, Tensor>& state,
                          std::span<const Tensor> weights) {
  if (!state.contains(kSteps)) {
    memories_.clear();
    steps_ = 0;
    return {};
  }
  SHOAL_ASSIGN(const int64_t steps, steps_from(state, kSteps));
  // No step has no memories, and a correction by 1 - beta^0 would divide by zero.
  if (steps == 0) return Status(Code::kCorrupt, std::string(kSteps) + " is 0");
  std::vector<Memory> memories;
  for (const std::string& role : roles(options_)) {
    Memory& memory = memories.emplace_back(Memory{role, {}});
    for (size_t i = 0; i < names_.size(); ++i) {
      const std::string name = "optimizer." + role + "." + names_[i];
      const auto position = state.find(name);
      if (position == state.end() || position->second.type() != weights[i].type()) {
        return Status(Code::kCorrupt, "there is no " + name + " of the weight's type");
      }
      memory.tensors.push_back(position->second.clone());
    }
  }
  memories_ = std::move(memories);
  steps_ = steps;
  return {};
}

}  // namespace shoal::train
