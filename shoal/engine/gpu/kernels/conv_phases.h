// Transposed convolution of a stride, without the zeros between the elements of its image.
#pragma once

#include <functional>
#include <optional>

#include "shoal/engine/gpu/kernels/conv_form.h"
#include "shoal/engine/gpu/source/tiles.h"

namespace shoal::gpu {

// A weight of the left side of a product.
using ConvElement = std::function<float(int64_t z, int64_t row, int64_t k)>;

// A convolution as a product (tiles.h), whose left side is a table of packed weights.
struct PackedConv {
  TileProduct product;
  ConvElement element;  // of constant weights; empty where they are computed
  Launch pack;          // of weights that are computed, into scratch memory
};

// Rows of packed weights are loaded in fours.
int64_t padded_rows(const ops::Convolution& conv);

// The order of k. Tap by tap, where a step has one tap only, so that an item finds the place of its
// column once in a step; otherwise channel by channel, as weights are stored.
bool is_by_taps(const ops::Convolution& conv);

// By phases: nothing where there are no zeros to leave out, or too few.
std::optional<PackedConv> phased_conv(const NodeSpec& spec, const ConvForm& form);

}  // namespace shoal::gpu
