// A course of training: how far it is and what came out so far, and how that is kept in a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/tensor/tensor.h"

namespace shoal::cli {

// What an epoch brought.
struct EpochResult {
  double loss = 0, top1 = 0;                    // of the examples learned from, on the way
  double held_out_loss = 0, held_out_top1 = 0;  // after it
  double seconds = 0;                           // since the beginning
};

struct Course {
  uint64_t epoch = 0;  // the position: this step of this epoch is the next
  size_t step = 0;
  double loss_sum = 0;  // of this epoch so far
  size_t right = 0;
  double seconds = 0;  // in all, earlier processes included
  std::vector<EpochResult> results;

  size_t best() const;  // the epoch with the best result on held-out examples
};

// A checkpoint: the position, the trainer's state, and the weights of the best epoch if they are
// wanted.
struct Checkpoint {
  Course course;
  nlohmann::json settings;
  std::map<std::string, Tensor> state, best;
};

Status write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);
// Refuses one that was made with other settings, and says which.
Result<Checkpoint> read_checkpoint(const std::filesystem::path& path,
                                   const nlohmann::json& settings);

}  // namespace shoal::cli
