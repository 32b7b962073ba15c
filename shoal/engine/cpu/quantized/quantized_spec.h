// QuantizedSpec: the geometry, parameters and epilogue of a BlockedQLinearConv node, as its kernels
// need them.
#pragma once

#include <vector>

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/layout/blocked.h"
#include "shoal/engine/cpu/quantized/byte_loops.h"

namespace shoal::cpu {

struct QuantizedSpec {
  explicit QuantizedSpec(const KernelSpec& spec);

  ops::Convolution conv;
  int64_t block;                  // channels in one
  int64_t in_channels;            // of the whole image
  int64_t in_blocks, out_blocks;  // of the whole image
  bool image_is_blocked;
  uint8_t x_flip;                      // turns bytes of the image into u8: 0x80 if they are i8
  int32_t x_zero;                      // of the u8
  std::vector<int8_t> signed_weights;  // if given as u8
  const int8_t* weights;               // [m, c, rows, columns]
  std::vector<int32_t> bias;           // [out_blocks][block]
  std::vector<float> scales;           // [out_blocks][block]
  Requantize finish;

  int64_t input_image() const {  // bytes of one image
    return (image_is_blocked ? in_blocks * block : in_channels) * conv.input_plane();
  }
  int64_t output_image() const { return out_blocks * conv.output_plane() * block; }

  // Subtracts (zero point - offset) * (sum of a channel's weights) from its bias. Bytes of the
  // image, less `offset`, may then be multiplied directly. Padding must have the byte x_zero.
  // REQUIRES: called once.
  void fold_zero_point(int32_t offset);
};

// True if everything but image and residual is constant and weights have no zero points, which the
// blocked kernels require. Also for a QLinearConv that is to be blocked.
bool has_plain_weights(std::span<const Operand> inputs);

}  // namespace shoal::cpu
