#include "shoal/train/federated/strategy.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace shoal::federated {
namespace {

using Merge = Strategy::Merge;
using Rule = train::OptimizerOptions::Rule;

struct Named {
  const char* name;
  Strategy strategy;
};

// Rates and momenta are those that the papers found best on average.
const std::vector<Named>& all_strategies() {
  static const std::vector<Named> all = {
      {"fedavg", {}},
      {"fedprox", {.mu = 1, .takes_partial = true}},
      {"fedadam",
       {.outer =
            train::OptimizerOptions{
                .rule = Rule::kAdam, .rate = 0.01f, .beta2 = 0.99f, .epsilon = 1e-3f}}},
      {"fedavgm",
       {.outer = train::OptimizerOptions{.rate = 0.7f, .momentum = 0.9f, .nesterov = true}}},
      {"median", {.merge = Merge::kMedian}},
      {"trimmed", {.merge = Merge::kTrimmedMean}}};
  return all;
}

// The mean of the values from rank `first` to before rank `end`. Sorted before they are added, so
// that the sum does not depend on the order of clients.
float mean_of_ranks(std::vector<float>& values, size_t first, size_t end) {
  std::ranges::sort(values);
  double sum = 0;
  for (size_t i = first; i < end; ++i) sum += static_cast<double>(values[i]);
  return static_cast<float>(sum / static_cast<double>(end - first));
}

// Ranks that the merge keeps for n clients.
std::pair<size_t, size_t> kept_ranks(const Strategy& strategy, size_t clients) {
  if (strategy.merge == Merge::kMedian) return {(clients - 1) / 2, clients / 2 + 1};
  const auto cut = static_cast<size_t>(strategy.trim * static_cast<double>(clients));
  return {cut, clients - cut};
}

}  // namespace

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Named& named : all_strategies()) names.emplace_back(named.name);
  return names;
}

std::optional<Strategy> find_strategy(std::string_view name) {
  for (const Named& named : all_strategies()) {
    if (name == named.name) return named.strategy;
  }
  return std::nullopt;
}

Status check(const Strategy& strategy) {
  if (!(strategy.mu >= 0) || !std::isfinite(strategy.mu)) {
    return invalid("mu is a number that is not negative");
  }
  if (!(strategy.trim >= 0 && strategy.trim < 0.5)) {
    return invalid("less than half of the clients can be left out at each end");
  }
  return {};
}

Merger::Merger(const Strategy& strategy, const Weights& like) : strategy_(strategy), like_(like) {
  if (strategy_.merge != Merge::kMean) return;
  for (const auto& [name, tensor] : like_) {
    sums_[name].assign(static_cast<size_t>(tensor.count()), 0.0);
  }
}

Status Merger::check_like(const Weights& weights) const {
  const bool same = std::ranges::equal(weights, like_, [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.type() == b.second.type();
  });
  if (!same) return invalid("a client sent weights of another network");
  for (const auto& [name, tensor] : weights) {
    const auto elements = tensor.data<float>();
    // A sum of products with zero is zero unless one of them is no number.
    const float zero = std::transform_reduce(elements.begin(), elements.end(), 0.0f, std::plus(),
                                             [](float x) { return x * 0; });
    if (zero != 0) return invalid("a client sent weights that are no numbers: " + name);
  }
  return {};
}

Status Merger::add(const Weights& weights, int64_t examples) {
  if (examples <= 0) return invalid("a client learned from no examples");
  SHOAL_TRY(check_like(weights));
  ++clients_;
  if (strategy_.merge != Merge::kMean) {
    Weights& copy = kept_.emplace_back();
    for (const auto& [name, tensor] : weights) copy[name] = tensor.clone();
    return {};
  }
  const auto factor = static_cast<double>(examples);
  examples_ += factor;
  for (const auto& [name, tensor] : weights) {
    const auto from = tensor.data<float>();
    std::vector<double>& to = sums_[name];
    for (size_t i = 0; i < to.size(); ++i) to[i] += factor * static_cast<double>(from[i]);
  }
  return {};
}

Weights Merger::merged() const {
  SHOAL_CHECK(clients_ > 0);
  Weights merged;
  const auto [first, end] = kept_ranks(strategy_, clients_);
  std::vector<std::span<const float>> columns(kept_.size());
  std::vector<float> values(kept_.size());
  for (const auto& [name, like] : like_) {
    Tensor tensor(like.type());
    const auto to = tensor.data<float>();
    if (strategy_.merge == Merge::kMean) {
      const std::vector<double>& sum = sums_.at(name);
      for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(sum[i] / examples_);
    } else {
      for (size_t k = 0; k < kept_.size(); ++k) columns[k] = kept_[k].at(name).data<float>();
      for (size_t i = 0; i < to.size(); ++i) {
        for (size_t k = 0; k < columns.size(); ++k) values[k] = columns[k][i];
        to[i] = mean_of_ranks(values, first, end);
      }
    }
    merged[name] = std::move(tensor);
  }
  return merged;
}

Server::Server(const Strategy& strategy, const Weights& weights,
               const std::vector<std::string>& learned)
    : strategy_(strategy), learned_(learned) {
  for (const auto& [name, tensor] : weights) weights_[name] = tensor.clone();
  if (strategy_.outer) outer_.emplace(*strategy_.outer, learned_);
}

Status Server::end_round(const Merger& merger) {
  return merger.clients() == 0 ? Status() : end_round(merger.merged());
}

Status Server::end_round(Weights merged) {
  if (outer_) {
    std::vector<Tensor> steps, gradients;
    for (const std::string& name : learned_) {
      const Tensor& before = weights_.at(name);
      Tensor gradient = before.clone();
      const auto from = merged.at(name).data<float>();
      const auto to = gradient.data<float>();
      for (size_t i = 0; i < to.size(); ++i) to[i] -= from[i];
      steps.push_back(before.clone());
      gradients.push_back(std::move(gradient));
    }
    SHOAL_TRY(outer_->update(steps, gradients));
    for (size_t i = 0; i < learned_.size(); ++i) merged[learned_[i]] = steps[i];
  }
  weights_ = std::move(merged);
  return {};
}

}  // namespace shoal::federated
