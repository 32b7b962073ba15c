// The flags of shoal shrink, the options they stand for, and recipes of them.
#pragma once

#include <string>

#include "apps/commands/training/shrink.h"
#include "train_flags.h"

namespace shoal::cli {

struct ShrinkFlags : config::ShrinkSettings {
  TrainFlags train;
  size_t variants = 0;               // 0: one network, no catalog
  std::string recipe, write_recipe;  // files; empty: none

  void add_to(Command& command);
  // Reads the recipe, if one was given; flags that were given have the last word. Fails as
  // read_shrink_recipe() does.
  Status take_recipe();
  // The flags combined with the recipe.
  config::ShrinkRecipe all() const;
  // All options. Saves the preset if --save-preset was given.
  Result<shrink::ShrinkOptions> resolve() const;

 private:
  void take(const config::ShrinkRecipe& all);

  Preprocess preprocess_;  // the recipe's, which flags override
};

}  // namespace shoal::cli
