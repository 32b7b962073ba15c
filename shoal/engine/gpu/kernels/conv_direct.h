// Convolutions without local memory.
#pragma once

#include "shoal/engine/gpu/kernels/conv_form.h"

namespace shoal::gpu {

// Nothing where an int cannot count the elements of the padded image and the packed weights.
std::optional<Work> make_direct_conv(const NodeSpec& spec, const ConvForm& form);

}  // namespace shoal::gpu
