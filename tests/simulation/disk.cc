#include "disk.h"

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "scheduler.h"

namespace shoal::simulation {
namespace {

namespace fs = std::filesystem;

using Number = ino_t;
using Names = std::map<std::string, Number>;

std::map<Number, std::string>& synced_files() {
  static std::map<Number, std::string> files;
  return files;
}
std::map<std::string, Names>& synced_folders() {
  static std::map<std::string, Names> folders;
  return folders;
}

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Names names_in(const fs::path& folder) {
  Names names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    struct stat its {};
    if (entry.is_regular_file() && ::stat(entry.path().c_str(), &its) == 0) {
      names[entry.path().filename()] = its.st_ino;
    }
  }
  return names;
}

// What a file holds after the power cut.
std::string surviving(Number number, const std::map<Number, std::string>& written) {
  const auto synced = synced_files().find(number);
  const auto now = written.find(number);
  const bool has_news = now != written.end() && draw(2) == 0;
  if (has_news) return now->second;
  return synced != synced_files().end() ? synced->second : "";
}

}  // namespace

void note_synced(int descriptor) {
  const Uninterrupted alone;
  struct stat its {};
  if (::fstat(descriptor, &its) != 0) return;
  const fs::path link = "/proc/self/fd/" + std::to_string(descriptor);
  if (S_ISDIR(its.st_mode)) {
    const fs::path folder = fs::read_symlink(link);
    synced_folders()[folder] = names_in(folder);
  } else {
    synced_files()[its.st_ino] = content_of(link);
  }
}

void cut_power(const fs::path& folder) {
  const Uninterrupted alone;
  const Names names = names_in(folder);
  std::map<Number, std::string> written;
  for (const auto& [name, number] : names) written[number] = content_of(folder / name);
  const Names after = draw(2) == 0 ? names : synced_folders()[folder];
  std::map<std::string, std::string> files;
  for (const auto& [name, number] : after) files[name] = surviving(number, written);
  for (const auto& [name, number] : names) fs::remove(folder / name);
  // The kernel may give the numbers of removed files to the new ones.
  for (const auto& [name, number] : names) synced_files().erase(number);
  Names& synced = synced_folders()[folder];
  for (const auto& [name, content] : files) {
    std::ofstream(folder / name, std::ios::binary) << content;
  }
  synced = names_in(folder);
  for (const auto& [name, number] : synced) synced_files()[number] = files[name];
}

}  // namespace shoal::simulation
