// Where things of the user's are kept.
#pragma once

#include <filesystem>

namespace shoal::cli {

std::filesystem::path config_folder();  // $XDG_CONFIG_HOME/shoal, usually ~/.config/shoal
std::filesystem::path cache_folder();   // $XDG_CACHE_HOME/shoal, usually ~/.cache/shoal

}  // namespace shoal::cli
