// Text files of trust: certificates, keys, invitations.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/status.h"

namespace shoal::net {

Result<std::string> read_text(const std::filesystem::path& path);
// For keys. kInvalidArgument if others can read the file, as ssh has it: a key that was readable is
// not known to be secret any more.
Result<std::string> read_secret(const std::filesystem::path& path);
Status write_text(const std::filesystem::path& path, std::string_view text,
                  AtomicFile::Readers readers = AtomicFile::Readers::kAll);
// Makes a file that only its owner can read. kInvalidArgument if there is one already, so that it
// also decides between two processes. All of these are on the disk when they return.
Status write_new_text(const std::filesystem::path& path, std::string_view text);
// Makes a folder that only its owner can read. An existing one stays as it is.
Status make_private_folder(const std::filesystem::path& path);

}  // namespace shoal::net
