#include "folders.h"

#include <cstdlib>

namespace shoal::cli {

std::filesystem::path config_folder() {
  if (const char* base = std::getenv("XDG_CONFIG_HOME"); base != nullptr && *base != '\0') {
    return std::filesystem::path(base) / "shoal";
  }
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : ".") / ".config" / "shoal";
}

}  // namespace shoal::cli
