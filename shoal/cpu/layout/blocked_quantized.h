// Quantised operators whose channels are in blocks (blocked.h), which only the CPU knows.
#pragma once

#include "shoal/cpu/layout/blocked.h"

namespace shoal::cpu {

// FusedQLinearConv whose image, residual and result have their channels in blocks of `block`. An
// image of a few channels may come as it is, in four axes.
extern const Operator blocked_q_linear_conv;

// QLinearGlobalAveragePool of an image in blocks, with `channels` channels. The result is not in
// blocks: it has one pixel, and what follows takes it as a row.
extern const Operator blocked_q_linear_global_average_pool;

// Where the inputs of a convolution are.
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
