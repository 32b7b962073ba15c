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

// A recipe with all of them but those of the machine, a line each. Fails with kInvalidArgument for
// what TOML cannot say: texts that are no UTF-8, integers beyond 63 bits.
Result<std::string> to_recipe(std::span<const Setting> settings);

// Takes over what the recipe says; what it does not say stays as it is. Fails with kInvalidArgument
// if it is no TOML, has keys besides these and `others`, or a value of another type or out of
// range.
Status parse_recipe(std::string_view text, const std::string& name,
                    std::span<const Setting> settings,
                    const std::set<std::string_view>& others = {});
Status read_recipe(const std::filesystem::path& path, std::span<const Setting> settings);

}  // namespace shoal::config
