// Special networks in words, as flags say it.
#pragma once

#include <string>

#include "shoal/base/text/setting.h"
#include "shoal/variants/catalog/specialists/specialise.h"

namespace shoal::catalog {

struct SpecialiseSettings {
  SpecialiseOptions options;
  std::string general = {};  // the model that answers where the special one is not sure; empty: it
                             // is the one that was given
};

// All but files.
SettingList settings_of(SpecialiseSettings& settings);

// All options, with a head that learns by `recipe` and is written where that says, and features
// beside the file unless they have a folder.
SpecialiseOptions resolve(const SpecialiseSettings& settings, fit::TrainingOptions recipe);

}  // namespace shoal::catalog
