#include "shoal/federated/scenario.h"

#include <utility>

namespace shoal::federated {

Options resolve(const ScenarioSettings& settings, fit::TrainingOptions fit,
                const std::function<bool(const std::string& flag)>& given) {
  Options all = settings.options;
  if (!given("--batch")) fit.batch = 10;
  if (!given("--momentum")) fit.optimizer.momentum = 0;
  if (!given("--schedule")) fit.schedule = train::Schedule::Kind::kConstant;
  if (!given("--rate") && fit.optimizer.rule == train::OptimizerOptions::Rule::kSgd) {
    fit.optimizer.rate = 0.03f;
  }
  fit.epochs = settings.epochs;
  all.population.seed = fit.seed;
  all.fit = std::move(fit);
  all.strategy = *find_strategy(settings.strategy);
  if (settings.mu >= 0) all.strategy.mu = settings.mu;
  if (settings.deadline > 0) all.population.deadline = settings.deadline;
  all.shards.split =
      settings.split == "iid" ? ShardOptions::Split::kIid : ShardOptions::Split::kClasses;
  return all;
}

}  // namespace shoal::federated
