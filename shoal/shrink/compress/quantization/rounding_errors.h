// What is done about the errors of rounding: means are corrected, and some products stay real.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/engine/device/device.h"
#include "shoal/shrink/compress/analysis/output_noise.h"
#include "shoal/shrink/compress/quantization/quantize.h"

namespace shoal::compress {

// Bias correction. Rounding the weights and inputs of a product shifts the mean of what it gives,
// and the shift adds up from layer to layer. On examples, the shift of output channel c is
//
//   E[(W x)_c] - E[(Wq xq)_c],
//
// x and xq being what the product reads in the network and in its quantised form. It is added to
// the bias, where it costs nothing (QuantizeOptions::shifts).

// The part of the mean of these differences that is no accident: the mean m times 1 - s^2 / m^2 if
// that is above 0, where s is its standard error. One difference is trusted as it is. Pure.
// REQUIRES: there is one.
double trusted_mean(std::span<const double> differences);

// The shifts of the products whose weights `quantized` rounds, first to last: each is seen with the
// shifts of those before in place, because they change what it reads. Runs both networks on the
// examples, the quantised one node by node with all of them in memory; fails as the device does.
// REQUIRES: `quantized` is made of `graph` by quantize().
Result<Shifts> mean_shifts(const Graph& graph, const Graph& quantized,
                           const std::vector<std::vector<Tensor>>& examples, Device& device);

// A product, what the answers suffer if it alone is quantised, and the work of leaving it real.
struct ProductNoise {
  ValueId product = kNoValue;
  double noise = 0;  // as OutputNoise has it
  double work = 0;   // multiply-accumulates, and those that real values and weights are worth
};

// The products that stay real: the noisiest, until the noise of the others, which adds up as that
// of independent errors does, is as low as the rule asks for, or no other one fits into its share
// of the work. Of equal ones the first. Pure.
Products stay_real(std::span<const ProductNoise> products, const FallbackRule& rule);

// The noise of each product that can be quantised, by itself, at these ranges. Fails as the meter
// does. REQUIRES: the meter compares with `graph`, which prepare() made.
Result<std::vector<ProductNoise>> noises_alone(const Graph& graph, const Ranges& ranges,
                                               RangeRule weights, const NoiseMeter& meter);

}  // namespace shoal::compress
