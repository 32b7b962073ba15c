// The flags for preparing images.
#pragma once

#include "apps/commands/model_settings.h"
#include "apps/flags/flags.h"

namespace shoal::cli {

class PreprocessFlags {
 public:
  void add_to(Command& command) {
    given_ = command.given();
    command.add(under("Image preprocessing", settings_of(settings_)));
  }

  // As config::resolve(). REQUIRES: the command is still there.
  Result<Preprocess> resolve(const Preprocess& before = {}) const {
    return config::resolve(settings_, before, given_);
  }

 private:
  config::ImageSettings settings_;
  GivenFlags given_ = [](const std::string&) { return false; };
};

}  // namespace shoal::cli
