// Atomic file writes: a file has all of the new content or the old, also after a power cut.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "shoal/base/status.h"

namespace shoal {

struct FileOptions {
  enum class Readers { kAll, kOwner };  // of a new file; kAll is what the umask allows
  Readers readers = Readers::kAll;
  // A durable file is on the disk when commit() returns. Otherwise it may be lost or empty after a
  // power cut, which suits caches whose readers check the content, and saves milliseconds.
  bool durable = true;
};

// Writes beside the target under a temporary name; commit() moves it into place. Without a commit
// nothing is left behind. A target that is no regular file (a pipe, /dev/null) is written directly.
// Two writers of one target do not disturb each other: the last to commit wins. Not thread-safe.
class AtomicFile {
 public:
  using Readers = FileOptions::Readers;

  static Result<AtomicFile> create(const std::filesystem::path& target, FileOptions options = {});

  Status write(std::span<const std::byte> bytes);
  Status commit();
  // As commit(), but fails with kInvalidArgument if the file exists, even if another process has
  // just made it. REQUIRES: the target is no device or pipe.
  Status commit_new();

  AtomicFile(AtomicFile&&) = default;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;

  AtomicFile(File file, std::filesystem::path target, std::filesystem::path written, bool durable)
      : file_(std::move(file)),
        target_(std::move(target)),
        written_(std::move(written)),
        durable_(durable) {}
  Status finish();
  Status failed(int error) const;

  File file_;  // null: committed or moved from
  std::filesystem::path target_;
  std::filesystem::path written_;  // equals target_ if there is nothing to move
  bool durable_;
};

// Deletes the files that killed writers left in a folder, not those of running writers in any
// process.
void remove_abandoned(const std::filesystem::path& folder);

// Makes renames, links and removals in a folder durable.
Status sync_folder(const std::filesystem::path& folder);

// Makes a folder and its missing parents, durably. `readers` applies to the folder itself. Does
// nothing if it exists.
Status make_folder(const std::filesystem::path& folder,
                   FileOptions::Readers readers = FileOptions::Readers::kAll);

Status write_file(const std::filesystem::path& target, std::string_view text,
                  FileOptions options = {});

}  // namespace shoal
