#include "shoal/base/files/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "shoal/base/machine/pages.h"

namespace shoal {
namespace {

// Owns a descriptor for the length of a function; the mapping outlives it.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  void reset(int fd) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::map(int fd, bool inside) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_status(errno);
  if (!S_ISREG(info.st_mode)) return invalid("not a regular file");
  // A hard link inside the folder may be to a file outside it.
  if (inside && info.st_nlink > 1) {
    return invalid("is a hard link, which may lead outside the model's folder");
  }
  const auto size = static_cast<size_t>(info.st_size);
  const std::byte* data = nullptr;
  if (size > 0) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (address == MAP_FAILED) return system_status(errno);
    data = static_cast<const std::byte*>(address);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(data, size));
}

// mmap keeps the file; the descriptor is closed when the function returns.
Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe without a writer must not hang.
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return system_status(errno).at(path.string());
  auto mapped = map(fd.get(), /*inside=*/false);
  if (!mapped.ok()) return mapped.status().at(path.string());
  return mapped;
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open_inside(
    const std::filesystem::path& folder, const std::filesystem::path& name) {
  if (name.empty() || name.is_absolute()) return invalid("path must be relative to the model");
  Descriptor fd(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  // One component at a time, each relative to the folder opened before, and no link followed: so
  // that no other process can exchange a folder for a link meanwhile.
  if (fd.get() < 0) return system_status(errno);
  for (auto part = name.begin(); part != name.end(); ++part) {
    if (*part == "..") return invalid("path leaves the model's folder");
    const bool last = std::next(part) == name.end();
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (last ? 0 : O_DIRECTORY);
    const int next = ::openat(fd.get(), part->c_str(), flags);
    if (next < 0) {
      return errno == ELOOP
                 ? invalid("is a symbolic link, which may lead outside the model's folder")
                 : system_status(errno);
    }
    fd.reset(next);
  }
  return map(fd.get(), /*inside=*/true);
}

// Only whole pages can be given back; the ends of the part share pages with its neighbours.
void MappedFile::release(std::span<const std::byte> part) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto pages = whole_pages({const_cast<std::byte*>(part.data()), part.size()}, page);
  if (!pages.empty()) ::madvise(pages.data(), pages.size(), MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

// Without a range-based for, whose ++ throws.
Result<std::vector<std::filesystem::path>> list_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    paths.push_back(entry->path());
  }
  if (error) return system_status(error.value()).at(folder.string());
  std::ranges::sort(paths);
  return paths;
}

}  // namespace shoal
