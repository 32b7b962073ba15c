#include "shoal/net/text_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <span>

#include "shoal/base/file.h"

namespace shoal::net {

Result<std::string> read_text(const std::filesystem::path& path) {
  SHOAL_ASSIGN(const auto file, MappedFile::open(path));
  const auto bytes = file->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
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
