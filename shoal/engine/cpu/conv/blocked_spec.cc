// The last block is filled up: bias is zero for channels that do not exist, so that they stay
// finite.
#include "shoal/engine/cpu/conv/blocked_spec.h"

#include <algorithm>

#include "shoal/model/ops/ops.h"

namespace shoal::cpu {

BlockedEpilogue::BlockedEpilogue(const KernelSpec& spec, int64_t blocks, int64_t block)
    : block_(block), low_(blocks * block), high_(blocks * block) {
  const ops::Activation activation = ops::activation_of(spec.node);
  const Epilogue epilogue(activation);
  std::fill_n(low_.data(), blocks * block, epilogue.low);
  std::fill_n(high_.data(), blocks * block, epilogue.high);
  if (const Tensor* low = spec.constant(kLow)) std::ranges::copy(low->data<float>(), low_.data());
  if (const Tensor* high = spec.constant(kHigh)) {
    std::ranges::copy(high->data<float>(), high_.data());
  }
  // Then the larger of x and its multiple is what LeakyRelu chooses by the sign.
  if (activation.op == &ops::leaky_relu && activation.alpha > 0 && activation.alpha <= 1) {
    slope_ = AlignedFloats(blocks * block);
    std::fill_n(slope_.data(), blocks * block, activation.alpha);
  } else {
    pass = epilogue.pass;
  }
}

Finish BlockedEpilogue::finish(int64_t b) const {
  const int64_t at = b * block_;
  return {slope_.data() == nullptr ? nullptr : slope_.data() + at, low_.data() + at,
          high_.data() + at};
}

BlockedSpec::BlockedSpec(const KernelSpec& spec)
    : conv(blocked_convolution_of(spec.node, spec.shape(0), spec.shape(1))),
      block(spec.outputs[0].shape[4]),
      in_channels(conv.groups * conv.in_channels),
      in_blocks((in_channels + block - 1) / block),
      out_blocks(spec.outputs[0].shape[1]),
      image_is_blocked(spec.shape(0).rank() == spec.outputs[0].shape.rank()),
      bias(blocked_bias(spec, out_blocks, block)),
      epilogue(spec, out_blocks, block) {}

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

bool has_kernel_types(const KernelSpec& spec) {
  const auto is_known = [&](size_t i) { return !spec.given(i) || spec.constant(i) != nullptr; };
  return spec.all_of_type(DType::kF32) && is_known(kLow) && is_known(kHigh);
}

bool has_constant_filters(const KernelSpec& spec) {
  return has_kernel_types(spec) && spec.constant(1) != nullptr &&
         (!spec.given(2) || spec.constant(2) != nullptr);
}

}  // namespace shoal::cpu
