// Read-only mappings of files, shared by their readers, and listings of folders.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "shoal/base/status.h"

namespace shoal {

// The bytes of a file, paged in when touched. Immutable; closed by the destructor.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);

  // Opens `name` inside `folder` and nothing outside it: no absolute path, no "..", no link of
  // either kind, regular files only. For names that come from a model or a peer.
  static Result<std::shared_ptr<const MappedFile>> open_inside(const std::filesystem::path& folder,
                                                               const std::filesystem::path& name);

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Returns the pages of a part to the system; a later touch reads them again. REQUIRES: the part
  // is of a mapped file; other memory would lose its contents.
  static void release(std::span<const std::byte> part);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}
  static Result<std::shared_ptr<const MappedFile>> map(int fd, bool inside);

  const std::byte* data_;
  size_t size_;
};

// The entries of a folder, sorted, because file systems differ in their order.
Result<std::vector<std::filesystem::path>> list_folder(const std::filesystem::path& folder);

}  // namespace shoal
