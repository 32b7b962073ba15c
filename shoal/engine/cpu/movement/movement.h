// Moving elements: copies of rows, walks over strided tensors, transposes and lines of resized
// images.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/threads/thread_pool.h"
#include "shoal/engine/cpu/rectangle.h"
#include "shoal/model/ops/broadcast.h"

namespace shoal::cpu {

// Copies of bytes on several threads, for kernels that only move elements. The type of the elements
// does not matter.

// Minimum worth waking a thread for.
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

// Walk: iteration over several strided tensors at once, in as few and as long runs as strides
// allow.

// N operands of one shape. Neighbouring axes are joined if every operand steps through both as
// through one, so that contiguous tensors become a single run.
template <size_t N>
struct Walk {
  Shape shape;  // at least one axis
  std::array<ops::Strides, N> strides;

  int64_t run() const { return shape[shape.rank() - 1]; }
  int64_t runs() const { return shape.count(0, shape.rank() - 1); }

  std::array<int64_t, N> offsets(int64_t r) const {
    std::array<int64_t, N> at{};
    for (size_t d = shape.rank() - 1; d-- > 0;) {
      const int64_t index = r % shape[d];
      r /= shape[d];
      for (size_t i = 0; i < N; ++i) at[i] += index * strides[i][d];
    }
    return at;
  }
  std::array<int64_t, N> steps() const {
    std::array<int64_t, N> steps{};
    for (size_t i = 0; i < N; ++i) steps[i] = strides[i][shape.rank() - 1];
    return steps;
  }
};

template <size_t N>
Walk<N> make_walk(const Shape& shape, const std::array<ops::Strides, N>& strides) {
  Walk<N> walk;
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    const size_t last = walk.shape.rank() - 1;
    bool joins = walk.shape.rank() > 0;
    for (size_t i = 0; i < N && joins; ++i) {
      // True for two broadcast axes as well: both strides are zero.
      joins = walk.strides[i][last] == strides[i][d] * shape[d];
    }
    if (joins) {
      walk.shape[last] *= shape[d];
      for (size_t i = 0; i < N; ++i) walk.strides[i][last] = strides[i][d];
    } else {
      walk.shape.push_back(shape[d]);
      for (size_t i = 0; i < N; ++i) walk.strides[i].push_back(strides[i][d]);
    }
  }
  if (walk.shape.rank() == 0) {
    walk.shape.push_back(1);
    for (size_t i = 0; i < N; ++i) walk.strides[i].push_back(1);
  }
  return walk;
}

// The elements of operands of [n, c, h, w] or [n, c / b, h, w, b] that are in a rectangle, and
// where the first one is in each.
template <size_t N>
struct Part {
  Walk<N> walk;
  std::array<int64_t, N> first;
};

template <size_t N>
Part<N> part_in(const Rectangle& where, Shape shape, const std::array<ops::Strides, N>& strides) {
  shape[2] = where.rows.count();
  shape[3] = where.columns.count();
  Part<N> part{make_walk<N>(shape, strides), {}};
  for (size_t i = 0; i < N; ++i) {
    part.first[i] = where.rows.begin * strides[i][2] + where.columns.begin * strides[i][3];
  }
  return part;
}

// Calls f(offsets, n) for runs, or for pieces of a single long one, on several threads. f must be
// thread-safe. There may be several elements at each position of the walk.
template <size_t N, class F>
void for_each_run(const Walk<N>& walk, ThreadPool& pool, const F& f, int64_t elements = 1) {
  const int64_t grain = 16384 / elements + 1;  // worth waking a thread for
  if (walk.shape.count() == 0) return;
  const int64_t n = walk.run();
  if (walk.runs() == 1) {
    pool.parallel_ranges(n, grain, [&](int64_t begin, int64_t end) {
      std::array<int64_t, N> at = walk.steps();
      for (int64_t& offset : at) offset *= begin;
      f(at, end - begin);
    });
    return;
  }
  pool.parallel_ranges(walk.runs(), grain / n + 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) f(walk.offsets(r), n);
  });
}

// Copies floats. REQUIRES: the operands of the walk are `to` and `from`.
inline void copy_runs(const Walk<2>& walk, ThreadPool& pool, const float* from, float* to) {
  const int64_t to_step = walk.steps()[0], from_step = walk.steps()[1];
  const bool contiguous = to_step == 1 && from_step == 1;
  if (contiguous && walk.shape.rank() == 2) {
    constexpr int64_t kSize = sizeof(float);
    return copy_rows({reinterpret_cast<const std::byte*>(from), walk.strides[1][0] * kSize},
                     {reinterpret_cast<std::byte*>(to), walk.strides[0][0] * kSize}, walk.runs(),
                     walk.run() * kSize, pool);
  }
  for_each_run(walk, pool, [&](const std::array<int64_t, 2>& at, int64_t n) {
    const float* x = from + at[1];
    float* y = to + at[0];
    if (contiguous) {
      std::copy_n(x, n, y);
    } else {
      for (int64_t i = 0; i < n; ++i) y[i * to_step] = x[i * from_step];
    }
  });
}

// The inner loop of transpose.cc, compiled once per instruction set.

// to[p * to_stride + c] = from[c * from_stride + p] for c in [0, rows) and p in [0, columns). Works
// for any elements of four bytes.
void transpose_matrix(const float* from, int64_t from_stride, int64_t rows, int64_t columns,
                      float* to, int64_t to_stride);

// The inner loops of resize.cc, compiled once per instruction set.

// Output k of an axis is the sum of elements from first[k] on, times weights from offsets[k] up to
// offsets[k + 1]. There is at least one.
struct LineTaps {
  std::vector<int64_t> first;
  std::vector<size_t> offsets;
  std::vector<float> weights;
  size_t each = 0;  // taps of every output if equal for all; else 0

  std::span<const float> weights_of(size_t k) const {
    return {weights.data() + offsets[k], offsets[k + 1] - offsets[k]};
  }
};

// y = the sum of weights[t] times the line of n elements at x + t * n.
void add_lines(std::span<const float> weights, const float* x, float* y, int64_t n);

// Resizes a line of pixels of `inner` elements each.
void resize_line(const LineTaps& taps, const float* x, int64_t inner, float* y);

}  // namespace shoal::cpu
