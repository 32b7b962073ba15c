#include "shoal/net/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <system_error>

#include "shoal/base/file.h"

namespace shoal::net {

Result<std::string> read_text(const std::filesystem::path& path) {
  SHOAL_ASSIGN(const auto file, MappedFile::open(path));
  const auto bytes = file->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Status write_text(const std::filesystem::path& path, std::string_view text,
                  AtomicFile::Readers readers) {
  SHOAL_ASSIGN(AtomicFile file, AtomicFile::create(path, readers));
  SHOAL_TRY(file.write(std::as_bytes(std::span(text))));
  return file.commit();
}

Status write_new_text(const std::filesystem::path& path, std::string_view text) {
  // O_EXCL: of two processes that create the same record, exactly one succeeds.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return system_status(errno).at(path.string());
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = written ? 0 : errno;
  const bool closed = ::close(fd) == 0;
  if (written && closed) return {};
  // Half a record must not block the name for ever.
  ::unlink(path.c_str());
  return system_status(error != 0 ? error : EIO).at(path.string());
}

Status make_private_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return system_status(errno).at(path.string());
}

}  // namespace shoal::net
