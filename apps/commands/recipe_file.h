// Recipes: the settings of a command by the names of its flags, in a file in TOML, so that a run
// can be repeated.
#pragma once

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/base/text/setting.h"

namespace shoal::config {

// A recipe with all settings except those of the machine, a line each. Fails with kInvalidArgument
// for values that TOML cannot represent: texts that are not UTF-8, integers beyond 63 bits.
Result<std::string> to_recipe(std::span<const Setting> settings);

// Applies the recipe; other settings are left alone. Fails with kInvalidArgument if it is not TOML,
// has keys besides these and `others`, or a value of another type or out of range.
Status parse_recipe(std::string_view text, const std::string& name,
                    std::span<const Setting> settings,
                    const std::set<std::string_view>& others = {});
Status read_recipe(const std::filesystem::path& path, std::span<const Setting> settings);

}  // namespace shoal::config
