// Handles rounding errors: corrects means, and keeps some products real.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/engine/device/device.h"
#include "shoal/shrink/compress/analysis/output_noise.h"
#include "shoal/shrink/compress/quantization/quantize.h"

namespace shoal::compress {

// Bias correction. Rounding a product's weights and inputs shifts the mean of its output, and
// shifts add up over layers. On examples, the shift of output channel c is
//
//   E[(W x)_c] - E[(Wq xq)_c],
//
// x and xq being the product's input in the network and in its quantised form. It is added to the
// bias, at no cost (QuantizeOptions::shifts).

// The significant part of the mean m of these differences: m (1 - s^2 / m^2) if that factor is
// above 0, with s the standard error. One difference is trusted as it is. Pure. REQUIRES: not
// empty.
double trusted_mean(std::span<const double> differences);

// The shifts of the products whose weights `quantized` rounds, in order, each measured with the
// earlier shifts in place. Runs both networks on the examples, the quantised one node by node with
// all of them in memory; fails as the device does. REQUIRES: `quantized` is made of `graph` by
// quantize().
Result<Shifts> mean_shifts(const Graph& graph, const Graph& quantized,
                           const std::vector<std::vector<Tensor>>& examples, Device& device);

// The noise of quantising a product alone, and the cost of leaving it real.
struct ProductNoise {
  ValueId product = kNoValue;
  double noise = 0;  // as OutputNoise has it
  double work = 0;   // multiply-accumulates, and those that real values and weights are worth
};

// The products that stay real: the noisiest, until the noise of the others, which adds up as
// independent errors, is low enough, or no other one fits the rule's share of the work. Of equal
// ones the first. Pure.
Products stay_real(std::span<const ProductNoise> products, const FallbackRule& rule);

// The noise of each product that can be quantised, by itself, at these ranges. Fails as the meter
// does. REQUIRES: the meter compares with `graph`, which prepare() made.
Result<std::vector<ProductNoise>> noises_alone(const Graph& graph, const Ranges& ranges,
                                               RangeRule weights, const NoiseMeter& meter);

}  // namespace shoal::compress
