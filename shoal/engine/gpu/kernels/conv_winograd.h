// Winograd convolution of windows of 3 x 3 and stride 1.
#pragma once

#include <optional>

#include "shoal/engine/gpu/kernels/conv_form.h"
#include "shoal/engine/gpu/source/tiles.h"

namespace shoal::gpu {

// About how many cycles it takes, as tile_cycles() counts them; infinity where make_winograd()
// gives nothing.
double winograd_cycles(const NodeSpec& spec, const ConvForm& form, size_t rank);

// Nothing where the window is another one, or where the device has no local memory or too little
// memory. Products are cut as the rank says (tiles.h).
std::optional<Work> make_winograd(const NodeSpec& spec, const ConvForm& form, size_t rank);

}  // namespace shoal::gpu
