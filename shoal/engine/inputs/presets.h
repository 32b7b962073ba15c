// Presets: settings of preprocessing that are kept under a name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/engine/inputs/image.h"

namespace shoal {

// One JSON object, and back. kCorrupt if the text is none, or has other members than to_json()
// writes; members that are missing have their defaults.
std::string to_json(const Preprocess& how);
Result<Preprocess> parse_preset(std::string_view json);

// Presets as files of one folder, NAME.json. Names hold letters, digits, - and _ only, so that none
// leads out of the folder: kInvalidArgument otherwise.

// A preset of find_preset(), or one of the folder. kNotFound if there is none.
Result<Preprocess> load_preset(const std::filesystem::path& folder, const std::string& name);
// Makes the folder if it is not there.
Status save_preset(const std::filesystem::path& folder, const std::string& name,
                   const Preprocess& how);

}  // namespace shoal
