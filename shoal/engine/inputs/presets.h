// Presets: named settings of preprocessing.
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

// Presets as files of one folder, NAME.json. Names consist of letters, digits, - and _, so that
// none leaves the folder: kInvalidArgument otherwise.

// A preset of find_preset(), or one of the folder. kNotFound if there is none.
Result<Preprocess> load_preset(const std::filesystem::path& folder, const std::string& name);
// Makes the folder if it does not exist.
Status save_preset(const std::filesystem::path& folder, const std::string& name,
                   const Preprocess& how);

}  // namespace shoal
