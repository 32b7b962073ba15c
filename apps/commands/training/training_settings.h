// TrainingSettings: how a network learns, in words, as flags and files say it.
#pragma once

#include <cstddef>
#include <string>

#include "apps/commands/model_settings.h"
#include "shoal/base/text/setting.h"
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
