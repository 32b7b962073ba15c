// ConvForm: a convolution as kernels compute it, forward or backward.
//
// Backward, from y to x, is a convolution, too: of an image that has stride - 1 zeros between its
// elements, by weights whose taps are in reverse order and whose channels are exchanged. So
// ConvTranspose, and with it the gradient of Conv for its input, needs no separate kernels.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shoal/engine/gpu/kernels/makers.h"
#include "shoal/engine/gpu/source/tiles.h"
#include "shoal/model/ops/conv/conv.h"

namespace shoal::gpu {

struct ConvForm {
  ops::Convolution conv;  // as computed; its window slides over the image with its zeros
  bool is_backward = false;
  std::array<int64_t, 3> spread = {1, 1, 1};  // distance of elements, zeros between them

  int64_t k() const { return conv.in_channels * conv.taps(); }  // products of an output
  bool is_spread() const { return spread != std::array<int64_t, 3>{1, 1, 1}; }
  bool has_padding() const;
  // The place of the weight of output channel m of group z and input channel c.
  int64_t weight(int64_t z, int64_t m, int64_t c, int64_t tap) const;
  std::string weight_text(const std::string& z, const std::string& m, const std::string& c,
                          const std::string& tap) const;
  // The element of x at d, h and w of the image, counted from the first of the channel. Inside is
  // if there is one.
  std::string inside_text() const;
  std::string place_text() const;
};

// Of Conv, ConvTranspose and their fused forms.
ConvForm conv_form(const Node& node, const Shape& x, const Shape& w);

// The window's numbers, channels, groups, taps, k, and image_d, image_h and image_w of x, by name.
std::map<std::string, std::string> numbers_of(const ConvForm& form);

// The place in y of output channel `m` of `group`, at position `p` of `image`.
std::string output_text(const ops::Convolution& conv, const std::string& m);

// sum + bias + residual, through the activation, for output channel `m` of the group.
std::string value_text(const NodeSpec& spec, const ops::Convolution& conv, const std::string& m,
                       const std::string& at, const std::string& sum);

// x, bias, residual and y, as far as given.
std::vector<Argument> conv_arguments(const NodeSpec& spec);

// Transposed convolution of a stride, without the zeros between the elements of its image.

// A weight of the left side of a product.
using ConvElement = std::function<float(int64_t z, int64_t row, int64_t k)>;

// A convolution as a product (tiles.h), whose left side is a table of packed weights.
struct PackedConv {
  TileProduct product;
  ConvElement element;  // of constant weights; empty if they are computed
  Launch pack;          // packs computed weights into scratch memory
};

// Rows of packed weights are loaded in fours.
int64_t padded_rows(const ops::Convolution& conv);

// The order of k. Tap by tap, where a step has one tap only, so that an item finds the place of its
// column once in a step; otherwise channel by channel, as weights are stored.
bool is_by_taps(const ops::Convolution& conv);

// By phases; nullopt if there are too few zeros to leave out.
std::optional<PackedConv> phased_conv(const NodeSpec& spec, const ConvForm& form);

// Convolutions without local memory.

// nullopt if an int cannot count the elements of the padded image and the packed weights.
std::optional<Work> make_direct_conv(const NodeSpec& spec, const ConvForm& form);

// Convolution in half precision, by matrix units (matrix.h).

// The ways to compute it, the best first as far as known. Empty if the device has no such units or
// the product is too small for them. REQUIRES: conv.element, with k in the order that is_by_taps()
// says.
std::vector<Work> conv_matrix_ways(const NodeSpec& spec, const ConvForm& form,
                                   const PackedConv& conv);

// Winograd convolution of windows of 3 x 3 and stride 1.

// Estimated cycles, as tile_cycles() counts them; infinity if make_winograd() returns nullopt.
double winograd_cycles(const NodeSpec& spec, const ConvForm& form, size_t rank);

// nullopt for other windows, and if the device has no local memory or too little memory. Products
// are cut as the rank says (tiles.h).
std::optional<Work> make_winograd(const NodeSpec& spec, const ConvForm& form, size_t rank);

}  // namespace shoal::gpu
