// A least-recently-used cache of files named by the hash of their bytes. The time of a file's last
// write stands for its last use, so the order outlives the process. Files are written whole or not
// at all (AtomicFile) and checked against their name when read: a damaged one is removed and sent
// again.
#include "shoal/cluster/weight_cache.h"

#include <algorithm>
#include <system_error>

#include "shoal/base/atomic_file.h"
#include "shoal/base/file.h"
#include "shoal/net/hex.h"
#include "shoal/net/text_file.h"

namespace shoal::cluster {
namespace {

namespace fs = std::filesystem;

std::string file_name(const Hash& hash) { return net::to_hex(std::as_bytes(std::span(hash))); }

// The folder may hold files of others, which the cache must neither count nor remove.
bool is_file_name(const std::string& name) {
  const auto bytes = net::from_hex(name);
  return bytes && bytes->size() == kHashBytes;
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

std::shared_ptr<const MappedFile> WeightCache::find(const Hash& hash) {
  const auto entry = entries_.find(file_name(hash));
  if (entry == entries_.end()) return nullptr;
  const fs::path path = folder_ / entry->first;
  auto mapped = MappedFile::open(path);
  if (!mapped.ok() || hash_of((*mapped)->bytes()) != hash) {
    remove(entry);
    return nullptr;
  }
  std::error_code ignored;
  entry->second.last_use = Time::clock::now();
  fs::last_write_time(path, entry->second.last_use, ignored);  // for the next process
  return *std::move(mapped);
}

void WeightCache::keep(const Hash& hash, std::span<const std::byte> bytes) {
  const std::string name = file_name(hash);
  if (bytes.size() > quota_ || entries_.contains(name)) return;
  make_room(bytes.size());
  auto file = AtomicFile::create(folder_ / name,
                                 {.readers = AtomicFile::Readers::kOwner, .durable = false});
  if (!file.ok() || !file->write(bytes).ok() || !file->commit().ok()) return;
  entries_[name] = {bytes.size(), Time::clock::now()};
  used_ += bytes.size();
}

void WeightCache::make_room(size_t bytes) {
  while (used_ + bytes > quota_ && !entries_.empty()) {
    remove(std::ranges::min_element(entries_, {},
                                    [](const auto& entry) { return entry.second.last_use; }));
  }
}

// A mapping of the removed file stays valid until its last user is gone.
void WeightCache::remove(std::map<std::string, Entry>::iterator entry) {
  std::error_code ignored;
  fs::remove(folder_ / entry->first, ignored);
  used_ -= entry->second.bytes;
  entries_.erase(entry);
}

}  // namespace shoal::cluster
