// Copies along strides: the inner loop of Transpose, Slice, Split, Concat, Expand and DepthToSpace.
#include "shoal/model/ops/copy.h"

#include <array>

namespace shoal::ops {
namespace {

struct Walk {
  Shape shape;
  Strides from, to;
};

// Joins axes that are contiguous in both places, so that runs are as long as possible.
Walk joined(const Shape& shape, const Strides& from, const Strides& to) {
  Walk walk;
  for (size_t d = 0; d < shape.rank(); ++d) {
    // An axis of one element is never stepped along, so its strides are arbitrary and must not keep
    // the neighbours apart.
    if (shape[d] == 1) continue;
    const size_t rank = walk.shape.rank();
    if (rank > 0 && walk.from[rank - 1] == from[d] * shape[d] &&
        walk.to[rank - 1] == to[d] * shape[d]) {
      walk.shape[rank - 1] *= shape[d];
      walk.from[rank - 1] = from[d];
      walk.to[rank - 1] = to[d];
    } else {
      walk.shape.push_back(shape[d]);
      walk.from.push_back(from[d]);
      walk.to.push_back(to[d]);
    }
  }
  return walk;
}

}  // namespace

void copy_strided(const Shape& shape, size_t size, const Source& from, const Target& to) {
  if (shape.count() == 0) return;
  const Walk walk = joined(shape, from.strides, to.strides);
  visit_size(size, [&](auto bytes) {
    constexpr auto kSize = static_cast<int64_t>(bytes());
    for_each_run(walk.shape, std::array{walk.from, walk.to}, [&](auto at, auto step, int64_t n) {
      // memcpy, not an assignment through T*: the bytes may hold any element type.
      const std::byte* x = from.data + at[0] * kSize;
      std::byte* y = to.data + at[1] * kSize;
      if (step[0] == 1 && step[1] == 1) {
        std::memcpy(y, x, static_cast<size_t>(n * kSize));
        return;
      }
      for (int64_t k = 0; k < n; ++k) {
        std::memcpy(y + k * step[1] * kSize, x + k * step[0] * kSize, kSize);
      }
    });
  });
}

void copy_all(const Tensor& from, Tensor& to) {
  SHOAL_CHECK(from.bytes().size() == to.bytes().size());
  if (from.bytes().data() == to.bytes().data()) return;
  std::memcpy(to.bytes().data(), from.bytes().data(), from.bytes().size());
}

void fill(std::span<std::byte> bytes, const std::byte* element, size_t size) {
  visit_size(size, [&](auto n) {
    for (size_t k = 0; k < bytes.size(); k += n()) std::memcpy(bytes.data() + k, element, n());
  });
}

}  // namespace shoal::ops
