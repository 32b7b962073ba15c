// Recipes: the settings of a command by the names of its flags, in a file in TOML, so that a run
// can be repeated.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::config {

// A setting that a recipe may hold.
struct Setting {
  using Place = std::variant<bool*, int*, int64_t*, uint64_t*, float*, double*, std::string*,
                             std::filesystem::path*, std::vector<float>*>;

  std::string_view name;                                 // of the flag, without dashes
  Place value;                                           // where it is kept
  std::vector<std::string> one_of = {};                  // the texts that it may be; empty: any
  double least = std::numeric_limits<double>::lowest();  // of a number
  double most = std::numeric_limits<double>::max();
  bool given = false;  // on the command line, where the recipe does not change it
};

// A recipe with all of them, a line each. Fails with kInvalidArgument for what TOML cannot say:
// texts that are no UTF-8, integers beyond 63 bits.
Result<std::string> to_recipe(std::span<const Setting> settings);

// Takes over what the recipe says; what it does not say stays as it is. Fails with kInvalidArgument
// if it is no TOML, has keys besides these and `others`, or a value of another type or out of
// range.
Status parse_recipe(std::string_view text, const std::string& name,
                    std::span<const Setting> settings,
                    const std::set<std::string_view>& others = {});
Status read_recipe(const std::filesystem::path& path, std::span<const Setting> settings);

}  // namespace shoal::config
