// The small files of trust: certificates, keys, invitations.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "shoal/base/atomic_file.h"
#include "shoal/base/status.h"

namespace shoal::net {

Result<std::string> read_text(const std::filesystem::path& path);
Status write_text(const std::filesystem::path& path, std::string_view text,
                  AtomicFile::Readers readers = AtomicFile::Readers::kAll);
// Readable by its owner only. Fails where there is a file already.
Status write_new_text(const std::filesystem::path& path, std::string_view text);
// Only its owner can look inside. One that is there already stays as it is.
Status make_private_folder(const std::filesystem::path& path);

}  // namespace shoal::net
