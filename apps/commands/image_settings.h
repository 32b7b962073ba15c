// ImageSettings: what happens to an image before a network sees it, in words, and saved sets of
// that. Presets that users saved are in their configuration folder.
#pragma once

#include <string>

#include "shoal/base/text/setting.h"
#include "shoal/engine/inputs/image.h"

namespace shoal::config {

struct ImageSettings {
  Preprocess image = {};    // but for the layout
  std::string layout = {};  // nchw or nhwc; empty: what the network's input looks like
  std::string preset = {};  // a name that find_preset() knows, or one that was saved
  std::string save_as = {};
};

SettingList settings_of(ImageSettings& settings);

// The settings of the preset, or without one `before`, overridden by those that were given. Saves
// them if there is a name to save them as. Fails as load_preset() and save_preset().
Result<Preprocess> resolve(ImageSettings settings, const Preprocess& before,
                           const GivenFlags& given);

}  // namespace shoal::config
