// Convolution in half precision, by matrix units (matrix.h).
#pragma once

#include <vector>

#include "shoal/engine/gpu/kernels/conv_phases.h"

namespace shoal::gpu {

// The ways to compute it, the best first as far as that is known. None where the device has no such
// units, or the product is too small for them. REQUIRES: conv.element, with k in the order that
// is_by_taps() says.
std::vector<Work> conv_matrix_ways(const NodeSpec& spec, const ConvForm& form,
                                   const PackedConv& conv);

}  // namespace shoal::gpu
