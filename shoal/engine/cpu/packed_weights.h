// Packed weights of a node: packed when its kernel is made, or found in the cache of an earlier
// process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "shoal/base/machine/pages.h"
#include "shoal/base/status.h"
#include "shoal/base/threads/thread_pool.h"
#include "shoal/engine/cpu/kernel.h"

namespace shoal::cpu {

// AlignedFloats: an array of floats that starts at a cache line, for packed weights. Elements are
// not initialised: write them before reading. A moved-from or default array has no data.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(int64_t count) : AlignedFloats(bytes_of(count)) {}

  float* data() { return memory_.get(); }
  const float* data() const { return memory_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};  // a cache line, and the widest vector
  // Larger arrays have separate pages, which go back to the system when freed. Tuning packs and
  // drops the weights of many kernels; a heap would keep that memory.
  static constexpr size_t kLarge = size_t{1} << 20;

  struct Free {
    size_t bytes;
    void operator()(float* p) const {
      bytes >= kLarge ? free_pages(p, bytes) : ::operator delete[](p, kAlignment);
    }
  };

  static size_t bytes_of(int64_t count) {
    // At least one element, so that data() is never null after allocation.
    return static_cast<size_t>(std::max<int64_t>(count, 1)) * sizeof(float);
  }
  explicit AlignedFloats(size_t bytes)
      : memory_(static_cast<float*>(bytes >= kLarge ? allocate_pages(bytes)
                                                    : ::operator new[](bytes, kAlignment)),
                Free{bytes}) {}

  std::unique_ptr<float[], Free> memory_{nullptr, Free{0}};
};

// PackedCache: packed weights that outlive the process, in one file per model. The file is not
// trusted: entries that are cut short, damaged, or made for another instruction set or packing are
// packed again.
//
// Layout: a Header, `entries` of Entry, then the floats of each entry at a multiple of 64 bytes, so
// that a mapped file can be used in place. Integers and floats are in host order: the file is read
// by the machine that wrote it or a similar one.

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

  // Rewrites the file if something was added. Entries that this process has not used are dropped,
  // so that the file does not grow with every change of a model.
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
    bool checked = false;  // verified, and therefore used by this process
  };

  void load();

  const std::filesystem::path file_;
  std::map<uint64_t, Packed> known_;  // by key
  bool is_new_ = false;               // something in known_ is not in the file
};

// Hash of hashes of pieces of 1 MiB, computed by all threads. It differs from hash_of(bytes).
uint64_t hash_with(ThreadPool& pool, std::span<const std::byte> bytes);

// Identity of a packed form: everything that it depends on besides the weights and the instruction
// set. A form whose layout changes needs a new name, because files with the old one exist.
struct PackedForm {
  std::string_view name;
  std::vector<int64_t> numbers;
};

// Key of the packed weights of a node. REQUIRES: input 1 is constant.
uint64_t packed_key(const KernelSpec& spec, const PackedForm& form);

// Returns packed weights from the cache, or calls fill(to), which writes all `count` floats, and
// adds them to the cache. REQUIRES: input 1 is constant.
template <class Fill>
PackedFloats packed_weights(const KernelSpec& spec, const PackedForm& form, int64_t count,
                            const Fill& fill) {
  const uint64_t key = spec.cache != nullptr ? packed_key(spec, form) : 0;
  if (spec.cache != nullptr) {
    if (PackedFloats found = spec.cache->find(key, count, spec.pool)) return found;
  }
  const auto memory = std::make_shared<AlignedFloats>(count);
  fill(memory->data());
  const PackedFloats packed(memory, memory->data());
  if (spec.cache != nullptr) spec.cache->add(key, packed, count);
  return packed;
}

}  // namespace shoal::cpu
