// A disk that loses what was not synced, for a program that is started with LD_PRELOAD.
//
// Below SHOAL_POWER_ROOT, every call that changes names or puts something onto the disk is a step.
// fsync() of a file copies its content to SHOAL_POWER_DISK/files/INODE, fsync() of a folder its
// names to SHOAL_POWER_DISK/folders/INODE: what a disk is sure to have. At step SHOAL_POWER_CUT,
// counted from 1, the program ends before it, as by a power cut; disk.py then makes a folder from
// what the disk has. SHOAL_POWER_STEPS names a file to which each step is appended.
// SHOAL_POWER_LOST, "files" or "folders", plants a bug: what it names is not synced.
//
// Calls of write() are no steps: what was written and not synced is lost, torn or kept, whenever
// the power is cut, and disk.py makes a folder for each.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace {

constexpr int kCut = 99;  // the exit code

template <class F>
F real(const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}

std::string text(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

const std::string& root() {
  static const auto* const path = new std::string(text("SHOAL_POWER_ROOT"));
  return *path;
}

std::string link_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

std::string path_of(int fd) {
  char path[4096];
  const ssize_t length = ::readlink(link_of(fd).c_str(), path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string();
}

std::string absolute(const char* path) {
  if (path == nullptr || *path == '/') return path == nullptr ? "" : path;
  char folder[4096];
  return ::getcwd(folder, sizeof folder) == nullptr ? path : std::string(folder) + "/" + path;
}

bool is_watched(const std::string& path) {
  return !root().empty() && path.compare(0, root().size(), root()) == 0;
}

// Steps are taken one after the other, so that none is half done when the power is cut.
std::recursive_mutex& mutex() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}
using Lock = std::lock_guard<std::recursive_mutex>;

int open_for_real(const char* path, int flags) {
  return real<int (*)(const char*, int, ...)>("open")(path, flags | O_CLOEXEC, 0600);
}

void write_all(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n <= 0) std::abort();
    done += static_cast<size_t>(n);
  }
}

void step(const char* what, const std::string& path) {
  static std::atomic<long> steps = 0;
  static const long cut = std::atol(text("SHOAL_POWER_CUT").c_str());
  const long now = ++steps;
  if (now == cut) ::_exit(kCut);
  const std::string log = text("SHOAL_POWER_STEPS");
  if (log.empty()) return;
  const int fd = open_for_real(log.c_str(), O_WRONLY | O_CREAT | O_APPEND);
  if (fd < 0) std::abort();
  write_all(fd, std::string(what) + " " + path.substr(root().size()) + "\n");
  ::close(fd);
}

std::string on_disk(const char* kind, const struct stat& what) {
  return text("SHOAL_POWER_DISK") + "/" + kind + "/" + std::to_string(what.st_ino);
}

// As a whole: other processes of this machine use the disk, too.
void replace(const std::string& path, const std::string& content, mode_t mode) {
  const std::string fresh = path + "." + std::to_string(::getpid());
  const int fd = open_for_real(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC);
  if (fd < 0) std::abort();
  write_all(fd, content);
  if (::fchmod(fd, mode & 0777) != 0) std::abort();
  ::close(fd);
  if (real<int (*)(const char*, const char*)>("rename")(fresh.c_str(), path.c_str()) != 0)
    std::abort();
}

// By its descriptor: it may have no name any more.
std::string content_of(int fd) {
  std::string content;
  char buffer[65536];
  const int file = open_for_real(link_of(fd).c_str(), O_RDONLY);
  if (file < 0) std::abort();
  for (ssize_t n; (n = ::read(file, buffer, sizeof buffer)) > 0;) {
    content.append(buffer, static_cast<size_t>(n));
  }
  ::close(file);
  return content;
}

// A line for each name: its inode, "d" or "f", the name.
std::string names_in(const std::string& path) {
  std::string names;
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) std::abort();
  while (const dirent* entry = ::readdir(folder)) {
    const std::string name = entry->d_name;
    struct stat found {};
    if (name == "." || name == ".." || ::lstat((path + "/" + name).c_str(), &found) != 0) continue;
    names += std::to_string(found.st_ino) + (S_ISDIR(found.st_mode) ? " d " : " f ") + name + "\n";
  }
  ::closedir(folder);
  return names;
}

void sync(int fd) {
  const std::string path = path_of(fd);
  if (!is_watched(path)) return;
  const Lock lock(mutex());
  step("sync", path);
  struct stat what {};
  if (::fstat(fd, &what) != 0) std::abort();
  const bool is_folder = S_ISDIR(what.st_mode);
  const char* kind = is_folder ? "folders" : "files";
  if (text("SHOAL_POWER_LOST") == kind) return;
  replace(on_disk(kind, what), is_folder ? names_in(path) : content_of(fd), what.st_mode);
}

// An inode must not be given to another file while the disk may still have the old one.
void hold(const std::string& path) {
  static std::atomic<long> held = 0;
  const std::string name = text("SHOAL_POWER_DISK") + "/held/" + std::to_string(::getpid()) + "-" +
                           std::to_string(++held);
  static_cast<void>(real<int (*)(const char*, const char*)>("link")(path.c_str(), name.c_str()));
}

// Calls `act` as one step, if one of these paths is watched.
template <class Act>
auto as_step(const char* what, const std::string& path, const Act& act) {
  if (!is_watched(path)) return act();
  const Lock lock(mutex());
  step(what, path);
  return act();
}

// The same for a call that takes a file's name away, or gives it to another.
template <class Act>
auto as_removal(const char* what, const std::string& path, const Act& act) {
  return as_step(what, path, [&] {
    if (is_watched(path)) hold(path);
    return act();
  });
}

int open_as_step(const char* name, const char* path, int flags, mode_t mode) {
  const auto open = [&] { return real<int (*)(const char*, int, ...)>(name)(path, flags, mode); };
  const bool changes = (flags & (O_CREAT | O_TRUNC)) != 0;
  return changes ? as_step("open", absolute(path), open) : open();
}

std::FILE* fopen_as_step(const char* name, const char* path, const char* mode) {
  const auto open = [&] {
    return real<std::FILE* (*)(const char*, const char*)>(name)(path, mode);
  };
  return *mode == 'r' ? open() : as_step("open", absolute(path), open);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_as_step("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_as_step("open64", path, flags, mode);
}

std::FILE* fopen(const char* path, const char* mode) { return fopen_as_step("fopen", path, mode); }

std::FILE* fopen64(const char* path, const char* mode) {
  return fopen_as_step("fopen64", path, mode);
}

int fsync(int fd) {
  sync(fd);
  return 0;
}

int fdatasync(int fd) { return fsync(fd); }

int rename(const char* from, const char* to) noexcept {
  return as_removal("rename", absolute(to),
                    [&] { return real<int (*)(const char*, const char*)>("rename")(from, to); });
}

int link(const char* from, const char* to) noexcept {
  return as_step("link", absolute(to),
                 [&] { return real<int (*)(const char*, const char*)>("link")(from, to); });
}

int unlink(const char* path) noexcept {
  return as_removal("remove", absolute(path),
                    [&] { return real<int (*)(const char*)>("unlink")(path); });
}

int remove(const char* path) noexcept {
  return as_removal("remove", absolute(path),
                    [&] { return real<int (*)(const char*)>("remove")(path); });
}

int mkdir(const char* path, mode_t mode) noexcept {
  return as_step("mkdir", absolute(path),
                 [&] { return real<int (*)(const char*, mode_t)>("mkdir")(path, mode); });
}

}  // extern "C"
