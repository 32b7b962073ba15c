// The last block is filled up: bias is zero for channels that do not exist, so that they stay
// finite.
#include "shoal/cpu/conv/blocked_spec.h"

#include <algorithm>

namespace shoal::cpu {

BlockedSpec::BlockedSpec(const KernelSpec& spec)
    : conv(blocked_convolution_of(spec.node, spec.shape(0), spec.shape(1))),
      block(spec.outputs[0].shape[4]),
      in_channels(conv.groups * conv.in_channels),
      in_blocks((in_channels + block - 1) / block),
      out_blocks(spec.outputs[0].shape[1]),
      image_is_blocked(spec.shape(0).rank() == spec.outputs[0].shape.rank()),
      bias(blocked_bias(spec, out_blocks, block)),
      activation(ops::activation_of(spec.node)) {}

int64_t BlockedSpec::input_image() const {
  return (image_is_blocked ? in_blocks * block : in_channels) * conv.input_plane();
}

AlignedFloats blocked_bias(const KernelSpec& spec, int64_t blocks, int64_t block) {
  AlignedFloats bias(blocks * block);
  std::fill_n(bias.data(), blocks * block, 0.0f);
  if (const Tensor* values = spec.constant(2)) {
    std::ranges::copy(values->data<float>(), bias.data());
  }
  return bias;
}

bool has_constant_filters(const KernelSpec& spec) {
  return spec.all_of_type(DType::kF32) && spec.constant(1) != nullptr &&
         (!spec.given(2) || spec.constant(2) != nullptr);
}

}  // namespace shoal::cpu
