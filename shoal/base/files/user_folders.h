// Folders of the user's, as the XDG base directory specification places them.
#pragma once

#include <filesystem>

namespace shoal {

std::filesystem::path config_folder();  // $XDG_CONFIG_HOME/shoal, usually ~/.config/shoal
std::filesystem::path cache_folder();   // $XDG_CACHE_HOME/shoal, usually ~/.cache/shoal

}  // namespace shoal
