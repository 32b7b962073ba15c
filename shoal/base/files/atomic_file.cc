// Writing by rename. The new content goes to NAME.RANDOM.part in the same folder, hence on the same
// file system, and rename(2) replaces the target in one step: readers see the old file or the new
// one.
//
// Only synced data survive a power cut: the content is synced before the rename, or the file could
// be empty, and the folder after it, or the old file could come back.
//
// A writer holds a lock on its temporary file while it lives, and the kernel releases locks of
// killed processes: a file that can be locked was abandoned. Process ids would not tell: they are
// reused, and differ between containers that share a folder.
#include "shoal/base/files/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

#include "shoal/base/files/file.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPart = ".part", kHexDigits = "0123456789abcdef";
constexpr size_t kRandomDigits = 16;

// ".RANDOM.part"
std::string part_suffix() {
  std::random_device random;
  std::string suffix = ".";
  for (size_t i = 0; i < kRandomDigits; ++i) suffix += kHexDigits[random() % kHexDigits.size()];
  return suffix + std::string(kPart);
}

bool is_part(std::string_view name) {
  constexpr size_t kSuffix = 1 + kRandomDigits + kPart.size();
  if (name.size() <= kSuffix || !name.ends_with(kPart)) return false;
  name.remove_suffix(kPart.size());
  const std::string_view digits = name.substr(name.size() - kRandomDigits);
  return name[name.size() - kRandomDigits - 1] == '.' &&
         digits.find_first_not_of(kHexDigits) == digits.npos;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// Opens a new file beside `target` and locks it. remove_abandoned() may remove it in between; then
// another file is made.
Result<std::pair<int, fs::path>> open_part(const fs::path& target, mode_t mode) {
  for (;;) {
    fs::path written = target;
    written += part_suffix();
    // O_EXCL: an existing name is refused, not followed.
    Descriptor file(::open(written.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!file.ok()) return system_status(errno);
    struct stat now {};
    const bool locked = ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    if (locked && ::fstat(file.get(), &now) == 0 && now.st_nlink > 0) {
      return std::pair(file.release(), std::move(written));
    }
  }
}

void remove_if_abandoned(const fs::path& part) {
  const Descriptor file(::open(part.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.ok() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(part.c_str());
}

// Names with this prefix.
void remove_abandoned(const fs::path& folder, std::string_view prefix) {
  const auto files = list_folder(folder);
  if (!files.ok()) return;
  for (const fs::path& file : *files) {
    const std::string name = file.filename().string();
    if (name.starts_with(prefix) && is_part(name)) remove_if_abandoned(file);
  }
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const fs::path& target, FileOptions options) {
  std::error_code ignored;
  // Through a symbolic link to what it names, so that the link stays one.
  fs::path real = fs::weakly_canonical(target, ignored);
  if (real.empty()) real = target;
  const auto status = fs::status(real, ignored);
  if (fs::is_directory(status)) return invalid("is a folder").at(target.string());

  // A pipe or a device has no content to keep, and must not be replaced by a file.
  const bool direct = fs::exists(status) && !fs::is_regular_file(status);
  const mode_t mode = options.readers == Readers::kOwner ? 0600 : 0666;
  int fd = -1;
  fs::path written = real;
  if (direct) {
    fd = ::open(real.c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC);
    if (fd < 0) return system_status(errno).at(target.string());
  } else {
    remove_abandoned(real.parent_path(), real.filename().string() + ".");
    auto opened = open_part(real, mode);
    if (!opened.ok()) return opened.status().at(target.string());
    std::tie(fd, written) = *std::move(opened);
  }
  File file(::fdopen(fd, "w"));
  if (file == nullptr) {
    const int error = errno;
    ::close(fd);
    return system_status(error).at(target.string());
  }
  return AtomicFile(std::move(file), std::move(real), std::move(written),
                    options.durable && !direct);
}

Status AtomicFile::failed(int error) const { return system_status(error).at(target_.string()); }

Status AtomicFile::write(std::span<const std::byte> bytes) {
  SHOAL_CHECK(file_ != nullptr);
  const bool all = std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size();
  return all ? Status() : failed(errno);
}

// Everything written is in the file and, if durable, on the disk.
Status AtomicFile::finish() {
  SHOAL_CHECK(file_ != nullptr);
  int error = 0;
  if (std::fflush(file_.get()) != 0) error = errno;
  if (error == 0 && durable_ && ::fsync(::fileno(file_.get())) != 0) error = errno;
  // Closing may still fail: some file systems write only then.
  if (std::fclose(file_.release()) != 0 && error == 0) error = errno;
  if (error == 0) return {};
  if (written_ != target_) ::unlink(written_.c_str());
  return failed(error);
}

Status AtomicFile::commit() {
  SHOAL_TRY(finish());
  if (written_ == target_) return {};
  if (std::rename(written_.c_str(), target_.c_str()) != 0) {
    Status status = failed(errno);
    ::unlink(written_.c_str());
    return status;
  }
  return durable_ ? sync_folder(target_.parent_path()) : Status();
}

// A link, unlike a rename, replaces nothing.
Status AtomicFile::commit_new() {
  SHOAL_CHECK(written_ != target_);
  SHOAL_TRY(finish());
  const int error = ::link(written_.c_str(), target_.c_str()) == 0 ? 0 : errno;
  ::unlink(written_.c_str());
  if (error == EEXIST) return invalid("exists already").at(target_.string());
  if (error != 0) return failed(error);
  return durable_ ? sync_folder(target_.parent_path()) : Status();
}

AtomicFile::~AtomicFile() {
  // A file without commit was given up. The stream is closed after the unlink, by its owner.
  if (file_ != nullptr && written_ != target_) ::unlink(written_.c_str());
}

void remove_abandoned(const fs::path& folder) { remove_abandoned(folder, ""); }

Status sync_folder(const fs::path& folder) {
  const fs::path& path = folder.empty() ? fs::path(".") : folder;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.ok()) return system_status(errno).at(path.string());
  // EINVAL: a file system without support for it.
  if (::fsync(file.get()) == 0 || errno == EINVAL) return {};
  return system_status(errno).at(path.string());
}

Status make_folder(const fs::path& folder, FileOptions::Readers readers) {
  const mode_t mode = readers == FileOptions::Readers::kOwner ? 0700 : 0777;
  if (::mkdir(folder.c_str(), mode) == 0) return sync_folder(folder.parent_path());
  if (errno == ENOENT && folder.has_parent_path() && folder.parent_path() != folder) {
    SHOAL_TRY(make_folder(folder.parent_path()));
    if (::mkdir(folder.c_str(), mode) == 0) return sync_folder(folder.parent_path());
  }
  return errno == EEXIST ? Status() : system_status(errno).at(folder.string());
}

Status write_file(const fs::path& target, std::string_view text, FileOptions options) {
  SHOAL_ASSIGN(AtomicFile file, AtomicFile::create(target, options));
  SHOAL_TRY(file.write(std::as_bytes(std::span(text))));
  return file.commit();
}

}  // namespace shoal
