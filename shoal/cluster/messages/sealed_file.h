// Sealed files: small files that are replaced as a whole and end with a checksum, which finds
// accidents, not attacks. Any thread; writers of one file need their own lock.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/status.h"

namespace shoal::cluster {

Status write_sealed(const std::filesystem::path& path, std::string_view text,
                    FileOptions options = {});

// kNotFound if there is no file; kCorrupt if it is damaged.
Result<std::string> read_sealed(const std::filesystem::path& path);

}  // namespace shoal::cluster
