// Where things of the user's are kept.
#pragma once

#include <filesystem>

namespace shoal::cli {

std::filesystem::path config_folder();  // $XDG_CONFIG_HOME/shoal, usually ~/.config/shoal

}  // namespace shoal::cli
