// The last block is filled up: bias is zero for channels that do not exist, so that they stay
// finite.
#include "shoal/cpu/conv/blocked_site.h"

#include <algorithm>

namespace shoal::cpu {

BlockedSite::BlockedSite(const KernelSpec& site)
    : conv(blocked_convolution_of(site.node, site.shape(0), site.shape(1))),
      block(site.outputs[0].shape[4]),
      in_channels(conv.groups * conv.in_channels),
      in_blocks((in_channels + block - 1) / block),
      out_blocks(site.outputs[0].shape[1]),
      image_is_blocked(site.shape(0).rank() == site.outputs[0].shape.rank()),
      bias(blocked_bias(site, out_blocks, block)),
      activation(ops::activation_of(site.node)) {}

int64_t BlockedSite::input_image() const {
  return (image_is_blocked ? in_blocks * block : in_channels) * conv.input_plane();
}

AlignedFloats blocked_bias(const KernelSpec& site, int64_t blocks, int64_t block) {
  AlignedFloats bias(blocks * block);
  std::fill_n(bias.data(), blocks * block, 0.0f);
  if (const Tensor* values = site.constant(2)) {
    std::ranges::copy(values->data<float>(), bias.data());
  }
  return bias;
}

bool has_constant_filters(const KernelSpec& site) {
  return site.all_of_type(DType::kF32) && site.constant(1) != nullptr &&
         (!site.given(2) || site.constant(2) != nullptr);
}

}  // namespace shoal::cpu
