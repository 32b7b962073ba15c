// Products in half precision, by the units of a device that multiply small matrices.
#pragma once

#include <optional>

#include "shoal/engine/gpu/source/tiles.h"

namespace shoal::gpu {

// The left side of a product, of zeros where `rows` and `k` end before a tile does, in the order in
// which the items of a group load it. `element` gives that of z, row and k.
Tensor matrix_table(const TileProduct& product,
                    const std::function<float(int64_t z, int64_t row, int64_t k)>& element);

enum class MatrixWay : uint8_t {
  kNarrow,  // a warp computes 32 columns
  kWide,    // 64: it reads less of local memory for each product, and has twice the sums to keep
  // Wide, if there are more than 64 rows, and elements go to local memory two steps ahead, without
  // passing through registers. Where product.b.in_eights.
  kAhead,
};

// Table 0 of the work is a matrix_table(); product.a is not read. Nothing where the device has no
// such units, or the product is too small for them, or not for this way.
std::optional<Work> make_matrix(const TileProduct& product, std::vector<Argument> arguments,
                                const Capabilities& device, MatrixWay way);

}  // namespace shoal::gpu
