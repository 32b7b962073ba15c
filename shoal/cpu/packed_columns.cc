#include "shoal/cpu/packed_columns.h"

#include <algorithm>

namespace shoal::cpu {

PackedColumns::PackedColumns(const Matrix& first, int64_t count, int64_t k, int64_t n, float scale,
                             ThreadPool& pool)
    : stride_(packed_columns_size(k, n)), memory_(count * stride_) {
  const int64_t columns = panel_size().columns, panels = (n + columns - 1) / columns;
  pool.parallel_ranges(count * panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t matrix = i / panels, j = i % panels * columns;
      const RightMatrix right({first.data + matrix * k * n, first.row_stride, first.column_stride},
                              scale);
      right.pack(0, k, j, std::min(j + columns, n), memory_.data() + matrix * stride_ + j * k);
    }
  });
}

}  // namespace shoal::cpu
