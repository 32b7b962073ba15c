// Copies of elements by size and stride. Nothing here depends on what the bytes mean.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include "shoal/base/status.h"
#include "shoal/model/ops/broadcast.h"

namespace shoal::ops {

// Calls f(std::integral_constant<size_t, N>{}) with N = bytes: memcpy of N is then one move.
template <class F>
void visit_size(size_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(std::integral_constant<size_t, 1>{});
    case 2:
      return f(std::integral_constant<size_t, 2>{});
    case 4:
      return f(std::integral_constant<size_t, 4>{});
    case 8:
      return f(std::integral_constant<size_t, 8>{});
    default:
      SHOAL_CHECK(false);
  }
}

// The place of a block of elements: the first one, and the number of elements to step per index of
// each axis.
struct Source {
  const std::byte* data;
  Strides strides;
};
struct Target {
  std::byte* data;
  Strides strides;
};

// to[i] = from[i] for every position i of `shape`, elements of `size` bytes. REQUIRES: the two do
// not overlap.
void copy_strided(const Shape& shape, size_t size, const Source& from, const Target& to);

// Copies all elements of one tensor to another of as many bytes. The two may be the same memory,
// which is how Reshape runs in place.
void copy_all(const Tensor& from, Tensor& to);

// Repeats one element of `size` bytes all over `bytes`.
void fill(std::span<std::byte> bytes, const std::byte* element, size_t size);

}  // namespace shoal::ops
