#include "shoal/train/federated/scenario.h"

#include <utility>

namespace shoal::federated {
Status check_for_workers(const GivenFlags& given_flags, std::string_view network) {
  if (network == "mpi") return invalid("ranks of MPI have no data");
  for (const char* name : {"clients", "split", "classes-per-client", "stragglers", "present",
                           "leaving", "step-seconds", "slowest"}) {
    if (given_flags(std::string("--") + name)) {
      return invalid(std::string(name) + " is for simulated clients, not for workers");
    }
  }
  return {};
}

Options resolve(const ScenarioSettings& settings, fit::TrainingOptions fit,
                const GivenFlags& given_flags) {
  Options all = settings.options;
  if (!given_flags("--batch")) fit.batch = 10;
  if (!given_flags("--momentum")) fit.optimizer.momentum = 0;
  if (!given_flags("--schedule")) fit.schedule = train::Schedule::Kind::kConstant;
  if (!given_flags("--rate") && fit.optimizer.rule == train::OptimizerOptions::Rule::kSgd) {
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

Result<Options> resolve(const ScenarioSettings& settings, fit::TrainingOptions fit,
                        const GivenFlags& given_flags, std::string_view codec) {
  fit.checkpoint.clear();
  Options all = resolve(settings, std::move(fit), given_flags);
  const auto kind = learn::find_codec(codec);
  if (!kind) return invalid("codec " + std::string(codec) + " is for training without federated");
  all.codec = *kind;
  return all;
}

}  // namespace shoal::federated
