// The flags of shoal train, and the options they stand for.
#pragma once

#include <string>

#include "../model.h"
#include "../preprocess_flags.h"
#include "apps/commands/training/train.h"
#include "apps/flags/flags.h"
#include "shoal/train/distributed/run/together_settings.h"
#include "shoal/train/federated/scenario.h"

namespace shoal::cli {

struct TrainFlags : config::TrainingSettings {
  ModelFlags model;
  PreprocessFlags preprocess;
  std::string report;  // an HTML file; empty: none
  learn::TogetherSettings together;
  federated::ScenarioSettings federated;
  GivenFlags given;
  double min_top1 = 0;
  bool json = false;

  void add_to(Command& command);
  // The flags that say how a network learns from which data, and none of the others. Where a recipe
  // may name model and data, no flag has to. kNoModel: the command makes its networks itself.
  // kWorkersToo: the data may lie on workers, so that the command asks for it where it does not.
  enum class Source { kFlags, kRecipeToo, kNoModel, kWorkersToo };
  void add_recipe_to(Command& command, Source source = Source::kFlags);

  // kInvalidArgument for flags of shoal train that do not go together, or are missing.
  Status check() const;
  // All options. Saves the preset if --save-preset was given. Flags and presets override
  // `preprocess_before`.
  Result<fit::TrainingOptions> resolve(const Preprocess& preprocess_before = {}) const;
};

// By the workers of a cluster together, and by clients, each from its own examples: simulated ones,
// or workers that have data.
Outcome train_on_cluster(const TrainFlags& flags);
Outcome train_federated(const TrainFlags& flags);

}  // namespace shoal::cli
