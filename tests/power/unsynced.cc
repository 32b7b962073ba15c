// A disk that loses what was not synced, for a program that is started with LD_PRELOAD.
//
// Below SHOAL_POWER_ROOT, every call that changes names or puts something onto the disk is a step.
// fsync() of a file copies its content to SHOAL_POWER_DISK/files/INODE, fsync() of a folder its names
// to SHOAL_POWER_DISK/folders/INODE: what a disk is sure to have. At step SHOAL_POWER_CUT, counted
// from 1, the program ends before it, as by a power cut; run.py then makes a folder from what the disk
// has. SHOAL_POWER_STEPS names a file to which each step is appended.
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

std::string path_of(int fd) {
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(link, path, sizeof path);
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

// One process at a time writes there, which a lock of its own keeps in order between threads.
std::mutex& mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

void step(const char* what, const std::string& path) {
  static std::atomic<long> steps = 0;
  static const long cut = std::atol(text("SHOAL_POWER_CUT").c_str());
  const long now = ++steps;
  if (now == cut) ::_exit(kCut);
  const std::string log = text("SHOAL_POWER_STEPS");
  if (log.empty()) return;
  const std::string line = std::string(what) + " " + path.substr(root().size()) + "\n";
  const int fd = real<int (*)(const char*, int, ...)>("open")(
      log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (::write(fd, line.data(), line.size()) < 0) std::abort();
  ::close(fd);
}

std::string on_disk(const char* kind, const struct stat& what) {
  return text("SHOAL_POWER_DISK") + "/" + kind + "/" + std::to_string(what.st_ino);
}

void replace(const std::string& path, const std::string& content) {
  std::FILE* file = std::fopen((path + ".new").c_str(), "w");
  if (file == nullptr) std::abort();
  if (std::fwrite(content.data(), 1, content.size(), file) != content.size()) std::abort();
  if (std::fclose(file) != 0) std::abort();
  if (real<int (*)(const char*, const char*)>("rename")((path + ".new").c_str(), path.c_str()) != 0)
    std::abort();
}

std::string content_of(const std::string& path) {
  std::string content;
  char buffer[65536];
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) std::abort();
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) content.append(buffer, n);
  std::fclose(file);
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
  step("sync", path);
  struct stat what {};
  if (::fstat(fd, &what) != 0) std::abort();
  const std::lock_guard lock(mutex());
  if (S_ISDIR(what.st_mode)) {
    replace(on_disk("folders", what), names_in(path));
  } else {
    replace(on_disk("files", what), content_of(path));
  }
}

// An inode must not be given to another file while the disk may still have the old one.
void hold(const std::string& path) {
  static std::atomic<long> held = 0;
  const std::string name = text("SHOAL_POWER_DISK") + "/held/" + std::to_string(::getpid()) + "-" +
                           std::to_string(++held);
  static_cast<void>(real<int (*)(const char*, const char*)>("link")(path.c_str(), name.c_str()));
}

void remove_step(const char* path) {
  const std::string whole = absolute(path);
  if (!is_watched(whole)) return;
  step("remove", whole);
  hold(whole);
}

int open_step(const char* name, const char* path, int flags, mode_t mode) {
  const std::string whole = absolute(path);
  if ((flags & (O_CREAT | O_TRUNC)) != 0 && is_watched(whole)) step("open", whole);
  return real<int (*)(const char*, int, ...)>(name)(path, flags, mode);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_step("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_step("open64", path, flags, mode);
}

int fsync(int fd) {
  sync(fd);
  return 0;
}

int fdatasync(int fd) { return fsync(fd); }

int rename(const char* from, const char* to) noexcept {
  const std::string whole = absolute(to);
  if (is_watched(whole)) {
    step("rename", whole);
    hold(whole);
  }
  return real<int (*)(const char*, const char*)>("rename")(from, to);
}

int link(const char* from, const char* to) noexcept {
  if (is_watched(absolute(to))) step("link", absolute(to));
  return real<int (*)(const char*, const char*)>("link")(from, to);
}

int unlink(const char* path) noexcept {
  remove_step(path);
  return real<int (*)(const char*)>("unlink")(path);
}

int remove(const char* path) noexcept {
  remove_step(path);
  return real<int (*)(const char*)>("remove")(path);
}

int mkdir(const char* path, mode_t mode) noexcept {
  if (is_watched(absolute(path))) step("mkdir", absolute(path));
  return real<int (*)(const char*, mode_t)>("mkdir")(path, mode);
}

}  // extern "C"
