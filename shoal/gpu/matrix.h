// Products in half precision, by the units of a device that multiply small matrices.
#pragma once

#include <optional>

#include "shoal/gpu/tiles.h"

namespace shoal::gpu {

// The left side of a product, of zeros where `rows` and `k` end before a tile does, in the order in
// which the items of a group load it. `element` gives that of z, row and k.
Tensor matrix_table(const TileProduct& product,
                    const std::function<float(int64_t z, int64_t row, int64_t k)>& element);

// Table 0 of the work is a matrix_table(); product.a is not read. Nothing where the device has no
// such units, or the product is too small for them.
std::optional<Work> make_matrix(const TileProduct& product, std::vector<Argument> arguments,
                                const Capabilities& device);

}  // namespace shoal::gpu
