#include "shoal/cluster/net/text_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <span>

#include "shoal/base/files/file.h"

namespace shoal::net {

Result<std::string> read_text(const std::filesystem::path& path) {
  SHOAL_ASSIGN(const auto file, MappedFile::open(path));
  const auto bytes = file->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::string> read_secret(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return system_status(errno).at(path.string());
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return invalid(path.string() +
                   " can be read or written by others; chmod 600 it, or make a new "
                   "one if they may have read it");
  return read_text(path);
}

Status write_text(const std::filesystem::path& path, std::string_view text,
                  AtomicFile::Readers readers) {
  return write_file(path, text, {.readers = readers});
}

Status write_new_text(const std::filesystem::path& path, std::string_view text) {
  SHOAL_ASSIGN(AtomicFile file, AtomicFile::create(path, {.readers = AtomicFile::Readers::kOwner}));
  SHOAL_TRY(file.write(std::as_bytes(std::span(text))));
  return file.commit_new();
}

Status make_private_folder(const std::filesystem::path& path) {
  return make_folder(path, AtomicFile::Readers::kOwner);
}

}  // namespace shoal::net
