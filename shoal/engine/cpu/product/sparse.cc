// Sparse matrix-vector products. Compressed columns store 8 bytes per element (value and row) and
// gather x, one element per lane: they pay where at most a few percent are left. Blocks of 16
// columns store 64 + 4 bytes per row that is left and broadcast x, without gather: they read
// contiguous vectors, and pay at much higher densities. times_of() in sparse_kernels.cc has what
// was measured.
#include "shoal/engine/cpu/product/sparse.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/product/sparse.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kLanes = HWY_LANES(float);

// sum over i of value_i * x[row_i]
float dot_here(const float* HWY_RESTRICT x, const int32_t* HWY_RESTRICT row,
               const float* HWY_RESTRICT value, int64_t n) {
  const D d;
  const hn::RebindToSigned<D> integers;
  V sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const V factor = hn::GatherIndex(d, x, hn::LoadU(integers, row + i));
    sum = hn::MulAdd(factor, hn::LoadU(d, value + i), sum);
  }
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < n; ++i) total += value[i] * x[row[i]];
  return total;
}

// y[0..16) = sum over i of values[i][0..16) * x[row_i]
void add_blocks_here(const float* HWY_RESTRICT x, const int32_t* HWY_RESTRICT row,
                     const float* HWY_RESTRICT values, int64_t n, float* HWY_RESTRICT y) {
  constexpr int64_t kWidth = SparseBlocks::kWidth;
  constexpr int kVectors = kWidth / kLanes;
  // Independent chains hide the latency of FMA. Narrower vectors have several accumulators anyway.
  constexpr int kChains = kVectors == 1 ? 4 : 1;
  const D d;
  V sum[kChains][kVectors];
  for (auto& chain : sum) {
    for (V& v : chain) v = hn::Zero(d);
  }
  int64_t i = 0;
  for (; i + kChains <= n; i += kChains, values += kChains * kWidth) {
    for (int c = 0; c < kChains; ++c) {
      const V factor = hn::Set(d, x[row[i + c]]);
      for (int v = 0; v < kVectors; ++v) {
        const V block = hn::Load(d, values + c * kWidth + v * kLanes);
        sum[c][v] = hn::MulAdd(factor, block, sum[c][v]);
      }
    }
  }
  for (; i < n; ++i, values += kWidth) {
    const V factor = hn::Set(d, x[row[i]]);
    for (int v = 0; v < kVectors; ++v) {
      sum[0][v] = hn::MulAdd(factor, hn::Load(d, values + v * kLanes), sum[0][v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    for (int c = 1; c < kChains; ++c) sum[0][v] = hn::Add(sum[0][v], sum[c][v]);
    hn::StoreU(sum[0][v], d, y + v * kLanes);
  }
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {
namespace {

HWY_EXPORT(dot_here);
HWY_EXPORT(add_blocks_here);

constexpr int64_t kWidth = SparseBlocks::kWidth;

float element(const Matrix& matrix, int64_t i, int64_t j) { return *matrix.from(i, j).data; }

// Calls f(row) for every row in which one of the columns [j, j_end) is not zero.
template <class F>
void for_each_block(const Matrix& matrix, int64_t k, int64_t j, int64_t j_end, const F& f) {
  for (int64_t i = 0; i < k; ++i) {
    bool is_there = false;
    for (int64_t c = j; c < j_end; ++c) is_there |= element(matrix, i, c) != 0;
    if (is_there) f(i);
  }
}

// Density of every `step`-th group of kWidth columns.
Density density_of_some(const Matrix& matrix, int64_t k, int64_t n, int64_t step) {
  int64_t elements = 0, blocks = 0, seen = 0, seen_blocks = 0;
  for (int64_t j = 0; j < n; j += step * kWidth) {
    const int64_t j_end = std::min(j + kWidth, n);
    for_each_block(matrix, k, j, j_end, [&](int64_t i) {
      ++blocks;
      for (int64_t c = j; c < j_end; ++c) elements += element(matrix, i, c) != 0 ? 1 : 0;
    });
    seen += k * (j_end - j);
    seen_blocks += k;
  }
  if (seen == 0) return {};
  return {static_cast<double>(elements) / static_cast<double>(seen),
          static_cast<double>(blocks) / static_cast<double>(seen_blocks)};
}

}  // namespace

Density density_of(const Matrix& matrix, int64_t k, int64_t n) {
  return density_of_some(matrix, k, n, 1);
}

Density sampled_density_of(const Matrix& matrix, int64_t k, int64_t n) {
  constexpr int64_t kGroups = 4;
  return density_of_some(matrix, k, n, std::max<int64_t>(n / (kGroups * kWidth), 1));
}

SparseColumns::SparseColumns(const Matrix& matrix, int64_t k, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    begin_.push_back(std::ssize(value_));
    for (int64_t i = 0; i < k; ++i) {
      const float value = element(matrix, i, j);
      if (value == 0) continue;
      row_.push_back(static_cast<int32_t>(i));
      value_.push_back(value);
    }
  }
  begin_.push_back(std::ssize(value_));
}

void SparseColumns::multiply(const float* x, int64_t begin, int64_t end, float* y) const {
  for (int64_t j = begin; j < end; ++j) {
    const int64_t from = begin_[static_cast<size_t>(j)];
    y[j] = HWY_DYNAMIC_DISPATCH(dot_here)(x, row_.data() + from, value_.data() + from,
                                          begin_[static_cast<size_t>(j) + 1] - from);
  }
}

// Two passes, one for the structure and one for the values, so that the array of values is
// allocated once and aligned.
SparseBlocks::SparseBlocks(const Matrix& matrix, int64_t k, int64_t n) : n_(n) {
  for (int64_t j = 0; j < n; j += kWidth) {
    begin_.push_back(std::ssize(row_));
    for_each_block(matrix, k, j, std::min(j + kWidth, n),
                   [&](int64_t i) { row_.push_back(static_cast<int32_t>(i)); });
  }
  begin_.push_back(std::ssize(row_));
  values_ = AlignedFloats(std::ssize(row_) * kWidth);
  float* to = values_.data();
  for (size_t group = 0; group + 1 < begin_.size(); ++group) {
    const auto j = static_cast<int64_t>(group) * kWidth;
    for (int64_t block = begin_[group]; block < begin_[group + 1]; ++block, to += kWidth) {
      const int64_t i = row_[static_cast<size_t>(block)];
      for (int64_t c = 0; c < kWidth; ++c) to[c] = j + c < n ? element(matrix, i, j + c) : 0;
    }
  }
}

void SparseBlocks::multiply(const float* x, int64_t begin, int64_t end, float* y) const {
  for (int64_t j = begin; j < end; j += kWidth) {
    const auto group = static_cast<size_t>(j / kWidth);
    const int64_t from = begin_[group], count = begin_[group + 1] - from;
    const int32_t* row = row_.data() + from;
    const float* values = values_.data() + from * kWidth;
    // The last group may be narrower than what is stored.
    float whole[kWidth];
    const bool fits = j + kWidth <= n_;
    HWY_DYNAMIC_DISPATCH(add_blocks_here)(x, row, values, count, fits ? y + j : whole);
    if (!fits) std::copy_n(whole, n_ - j, y + j);
  }
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
