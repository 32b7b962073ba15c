#include "shoal/plan/sparse/sparse_pattern.h"

#include <algorithm>

namespace shoal::plan {

SparsePattern pattern_of(std::span<const float> weight, size_t rows) {
  SparsePattern pattern;
  pattern.all_rows = rows;
  if (weight.empty()) return pattern;
  const size_t columns = pattern.all_columns = weight.size() / rows;
  std::vector<uint32_t> index(columns, 0);  // 1 where a column is live, later its live index
  for (size_t i = 0; i < weight.size(); ++i) {
    if (weight[i] != 0) index[i % columns] = 1;
  }
  for (size_t c = 0; c < columns; ++c) {
    if (index[c] == 0) continue;
    index[c] = static_cast<uint32_t>(pattern.columns.size());
    pattern.columns.push_back(c);
  }
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      if (weight[r * columns + c] != 0) pattern.targets.push_back(index[c]);
    }
    if (pattern.targets.size() == pattern.begins.back()) continue;
    pattern.rows.push_back(r);
    pattern.begins.push_back(pattern.targets.size());
  }
  return pattern;
}

double sampled_density(std::span<const float> weight) {
  constexpr size_t kMost = 4096;
  constexpr size_t kEnough = 64;                  // for a matrix that has no zeros
  constexpr uint64_t kStep = 0x9E3779B97F4A7C15;  // odd, so that it meets no period of the matrix
  if (weight.empty()) return 1;
  const size_t count = std::min(kMost, weight.size());
  size_t found = 0;
  for (uint64_t i = 0; i < count; ++i) {
    // All elements in turn where there are few of them.
    const uint64_t at = weight.size() <= kMost ? i : (i * kStep >> 16) % weight.size();
    if (weight[at] != 0) ++found;
    if (i + 1 == kEnough && found == kEnough) return 1;
  }
  return static_cast<double>(found) / static_cast<double>(count);
}

SparsePattern transposed(const SparsePattern& pattern) {
  SparsePattern turned{.all_rows = pattern.all_columns,
                       .all_columns = pattern.all_rows,
                       .rows = pattern.columns,
                       .columns = pattern.rows,
                       .begins = std::vector<size_t>(pattern.columns.size() + 1, 0),
                       .targets = std::vector<uint32_t>(pattern.targets.size())};
  for (uint32_t c : pattern.targets) ++turned.begins[c + 1];
  for (size_t c = 0; c < pattern.columns.size(); ++c) turned.begins[c + 1] += turned.begins[c];
  std::vector<size_t> next(turned.begins.begin(), turned.begins.end() - 1);
  for (size_t r = 0; r < pattern.rows.size(); ++r) {
    for (uint32_t c : pattern.row(r)) turned.targets[next[c]++] = static_cast<uint32_t>(r);
  }
  return turned;
}

}  // namespace shoal::plan
