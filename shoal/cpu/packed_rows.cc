#include "shoal/cpu/packed_rows.h"

#include <algorithm>
#include <new>

namespace shoal::cpu {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

void PackedRows::Free::operator()(float* p) const { ::operator delete[](p, kAlignment); }

PackedRows::PackedRows(const float* data, int64_t count, int64_t m, int64_t k, ThreadPool& pool)
    : stride_(packed_rows_size(m, k)),
      memory_(static_cast<float*>(::operator new[](
          static_cast<size_t>(std::max<int64_t>(count* stride_, 1)) * sizeof(float), kAlignment))) {
  const int64_t rows = panel_size().rows, panels = (m + rows - 1) / rows;
  pool.parallel_ranges(count * panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t matrix = i / panels, row = i % panels * rows;
      pack_rows({data + (matrix * m + row) * k, k, 1}, std::min(rows, m - row), k,
                memory_.get() + matrix * stride_ + row * k);
    }
  });
}

}  // namespace shoal::cpu
