// Packs the filters of a convolution as left factor, one panel of rows after the other on all
// threads.
#include "shoal/engine/cpu/product/packed_rows.h"

#include <algorithm>

namespace shoal::cpu {

PackedRows::PackedRows(const KernelSpec& spec, int64_t count, int64_t m, int64_t k)
    : stride_(packed_rows_size(m, k)) {
  const int64_t rows = panel_size().rows, panels = (m + rows - 1) / rows;
  const float* data = spec.constant(1)->data<float>().data();
  packed_ = packed_weights(spec, {"rows", {count, m, k, rows}}, count * stride_, [&](float* to) {
    spec.pool.parallel_ranges(count * panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t matrix = i / panels, row = i % panels * rows;
        pack_rows({data + (matrix * m + row) * k, k, 1}, std::min(rows, m - row), k,
                  to + matrix * stride_ + row * k);
      }
    });
  });
}

}  // namespace shoal::cpu
