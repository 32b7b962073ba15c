// The flags of shoal train, and the options they stand for.
#pragma once

#include <optional>
#include <string>

#include "../model.h"
#include "../preprocess_flags.h"
#include "apps/flags/flags.h"
#include "federated_flags.h"
#include "shoal/config/shrink_recipe.h"

namespace shoal::cli {

// Of training by the workers of a cluster.
struct TogetherFlags {
  std::string network;  // "own" or "mpi"; empty: this machine alone
  int64_t steps = 0;    // 0: as many as the epochs have
  std::string codec = "f32";
  int64_t micro_batches = 8;
  bool all_workers = false, lets_sleep = false;
  std::optional<bool> fixed_shares = {};  // as in train_cluster::Options
  double slack = 0;
  double straggler = 1;  // in each step another emulated worker takes so many times as long

  void add_to(Command& command);
};

struct TrainFlags : config::TrainingSettings {
  ModelFlags model;
  PreprocessFlags preprocess;
  std::string report;  // an HTML file; empty: none
  TogetherFlags together;
  FederatedFlags federated;
  double min_top1 = 0;
  bool json = false;

  void add_to(Command& command);
  // The flags that say how a network learns from which data, and none of the others. Where a recipe
  // may name model and data, no flag has to. kNoModel: the command makes its networks itself.
  // kWorkersToo: the data may lie on workers, so that the command asks for it where it does not.
  enum class Source { kFlags, kRecipeToo, kNoModel, kWorkersToo };
  void add_recipe_to(Command& command, Source source = Source::kFlags);

  // All options. Saves the preset if --save-preset was given. Flags and presets override
  // `preprocess_before`.
  Result<fit::TrainingOptions> resolve(const Preprocess& preprocess_before = {}) const;
};

// By the workers of a cluster together, and by clients, each from its own examples: simulated ones,
// or workers that have data.
Outcome train_on_cluster(const TrainFlags& flags);
Outcome train_federated(const TrainFlags& flags);

}  // namespace shoal::cli
