// Threads share panels, not matrices: a single matrix of weights is the usual case. `scale` is
// folded in here, where it costs nothing, and is therefore part of the form.
#include "shoal/engine/cpu/product/packed_columns.h"

#include <algorithm>
#include <bit>

namespace shoal::cpu {

PackedColumns::PackedColumns(const KernelSpec& spec, const Matrix& first, int64_t count, int64_t k,
                             int64_t n, float scale)
    : stride_(packed_columns_size(k, n)) {
  const int64_t columns = panel_size().columns, panels = (n + columns - 1) / columns;
  const PackedForm form{
      "columns",
      {count, k, n, columns, first.row_stride, first.column_stride, std::bit_cast<int32_t>(scale)}};
  packed_ = packed_weights(spec, form, count * stride_, [&](float* to) {
    spec.pool.parallel_ranges(count * panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t matrix = i / panels, j = i % panels * columns;
        const RightMatrix right(
            {first.data + matrix * k * n, first.row_stride, first.column_stride}, scale);
        right.pack(0, k, j, std::min(j + columns, n), to + matrix * stride_ + j * k);
      }
    });
  });
}

}  // namespace shoal::cpu
