// Packed weights that outlive the process: one file of them for one model. Like all files it is not
// trusted: what is cut short, damaged, or made for another instruction set or another way of
// packing is packed again.
//
// The file: a Header, `entries` of Entry, then their floats, each of them at a multiple of 64
// bytes. It is read by the machine that wrote it, or one like it: numbers are in its own order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>

#include "shoal/base/status.h"
#include "shoal/base/thread_pool.h"

namespace shoal::cpu {

// Floats that start at a cache line, and what holds them: memory of their own, or a mapped file.
using PackedFloats = std::shared_ptr<const float>;

class PackedCache {
 public:
  // Begins with what the file holds; with nothing where that cannot be used.
  explicit PackedCache(std::filesystem::path file);

  // Null if there is no such thing, or it is damaged. It is checked when it is asked for first.
  PackedFloats find(uint64_t key, int64_t count, ThreadPool& pool);
  void add(uint64_t key, PackedFloats floats, int64_t count);

  // Writes the file if something was added: all that this process has asked for, nothing else.
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
    bool checked = false;  // what is not checked has not been asked for
  };

  void load();

  const std::filesystem::path file_;
  std::map<uint64_t, Packed> known_;  // by key
  bool is_new_ = false;               // something in known_ is not in the file
};

// A hash that all threads compute.
uint64_t hash_with(ThreadPool& pool, std::span<const std::byte> bytes);

}  // namespace shoal::cpu
