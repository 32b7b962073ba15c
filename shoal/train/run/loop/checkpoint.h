// Checkpoints: training written to a file, so that another process can go on from there to the same
// weights, bit by bit.
//
// The file is in safetensors format with a checksum (train/data/safetensors.h). Tensors are called
// "state." and the trainer's name of them, or "best." and the name of the weight. The metadata has
// two texts in JSON: "course", the progress, and "settings", the options that decide what is
// learned.
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

// The options that decide what is learned, as a JSON object. The number of epochs is not among
// them: training may go on for longer than once planned.
std::string settings_of(const TrainingOptions& options);

// Writes all of the file, or leaves the old one as it was.
Status write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

// Fails with kCorrupt if the file is damaged or no checkpoint, and with kInvalidArgument if it was
// made with settings that differ from these; the message names the first that does.
Result<Checkpoint> read_checkpoint(const std::filesystem::path& path, std::string_view settings);

}  // namespace shoal::fit
