#include "shoal/base/files/user_folders.h"

#include <cstdlib>

namespace shoal {
namespace {

std::filesystem::path folder(const char* variable, const char* at_home) {
  if (const char* base = std::getenv(variable); base != nullptr && *base != '\0') {
    return std::filesystem::path(base) / "shoal";
  }
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : ".") / at_home / "shoal";
}

}  // namespace

std::filesystem::path config_folder() { return folder("XDG_CONFIG_HOME", ".config"); }
std::filesystem::path cache_folder() { return folder("XDG_CACHE_HOME", ".cache"); }

}  // namespace shoal
