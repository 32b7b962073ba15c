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
  // The flags for training and data only. If a recipe may name model and data, they are optional.
  // kNoModel: the command makes its networks itself. kWorkersToo: the data may lie on workers, so
  // that the command asks for it if needed.
  enum class Source { kFlags, kRecipeToo, kNoModel, kWorkersToo };
  void add_recipe_to(Command& command, Source source = Source::kFlags);

  // kInvalidArgument for flags of shoal train that do not go together, or are missing.
  Status check() const;
  // All options. Saves the preset if --save-preset was given. Flags and presets override
  // `preprocess_before`.
  Result<fit::TrainingOptions> resolve(const Preprocess& preprocess_before = {}) const;
};

// On the workers of a cluster together, and by federated clients, each with its own examples:
// simulated ones, or workers that have data.
Outcome train_on_cluster(const TrainFlags& flags);
Outcome train_federated(const TrainFlags& flags);

}  // namespace shoal::cli
