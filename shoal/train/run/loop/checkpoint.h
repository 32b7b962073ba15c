// Checkpoints: a file from which another process can resume training, with the same weights bit by
// bit.
//
// The file is in safetensors format with a checksum (train/data/safetensors.h). Tensors are called
// "state." + the trainer's name, or "best." + the weight's name. The metadata holds two JSON texts:
// "course", the progress, and "settings", the options that decide what is learned.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/train/run/loop/training_loop.h"
#include "shoal/train/run/setup/training_options.h"

namespace shoal::fit {

struct Checkpoint {
  TrainingProgress progress;
  std::string settings;                 // as settings_of gives them
  std::map<std::string, Tensor> state;  // as train::Trainer::state gives it
  std::map<std::string, Tensor> best;   // weights of the best epoch, if they are wanted
};

// The options that decide what is learned, as a JSON object. The number of epochs is left out, so
// that training may be extended.
std::string settings_of(const TrainingOptions& options);

// Replaces the file atomically.
Status write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

// kCorrupt if the file is damaged or no checkpoint; kInvalidArgument, naming the first difference,
// if it was made with other settings.
Result<Checkpoint> read_checkpoint(const std::filesystem::path& path, std::string_view settings);

}  // namespace shoal::fit
