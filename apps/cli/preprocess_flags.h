// The flags that say what happens to an image before the model sees it, and saved sets of them.
#pragma once

#include <string>

#include "apps/flags/flags.h"
#include "shoal/base/status.h"
#include "shoal/data/image.h"

namespace shoal::cli {

class PreprocessFlags {
 public:
  void add_to(Command& command);

  // The preset's settings, or without one `before`, overridden by the flags given; saves them if
  // --save-preset was given.
  Result<Preprocess> resolve(const Preprocess& before = {}) const;

 private:
  Preprocess given_;
  std::string layout_;
  std::string preset_;
  std::string save_as_;
  Command* command_ = nullptr;  // to ask which flags were given; null: none
};

}  // namespace shoal::cli
