// BlockedSpec: the geometry, bias and activation of a BlockedConv node, as its kernels need them.
#pragma once

#include "shoal/cpu/aligned.h"
#include "shoal/cpu/elementwise/function.h"
#include "shoal/cpu/kernel.h"
#include "shoal/cpu/layout/blocked.h"

namespace shoal::cpu {

struct BlockedSpec {
  explicit BlockedSpec(const KernelSpec& spec);

  ops::Convolution conv;
  const ops::WindowAxis& rows() const { return conv.window.axes[1]; }
  const ops::WindowAxis& columns() const { return conv.window.axes[2]; }

  int64_t block;                  // channels in one
  int64_t in_channels;            // of the whole image
  int64_t in_blocks, out_blocks;  // of the whole image
  bool image_is_blocked;
  AlignedFloats bias;  // [out_blocks][block]; zeros if the node has none, or a variable one
  Epilogue activation;

  int64_t input_image() const;  // floats of one image
  int64_t output_image() const { return out_blocks * conv.output_plane() * block; }
};

// The node's bias, input 2, as [blocks][block]; zeros where it has none.
AlignedFloats blocked_bias(const KernelSpec& spec, int64_t blocks, int64_t block);

// True if every input and output of a BlockedConv or BlockedConvTranspose is of floats and weights
// and bias are constant.
bool has_constant_filters(const KernelSpec& spec);

}  // namespace shoal::cpu
