// ShrinkRecipe: all that decides what a run of shrink() writes, in words, as flags and files say
// it.
//
//   ShrinkRecipe recipe = usual_shrink_recipe();
//   SHOAL_TRY(parse_shrink_recipe(text, "small.toml", recipe));
//   SHOAL_ASSIGN(const shrink::ShrinkOptions options, resolve(recipe));
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apps/commands/device_settings.h"
#include "apps/commands/training/training_settings.h"
#include "shoal/base/status.h"
#include "shoal/base/text/setting.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/shrink/prune/shrink_options.h"

namespace shoal::config {

// What goes, and how the rest learns.
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

  // What training runs on, and the device as the network will run on it.
  DeviceSettings training_device() const;
  DeviceSettings measured_device() const;
};

// Without a model and data.
ShrinkRecipe usual_shrink_recipe();

// All options. Fails as shrink::set_target() does. REQUIRES: the words are those that there are.
Result<shrink::ShrinkOptions> resolve(const ShrinkRecipe& recipe);

// kInvalidArgument unless there are a model and data.
Status require_source(const ShrinkRecipe& recipe);

// Takes over what a file says (recipe_file.h), under the names of the flags of shoal shrink, and
// requires a source. `others` are keys that somebody else reads. `given` says which flags were
// given, "--epochs" or "model", which the file does not change.
Status parse_shrink_recipe(std::string_view text, const std::string& name, ShrinkRecipe& recipe,
                           const std::set<std::string_view>& others = {});
Status read_shrink_recipe(const std::filesystem::path& path, ShrinkRecipe& recipe,
                          const GivenFlags& given);

// The recipe of a run with these options on so many threads: with it, the same file is written
// again. Presets and usual values are written out. Fails as to_recipe() does.
Result<std::string> to_recipe(ShrinkRecipe recipe, const shrink::ShrinkOptions& options,
                              int threads);

}  // namespace shoal::config
