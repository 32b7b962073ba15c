// TemporaryFolder: a folder that exists as long as the object does.
#pragma once

#include <filesystem>

#include "shoal/base/status.h"

namespace shoal {

class TemporaryFolder {
 public:
  // Makes an empty folder "shoal-XXXXXX" in the system's place for temporary files ($TMPDIR), which
  // only this user can enter.
  static Result<TemporaryFolder> make();

  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;  // empty: moved from
};

}  // namespace shoal
