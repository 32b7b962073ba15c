// Copies of bytes on several threads, for kernels that only move elements. The type of the elements
// does not matter.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shoal/base/threads/thread_pool.h"

namespace shoal::cpu {

// Worth waking a thread for.
inline constexpr int64_t kCopyBytes = 65536;

// Rows of bytes, each a stride after the one before.
struct ConstRows {
  const std::byte* data;
  int64_t stride;
};
struct Rows {
  std::byte* data;
  int64_t stride;
};

// Copies `count` rows of `bytes` bytes. REQUIRES: the two do not overlap.
void copy_rows(const ConstRows& from, const Rows& to, int64_t count, int64_t bytes,
               ThreadPool& pool);

}  // namespace shoal::cpu
