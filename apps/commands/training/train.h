// shoal train: its settings, also on a cluster and by federated clients, and the rows, JSON fields
// and sentences of its result.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "apps/commands/model_settings.h"
#include "shoal/base/text/facts.h"
#include "shoal/base/text/setting.h"
#include "shoal/train/distributed/run/together_settings.h"
#include "shoal/train/federated/federated_options.h"
#include "shoal/train/federated/scenario.h"
#include "shoal/train/run/loop/train.h"
#include "shoal/train/run/setup/training_options.h"

namespace shoal::config {

struct TrainingSettings {
  fit::TrainingOptions options;  // what needs no further reading
  size_t feature_cache_mb = 256;
  std::string optimizer = "sgd", schedule = "cosine", damaged = "refuse";
};

// The settings of every training command: data, duration and optimiser.
SettingList recipe_settings(TrainingSettings& settings);
// Further settings for a network that is trained as it is: its trained weights, the loss, privacy,
// checkpoints.
// checkpoints.
SettingList network_settings(TrainingSettings& settings);
SettingList loss_settings(fit::TrainingOptions& options);
SettingList privacy_settings(privacy::PrivacyOptions& options);
SettingList checkpoint_settings(fit::TrainingOptions& options);

// All options except image preparation. REQUIRES: the words are known ones.
fit::TrainingOptions resolve(const TrainingSettings& settings, const std::string& model,
                             const DeviceSettings& device);

}  // namespace shoal::config

namespace shoal::fit {

// With the peak memory of this process.
Facts facts_of(const TrainingResult& result);
// For training with differential privacy, at this rate.
Facts facts_of(const privacy::PrivacySpent& spent, double images_per_second);
// Both, if there was privacy. An infinite epsilon is null.
Json to_json(const TrainingResult& result);

// The progress line of a step, and the line of the last epoch. REQUIRES: one has ended.
std::string text_of(const StepReport& report);
std::string text_of_epoch(const TrainingProgress& progress);

}  // namespace shoal::fit

namespace shoal::federated {

// Facts about a run besides its figures.
struct RunFacts {
  std::string strategy = {};
  uint64_t clients = 0;
  size_t per_round = 0;
  double seconds = 0;               // that it took
  std::string weights_sha256 = {};  // of what was learned
  bool secret = false;              // reports were hidden
};
Facts facts_of(const Figures& figures, const RunFacts& run);

// A round on one line.
std::string text_of(const RoundReport& round);

}  // namespace shoal::federated

namespace shoal::learn {

// All but the network, "cluster", which most of them need.
SettingList settings_of(TogetherSettings& settings);

}  // namespace shoal::learn

namespace shoal::federated {

// "federated", which the others need, and these.
SettingList settings_of(ScenarioSettings& settings);

}  // namespace shoal::federated
