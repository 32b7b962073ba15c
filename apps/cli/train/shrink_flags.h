// The flags of shoal shrink, the options they stand for, and recipes of them.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/config/recipe_file.h"
#include "shoal/shrink/shrink_options.h"
#include "train_flags.h"

namespace shoal::cli {

struct ShrinkFlags {
  TrainFlags train;
  std::string target = "macs=0.5", method = "taylor", teacher = "dense";
  shrink::ShrinkOptions options;  // what needs no further reading
  size_t variants = 0;            // 0: one network, no catalog
  float distill = 0.5F, temperature = 4;
  bool no_norms = false;
  bool no_refit = false;
  std::string recipe, write_recipe;  // files; empty: none
  std::string train_device;          // empty: train.model's

  void add_to(Command& command);
  // The usual recipe of a command without flags.
  void set_usual();

  // Reads the recipe, if one was given; flags that were given have the last word. Fails as
  // parse_recipe() does, and if neither says what to shrink or what to learn from.
  Status take_recipe();
  // The same for a text and no flags, of what others have taken before; keys that others read are
  // left alone.
  Status take_text(std::string_view text, const std::string& name,
                   const std::set<std::string_view>& others);
  // What training runs on: --train-device, or else --device.
  ModelFlags training_device() const;
  // All options. Saves the preset if --save-preset was given.
  Result<shrink::ShrinkOptions> resolve() const;

 private:
  Status require_source() const;
  // All that decides what is written. Points into this.
  std::vector<config::Setting> settings();
  friend Result<std::string> recipe_of(ShrinkFlags flags, const shrink::ShrinkOptions& options,
                                       int threads);

  Preprocess preprocess_;  // the recipe's, which flags override
  std::string layout_ = "nchw";
  Command* command_ = nullptr;  // to ask which flags were given
};

// The recipe of a run with these options on so many threads: with it, the command gives the same
// file again. Presets and usual values are written out. Fails as to_recipe() does.
Result<std::string> recipe_of(ShrinkFlags flags, const shrink::ShrinkOptions& options, int threads);

}  // namespace shoal::cli
