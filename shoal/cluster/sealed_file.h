// Small files that are replaced as a whole and end with a checksum: what is read is what was
// written, or an error.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "shoal/base/status.h"

namespace shoal::cluster {

Status write_sealed(const std::filesystem::path& path, std::string_view text);

// kNotFound where there is none; kCorrupt where it is damaged.
Result<std::string> read_sealed(const std::filesystem::path& path);

}  // namespace shoal::cluster
