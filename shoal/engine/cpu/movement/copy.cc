#include <cstring>

#include "shoal/engine/cpu/movement/movement.h"

namespace shoal::cpu {
namespace {

template <int64_t kBytes>
void copy_short(const ConstRows& from, const Rows& to, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    std::memcpy(to.data + i * to.stride, from.data + i * from.stride, kBytes);
  }
}

// Boxes and scores of detectors are rows of one, two or four numbers. A call to copy so few would
// take most of the time; a copy of constant size is one move.
void copy(const ConstRows& from, const Rows& to, int64_t begin, int64_t end, int64_t bytes) {
  switch (bytes) {
    case 4:
      return copy_short<4>(from, to, begin, end);
    case 8:
      return copy_short<8>(from, to, begin, end);
    case 16:
      return copy_short<16>(from, to, begin, end);
    default:
      for (int64_t i = begin; i < end; ++i) {
        std::memcpy(to.data + i * to.stride, from.data + i * from.stride,
                    static_cast<size_t>(bytes));
      }
  }
}

}  // namespace

void copy_rows(const ConstRows& from, const Rows& to, int64_t count, int64_t bytes,
               ThreadPool& pool) {
  if (count == 0 || bytes == 0) return;
  if (count > 1) {
    return pool.parallel_ranges(count, kCopyBytes / bytes + 1, [&](int64_t begin, int64_t end) {
      copy(from, to, begin, end, bytes);
    });
  }
  pool.parallel_ranges(bytes, kCopyBytes, [&](int64_t begin, int64_t end) {
    std::memcpy(to.data + begin, from.data + begin, static_cast<size_t>(end - begin));
  });
}

}  // namespace shoal::cpu
