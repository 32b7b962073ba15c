// Writing by rename. The new content goes to NAME.PROCESS.part in the same folder, hence on the
// same file system, and rename(2) replaces the target in one step: readers see the old file or the
// new one. The number of the process in the name tells files that a killed writer left from those
// being written.
#include "shoal/base/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace shoal {
namespace {

constexpr std::string_view kPart = ".part";

// NAME.PROCESS.part
std::string part_suffix() { return "." + std::to_string(::getpid()) + std::string(kPart); }

std::optional<pid_t> writer_of(std::string_view name) {
  if (!name.ends_with(kPart)) return std::nullopt;
  name.remove_suffix(kPart.size());
  const size_t dot = name.rfind('.');
  if (dot == name.npos) return std::nullopt;
  name.remove_prefix(dot + 1);
  pid_t process = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
  const bool is_number = error == std::errc() && end == name.data() + name.size() && process > 0;
  return is_number ? std::optional(process) : std::nullopt;
}

// Any error but ESRCH means that the process exists; EPERM is that of another user's.
bool is_another_and_runs(pid_t process) {
  return process != ::getpid() && (::kill(process, 0) == 0 || errno != ESRCH);
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& target, Readers readers) {
  std::error_code ignored;
  // Through a symbolic link to what it names, so that the link stays one.
  std::filesystem::path real = std::filesystem::weakly_canonical(target, ignored);
  if (real.empty()) real = target;
  const auto status = std::filesystem::status(real, ignored);
  // A pipe or a device has no content to keep, and must not be replaced by a file.
  if (std::filesystem::is_directory(status)) return invalid("is a folder").at(target.string());
  const bool direct = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);

  std::filesystem::path written = real;
  if (!direct) written += part_suffix();
  // O_EXCL: a name that someone else has put there is refused, not followed.
  const int flags = O_WRONLY | O_CLOEXEC | (direct ? O_TRUNC : O_CREAT | O_EXCL);
  const int fd = ::open(written.c_str(), flags, readers == Readers::kOwner ? 0600 : 0666);
  if (fd < 0) return system_status(errno).at(target.string());
  File file(::fdopen(fd, "w"));
  if (file == nullptr) {
    const int error = errno;
    ::close(fd);
    return system_status(error).at(target.string());
  }
  return AtomicFile(std::move(file), std::move(real), std::move(written));
}

Status AtomicFile::failed(int error) const { return system_status(error).at(target_.string()); }

Status AtomicFile::write(std::span<const std::byte> bytes) {
  SHOAL_CHECK(file_ != nullptr);
  const bool all = std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size();
  return all ? Status() : failed(errno);
}

Status AtomicFile::commit() {
  SHOAL_CHECK(file_ != nullptr);
  // Closing may still fail: some file systems write only then.
  const bool closed = std::fclose(file_.release()) == 0;
  if (written_ == target_) return closed ? Status() : failed(errno);
  if (closed && std::rename(written_.c_str(), target_.c_str()) == 0) return {};
  Status status = failed(errno);
  ::unlink(written_.c_str());
  return status;
}

AtomicFile::~AtomicFile() {
  // A file without commit was given up. The stream is closed after the unlink, by its owner.
  if (file_ != nullptr && written_ != target_) ::unlink(written_.c_str());
}

void remove_abandoned(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::directory_iterator files(folder, error);
  for (const auto& file : files) {
    const auto writer = writer_of(file.path().filename().string());
    if (writer && !is_another_and_runs(*writer)) std::filesystem::remove(file.path(), error);
  }
}

Status write_file(const std::filesystem::path& target, std::string_view text) {
  SHOAL_ASSIGN(AtomicFile file, AtomicFile::create(target));
  SHOAL_TRY(file.write(std::as_bytes(std::span(text))));
  return file.commit();
}

}  // namespace shoal
