// A folder by mkdtemp(3): a fresh name, mode 0700.
#include "shoal/base/files/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace shoal {

namespace fs = std::filesystem;

Result<TemporaryFolder> TemporaryFolder::make() {
  std::error_code error;
  std::string path = (fs::temp_directory_path(error) / "shoal-XXXXXX").string();
  if (error) return system_status(error.value()).at("temporary folder");
  if (::mkdtemp(path.data()) == nullptr) return system_status(errno).at(path);
  return TemporaryFolder(path);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) {
  other.path_.clear();
}

// Errors are ignored: a destructor cannot report them.
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace shoal
