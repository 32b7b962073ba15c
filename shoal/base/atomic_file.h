// Files as they are written: all of the new content, or the old file as it was.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "shoal/base/status.h"

namespace shoal {

// Writes beside the target under a temporary name; commit() moves it into place. Without a commit
// nothing is left behind. A target that is no regular file (a pipe, /dev/null) is written directly.
class AtomicFile {
 public:
  enum class Readers { kAll, kOwner };  // of a new file; kAll is what the umask allows
  static Result<AtomicFile> create(const std::filesystem::path& target,
                                   Readers readers = Readers::kAll);

  Status write(std::span<const std::byte> bytes);
  Status commit();

  AtomicFile(AtomicFile&&) = default;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;

  AtomicFile(File file, std::filesystem::path target, std::filesystem::path written)
      : file_(std::move(file)), target_(std::move(target)), written_(std::move(written)) {}
  Status failed(int error) const;

  File file_;  // null: committed or moved from
  std::filesystem::path target_;
  std::filesystem::path written_;  // equals target_ where there is nothing to move
};

// Deletes the files that killed writers left in a folder. Call it before any thread of this process
// writes there: a file with the number of this process is of an earlier one that had the same
// number.
void remove_abandoned(const std::filesystem::path& folder);

// All of a small file at once.
Status write_file(const std::filesystem::path& target, std::string_view text);

}  // namespace shoal
