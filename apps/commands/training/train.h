// shoal train: its settings, also of training by a cluster and by clients, and the rows, JSON
// fields and sentences about what was learned.
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

// What every command says that lets a network learn: from which data, for how long, by which rule.
SettingList recipe_settings(TrainingSettings& settings);
// What is said besides of a network that learns as it is: which weights do, the loss, privacy,
// checkpoints.
SettingList network_settings(TrainingSettings& settings);
SettingList loss_settings(fit::TrainingOptions& options);
SettingList privacy_settings(privacy::PrivacyOptions& options);
SettingList checkpoint_settings(fit::TrainingOptions& options);

// All options but how images are prepared. REQUIRES: the words are those that there are.
fit::TrainingOptions resolve(const TrainingSettings& settings, const std::string& model,
                             const DeviceSettings& device);

}  // namespace shoal::config

namespace shoal::fit {

// With the memory that this process has had at most.
Facts facts_of(const TrainingResult& result);
// Of training with differential privacy, at this number of images a second.
Facts facts_of(const privacy::PrivacySpent& spent, double images_per_second);
// Both, if there was privacy. An epsilon that is infinite is null.
Json to_json(const TrainingResult& result);

// What a line of progress says of a step, and what is said of the epoch that ended last. REQUIRES:
// one has ended.
std::string text_of(const StepReport& report);
std::string text_of_epoch(const TrainingProgress& progress);

}  // namespace shoal::fit

namespace shoal::federated {

// What is told of a run besides its figures.
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

// "federated", which the others need, and those.
SettingList settings_of(ScenarioSettings& settings);

}  // namespace shoal::federated
