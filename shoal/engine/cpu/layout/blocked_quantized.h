// Quantised operators in the blocked layout (blocked.h), which only the CPU has.
#pragma once

#include "shoal/engine/cpu/layout/blocked.h"

namespace shoal::cpu {

// FusedQLinearConv with image, residual and result in blocks of `block` channels. An image of a few
// channels may come in the plain layout, in four axes.
extern const Operator blocked_q_linear_conv;

// QLinearGlobalAveragePool of a blocked image with `channels` channels. The result is plain: it has
// one pixel, and the layers that follow take it as a row.
extern const Operator blocked_q_linear_global_average_pool;

// Indices of the inputs of a convolution.
struct QConvInputs {
  enum : size_t {
    kX,
    kXScale,
    kXZeroPoint,
    kW,
    kWScale,
    kWZeroPoint,
    kYScale,
    kYZeroPoint,
    kBias,
    kResidual,
    kResidualScale,
    kResidualZeroPoint,
    kSumScale,
    kSumZeroPoint,
  };
};

}  // namespace shoal::cpu
