// ConvForm: a convolution as kernels compute it, forward or backward.
//
// Backward, from y to x, is a convolution, too: of an image that has stride - 1 zeros between its
// elements, by weights whose taps are in reverse order and whose channels are exchanged. So
// ConvTranspose, and with it the gradient of Conv for its input, needs no kernels of its own.
#pragma once

#include <array>
#include <map>
#include <string>

#include "shoal/engine/gpu/kernels/makers.h"
#include "shoal/model/ops/conv/conv.h"

namespace shoal::gpu {

struct ConvForm {
  ops::Convolution conv;  // as it is computed; its window slides over the image with its zeros
  bool is_backward = false;
  std::array<int64_t, 3> spread = {1, 1, 1};  // distance of elements, zeros between them

  int64_t k() const { return conv.in_channels * conv.taps(); }  // products of an output
  bool is_spread() const { return spread != std::array<int64_t, 3>{1, 1, 1}; }
  // Whether a window reaches beyond the image.
  bool has_padding() const;
  // The place of a weight: of output channel m of group z, input channel c.
  int64_t weight(int64_t z, int64_t m, int64_t c, int64_t tap) const;
  std::string weight_text(const std::string& z, const std::string& m, const std::string& c,
                          const std::string& tap) const;
  // The element of x at d, h and w of the image, counted from the first of the channel. Inside is
  // where there is one.
  std::string inside_text() const;
  std::string place_text() const;
};

// Of Conv, ConvTranspose, and what is fused to them.
ConvForm conv_form(const Node& node, const Shape& x, const Shape& w);

// The window's numbers, channels, groups, taps, k, and image_d, image_h and image_w of x, by name.
std::map<std::string, std::string> numbers_of(const ConvForm& form);

// The place in y of output channel `m` of `group`, at position `p` of `image`.
std::string output_text(const ops::Convolution& conv, const std::string& m);

// sum + bias + residual, through the activation, for output channel `m` of the group.
std::string value_text(const NodeSpec& spec, const ops::Convolution& conv, const std::string& m,
                       const std::string& at, const std::string& sum);

// x, bias, residual and y, as far as there are any.
std::vector<Argument> conv_arguments(const NodeSpec& spec);

}  // namespace shoal::gpu
