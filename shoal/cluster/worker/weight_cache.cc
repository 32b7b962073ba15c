// A least-recently-used cache of files named by the hash of their bytes. The time of a file's last
// write stands for its last use, so the order outlives the process. A weight grows in HASH.partial
// and gets its name when it is whole. Whoever reads a file checks it against its name: a damaged
// one is removed and sent again.
#include "shoal/cluster/worker/weight_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/file.h"
#include "shoal/cluster/net/hex.h"
#include "shoal/cluster/net/text_file.h"

namespace shoal::cluster {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartial = ".partial";

std::string file_name(const Hash& hash) { return net::to_hex(std::as_bytes(std::span(hash))); }
std::string partial_name(const Hash& hash) { return file_name(hash) + std::string(kPartial); }

// The folder may hold files of others, which the cache must neither count nor remove.
bool is_file_name(std::string_view name) {
  if (name.ends_with(kPartial)) name.remove_suffix(kPartial.size());
  const auto bytes = net::from_hex(std::string(name));
  return bytes && bytes->size() == kHashBytes;
}

// Opened for each chunk: no descriptor is left behind by a coordinator that goes away.
Status write_at(const fs::path& path, size_t offset, std::span<const std::byte> bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return system_status(errno).at(path.string());
  int error = 0;
  while (!bytes.empty() && error == 0) {
    const ssize_t n = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n >= 0) {
      offset += static_cast<size_t>(n);
      bytes = bytes.subspan(static_cast<size_t>(n));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (::close(file) != 0 && error == 0) error = errno;
  return error == 0 ? Status() : system_status(error).at(path.string());
}

}  // namespace

Result<WeightCache> WeightCache::open(const fs::path& folder, size_t quota_bytes) {
  SHOAL_TRY(net::make_private_folder(folder));
  remove_abandoned(folder);
  WeightCache cache(folder, quota_bytes);
  cache.take_stock();
  cache.make_room(0);  // the quota may be smaller than last time
  return cache;
}

void WeightCache::take_stock() {
  const auto files = list_folder(folder_);
  if (!files.ok()) return;
  std::error_code error;
  for (const fs::path& file : *files) {
    const std::string name = file.filename().string();
    if (!is_file_name(name) || !fs::is_regular_file(file, error)) continue;
    const uintmax_t bytes = fs::file_size(file, error);
    if (error) continue;
    entries_[name] = {static_cast<size_t>(bytes), fs::last_write_time(file, error)};
    used_ += static_cast<size_t>(bytes);
  }
}

bool WeightCache::contains(const Hash& hash) const { return entries_.contains(file_name(hash)); }

std::shared_ptr<const MappedFile> WeightCache::find(const Hash& hash) {
  const auto entry = entries_.find(file_name(hash));
  if (entry == entries_.end()) return nullptr;
  const fs::path path = folder_ / entry->first;
  auto mapped = MappedFile::open(path);
  if (!mapped.ok()) {
    remove(entry);
    return nullptr;
  }
  std::error_code ignored;
  entry->second.last_use = Time::clock::now();
  fs::last_write_time(path, entry->second.last_use, ignored);  // for the next process
  return *std::move(mapped);
}

void WeightCache::remove(const Hash& hash) { remove_named(file_name(hash)); }

size_t WeightCache::partial_bytes(const Hash& hash) const {
  const auto entry = entries_.find(partial_name(hash));
  return entry == entries_.end() ? 0 : entry->second.bytes;
}

Status WeightCache::append(const Hash& hash, std::span<const std::byte> bytes) {
  const std::string name = partial_name(hash);
  make_room(bytes.size(), name);
  Status written = used_ + bytes.size() > quota_
                       ? Status(Code::kExhausted, "a weight is larger than the cache")
                       : write_at(folder_ / name, partial_bytes(hash), bytes);
  if (!written.ok()) {
    entries_.try_emplace(name);  // also if this chunk would have been its first
    remove_named(name);
    return written;
  }
  Entry& entry = entries_[name];
  entry.bytes += bytes.size();
  entry.last_use = Time::clock::now();
  used_ += bytes.size();
  return {};
}

void WeightCache::finish(const Hash& hash) {
  const auto partial = entries_.find(partial_name(hash));
  if (partial == entries_.end()) return;
  const std::string name = file_name(hash);
  remove_named(name);  // a rename would replace it uncounted
  std::error_code error;
  fs::rename(folder_ / partial->first, folder_ / name, error);
  if (error) return remove(partial);
  entries_[name] = partial->second;
  entries_.erase(partial);
}

void WeightCache::remove_partial(const Hash& hash) { remove_named(partial_name(hash)); }

void WeightCache::make_room(size_t bytes, const std::string& kept) {
  while (used_ + bytes > quota_) {
    auto oldest = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (it->first == kept) continue;
      if (oldest == entries_.end() || it->second.last_use < oldest->second.last_use) oldest = it;
    }
    if (oldest == entries_.end()) return;
    remove(oldest);
  }
}

// A mapping of the removed file stays valid until its last user is gone.
void WeightCache::remove(Entries::iterator entry) {
  std::error_code ignored;
  fs::remove(folder_ / entry->first, ignored);
  used_ -= entry->second.bytes;
  entries_.erase(entry);
}

void WeightCache::remove_named(const std::string& name) {
  const auto entry = entries_.find(name);
  if (entry != entries_.end()) remove(entry);
}

}  // namespace shoal::cluster
