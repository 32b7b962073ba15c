// BlockedSpec: the geometry, bias and epilogue of a BlockedConv node, as its kernels need them.
#pragma once

#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/elementwise/elementwise.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/layout/blocked.h"
#include "shoal/engine/cpu/packed_weights.h"

namespace shoal::cpu {

// The activation of a BlockedConv or BlockedConvTranspose, or the bounds that it has instead.
// Clamps and leaks are applied in registers; other functions are a pass.
class BlockedEpilogue {
 public:
  BlockedEpilogue(const KernelSpec& spec, int64_t blocks, int64_t block);

  // Of the channels from block `b` on.
  Finish finish(int64_t b) const;
  Function pass;  // over stored results while they are in the first-level cache

 private:
  const int64_t block_;
  AlignedFloats slope_, low_, high_;  // [blocks][block]; slope_ has no data if nothing leaks
};

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
  BlockedEpilogue epilogue;

  int64_t input_image() const;  // floats of one image
  int64_t output_image() const { return out_blocks * conv.output_plane() * block; }
};

// The node's bias, input 2, as [blocks][block]; zeros if it has none.
AlignedFloats blocked_bias(const KernelSpec& spec, int64_t blocks, int64_t block);

// True if every input and output of a BlockedConv or BlockedConvTranspose is of floats and bounds
// are constant.
bool has_kernel_types(const KernelSpec& spec);
// True if weights and bias are constant as well.
bool has_constant_filters(const KernelSpec& spec);

}  // namespace shoal::cpu
