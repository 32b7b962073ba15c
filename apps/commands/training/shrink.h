// shoal shrink and shoal tprune: their settings, recipes, and the rows and JSON fields of results.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apps/commands/model_settings.h"
#include "apps/commands/training/train.h"
#include "shoal/base/status.h"
#include "shoal/base/text/facts.h"
#include "shoal/base/text/setting.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/shrink/prune/shrink.h"
#include "shoal/shrink/prune/shrink_options.h"
#include "shoal/shrink/prune/tprune.h"

namespace shoal::config {

// The pruning method, and the training after it.
struct ShrinkSettings {
  std::string target = "macs=0.5", method = "taylor", teacher = "dense";
  shrink::ShrinkOptions options;  // what needs no further reading
  float distill = 0.5F, temperature = 4;
  bool no_norms = false, no_refit = false;
  std::string train_device;  // empty: the one that the network is for
};

SettingList settings_of(ShrinkSettings& settings);

// The texts of ShrinkSettings::method.
std::vector<std::string> shrink_methods();

struct ShrinkRecipe {
  std::string model;
  DeviceSettings device;
  TrainingSettings training;
  ShrinkSettings shrink;
  Preprocess preprocess;

  // The device of training, and the network's later device.
  DeviceSettings training_device() const;
  DeviceSettings measured_device() const;
};

// Without a model and data.
ShrinkRecipe usual_shrink_recipe();

// All options. Fails as shrink::set_target() does. REQUIRES: the words are known ones.
Result<shrink::ShrinkOptions> resolve(const ShrinkRecipe& recipe);

// kInvalidArgument unless there are a model and data.
Status require_source(const ShrinkRecipe& recipe);

// Applies a file (recipe_file.h) with the names of the flags of shoal shrink, and requires a
// source. `others` are keys that other readers use. `given` tells which flags were given,
// "--epochs" or "model", which the file does not change.
Status parse_shrink_recipe(std::string_view text, const std::string& name, ShrinkRecipe& recipe,
                           const std::set<std::string_view>& others = {});
Status read_shrink_recipe(const std::filesystem::path& path, ShrinkRecipe& recipe,
                          const GivenFlags& given);

// The recipe of a run with these options on this many threads: it reproduces the same file. Presets
// and defaults are written out. Fails as to_recipe() does.
Result<std::string> to_recipe(ShrinkRecipe recipe, const shrink::ShrinkOptions& options,
                              int threads);

}  // namespace shoal::config

namespace shoal::shrink {

// For a run with these options. The object has the size of the file; unknown values are null.
Json to_json(const ShrinkResult& result, const ShrinkOptions& options);
std::vector<Facts> rows_of(const ShrinkResult& result, const ShrinkOptions& options);
std::vector<std::string> lines_of(const ShrinkResult& result, const ShrinkOptions& options);

Json to_json(const TPruneResult& result);
std::vector<Facts> rows_of(const TPruneResult& result);
std::vector<std::string> lines_of(const TPruneResult& result);

struct TPruneSettings {
  std::string inputs, labels, test_inputs, test_labels;  // files, .npy; empty: none
  std::string target = "macs=0.5", penalty = "hoyer", optimizer = "adam";
  TPruneOptions options = {.sparse = {.strength = 1e-3}};  // what needs no further reading
};

SettingList settings_of(TPruneSettings& settings);

// Fails as compress::parse_target(). REQUIRES: the other words are known ones.
Result<TPruneOptions> resolve(const TPruneSettings& settings);

// The arrays of the files. Fails as read_npy().
Result<TPruneData> read_data(const TPruneSettings& settings);

}  // namespace shoal::shrink
