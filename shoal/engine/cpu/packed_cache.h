// PackedCache: packed weights that outlive the process, in one file per model. The file is not
// trusted: entries that are cut short, damaged, or made for another instruction set or packing are
// packed again.
//
// Layout: a Header, `entries` of Entry, then the floats of each entry at a multiple of 64 bytes, so
// that a mapped file can be used in place. Integers and floats are in host order, because the file
// is read by the machine that wrote it or one like it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>

#include "shoal/base/status.h"
#include "shoal/base/threads/thread_pool.h"

namespace shoal::cpu {

// Floats that start at a cache line, with their owner: heap memory or a mapped file.
using PackedFloats = std::shared_ptr<const float>;

// Not thread-safe: the device holds its lock while it compiles.
class PackedCache {
 public:
  // Maps the file. The cache starts empty if the file is missing or not usable.
  explicit PackedCache(std::filesystem::path file);

  // Null if there is no such entry, or if it is damaged. The checksum is verified at the first
  // call.
  PackedFloats find(uint64_t key, int64_t count, ThreadPool& pool);
  // Keeps `floats` alive until save() has written them.
  void add(uint64_t key, PackedFloats floats, int64_t count);

  // Rewrites the file if something was added. Entries that this process has not asked for are
  // dropped, so that the file does not grow with every change of a model.
  Status save(ThreadPool& pool);

  struct Header {
    char magic[16];
    char instructions[32];  // the instruction set; the rest is zero
    uint64_t entries;
    uint64_t check;  // of the header, where this is zero, and the entries
  };
  struct Entry {
    uint64_t key;
    uint64_t offset;  // in bytes, from the start of the file
    uint64_t count;   // of floats
    uint64_t check;   // of them
  };

 private:
  struct Packed {
    PackedFloats floats;
    int64_t count;
    uint64_t check = 0;
    bool checked = false;  // verified, and therefore asked for by this process
  };

  void load();

  const std::filesystem::path file_;
  std::map<uint64_t, Packed> known_;  // by key
  bool is_new_ = false;               // something in known_ is not in the file
};

// Hash of hashes of pieces of 1 MiB, computed by all threads. It differs from hash_of(bytes).
uint64_t hash_with(ThreadPool& pool, std::span<const std::byte> bytes);

}  // namespace shoal::cpu
