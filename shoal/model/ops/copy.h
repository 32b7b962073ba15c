// Copies of elements by size and stride. Nothing here depends on what the bytes mean.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include "shoal/base/status.h"
#include "shoal/model/ops/broadcast.h"

namespace shoal::ops {

// Calls f(std::integral_constant<size_t, N>{}) with N = bytes, so that memcpy of N is one move.
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

// A copy that is extended along some axes, for Pad and Tile. Axes are done from the innermost to
// the outermost: inner axes are complete when an outer one is extended, so that whole slices are
// copied.
struct ExtendedCopy {
  // The indices of an axis that are copied: `count` from `skipped` on, to `before` on.
  struct Kept {
    int64_t skipped = 0, before = 0, count = 0;
  };

  size_t size = 0;  // of an element
  Shape from;
  Strides from_strides, to_strides;
  size_t rest = 0;  // from this axis on nothing is extended

  ExtendedCopy(size_t element_size, const Shape& from_shape, const Shape& to_shape)
      : size(element_size),
        from(from_shape),
        from_strides(strides_of(from_shape)),
        to_strides(strides_of(to_shape)),
        rest(from_shape.rank()) {}

  size_t bytes(int64_t elements) const { return static_cast<size_t>(elements) * size; }

  // kept(axis) says what is copied; extend(axis, y, step) fills the slices around it, which are
  // `step` bytes each.
  template <class KeptOf, class Extend>
  void run(size_t axis, const std::byte* x, std::byte* y, const KeptOf& kept,
           const Extend& extend) const {
    if (axis == rest) {
      std::memcpy(y, x, bytes(from.count(axis, from.rank())));
      return;
    }
    const size_t x_step = bytes(from_strides[axis]), y_step = bytes(to_strides[axis]);
    const Kept part = kept(axis);
    x += static_cast<size_t>(part.skipped) * x_step;
    std::byte* inside = y + static_cast<size_t>(part.before) * y_step;
    if (axis + 1 == rest) {
      std::memcpy(inside, x, static_cast<size_t>(part.count) * x_step);
    } else {
      for (int64_t i = 0; i < part.count; ++i, x += x_step) {
        run(axis + 1, x, inside + static_cast<size_t>(i) * y_step, kept, extend);
      }
    }
    extend(axis, y, y_step);
  }
};

// Repeats one element of `size` bytes all over `bytes`.
void fill(std::span<std::byte> bytes, const std::byte* element, size_t size);

}  // namespace shoal::ops
