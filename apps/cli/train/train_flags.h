// The flags of shoal train, and what they say in the words of the rooms that do the work.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../model.h"
#include "../parser.h"
#include "../preprocess_flags.h"
#include "shoal/data/batches.h"
#include "shoal/train/schedule.h"
#include "shoal/train/trainer.h"

namespace shoal::cli {

struct TrainFlags {
  ModelFlags model;
  PreprocessFlags preprocess;

  std::string data, format;
  size_t limit = 0;  // training examples; 0: all
  double hold_out = 0.1;
  std::string damaged = "refuse";
  Augment augment;
  int loaders = 1;

  int64_t epochs = 10;
  size_t batch = 64;
  uint64_t seed = 1;
  bool bf16 = false;
  bool from_scratch = false;
  int64_t retarget = 0;  // classes; 0: as the network has
  std::vector<std::string> freeze;
  size_t feature_cache_mb = 256;
  std::string optimizer = "sgd";
  train::OptimizerOptions rule;
  bool rate_given = false;
  std::string schedule = "cosine";
  double warm_up = 0, drop_every = 10, drop = 0.1;  // in epochs
  train::Loss loss;
  std::vector<std::string> penalties;  // "lasso:filters:1e-4:conv*"
  std::string teacher;
  int64_t patience = 0;

  std::string out, checkpoint, report;
  int64_t checkpoint_every = 0;
  bool resume = false;
  double min_top1 = 0;
  bool json = false;

  void add_to(CLI::App& command);

  train::TrainerOptions trainer_options() const;
  train::Schedule schedule_of(size_t steps_per_epoch) const;
  BatchOptions training_batches(int64_t classes) const;
  Damaged damaged_examples() const { return damaged == "skip" ? Damaged::kSkip : Damaged::kRefuse; }
  std::filesystem::path checkpoint_path() const;

  // All that decides what is learned, to compare with what a checkpoint was made with. Not how
  // many epochs there are: one may go on longer than once planned.
  nlohmann::json settings() const;
};

}  // namespace shoal::cli
