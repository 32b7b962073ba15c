// BlockedConv by oneDNN, whose layouts nChw8c and nChw16c are our blocked layout for blocks of 8
// and 16.
#include <limits>
#include <optional>
#include <unordered_map>

#include "shoal/engine/cpu/conv/blocked_spec.h"
#include "shoal/engine/cpu/product/onednn.h"

namespace shoal::cpu {
namespace {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
using Dims = dnnl::memory::dims;
using Descriptor = dnnl::convolution_forward::primitive_desc;

Desc floats(const Dims& dims, Tag tag) { return {dims, dnnl::memory::data_type::f32, tag}; }

// Padding that windows meet behind the image, which may be less than pad_end; negative if they
// leave part of the image out.
int64_t end_padding(const ops::WindowAxis& axis) {
  return (axis.output - 1) * axis.stride + axis.extent() - axis.input - axis.pad_begin;
}

Descriptor describe(const BlockedSpec& spec, const Epilogue& activation, bool has_residual) {
  const ops::Convolution& conv = spec.conv;
  const ops::WindowAxis &rows = spec.rows(), &columns = spec.columns();
  const Tag blocked = spec.block == 16 ? Tag::nChw16c : Tag::nChw8c;
  const Desc x = floats({conv.batch, conv.in_channels, rows.input, columns.input},
                        spec.image_is_blocked ? blocked : Tag::nchw);
  const Desc w =
      floats({conv.out_channels, conv.in_channels, rows.kernel, columns.kernel}, Tag::any);
  const Desc y = floats({conv.batch, conv.out_channels, rows.output, columns.output}, blocked);
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, x, w,
      floats({conv.out_channels}, Tag::a), y, Dims{rows.stride, columns.stride},
      Dims{rows.dilation - 1, columns.dilation - 1}, Dims{rows.pad_begin, columns.pad_begin},
      Dims{end_padding(rows), end_padding(columns)});
  dnnl::post_ops after;
  if (has_residual) after.append_binary(dnnl::algorithm::binary_add, y);
  append_clamp(after, activation);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(after);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return {desc, attributes, onednn_engine()};
}

class OneDnnConvKernel : public Kernel {
 public:
  OneDnnConvKernel(const KernelSpec& spec, const Descriptor& descriptor)
      : spec_(spec),
        pass_(Epilogue(ops::activation_of(spec.node)).pass),
        descriptor_(descriptor),
        primitive_(descriptor),
        weights_(pack(*spec.constant(1))) {}

  void run(const KernelArgs& args) const override {
    const OneOpenMpThread one;
    const Desc y = descriptor_.dst_desc();
    std::unordered_map<int, dnnl::memory> arguments = {
        {DNNL_ARG_SRC, onednn_memory(descriptor_.src_desc(), args.input(0))},
        {DNNL_ARG_WEIGHTS, onednn_memory(descriptor_.weights_desc(), weights_.data())},
        {DNNL_ARG_BIAS, onednn_memory(descriptor_.bias_desc(), spec_.bias.data())},
        {DNNL_ARG_SCRATCHPAD, onednn_memory(descriptor_.scratchpad_desc(), args.scratch)},
        {DNNL_ARG_DST, onednn_memory(y, args.output(0))}};
    if (args.has(3)) {
      arguments.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                        onednn_memory(y, args.input(3)));
    }
    dnnl::stream stream(onednn_engine());
    primitive_.execute(stream, arguments);
    stream.wait();
    // Clamps are post-ops of the primitive; other activations are a pass of our own.
    const int64_t count = spec_.conv.batch * spec_.output_image();
    if (pass_.loop != nullptr) pass_(args.output(0), args.output(0), count);
  }

  size_t scratch_bytes() const override { return descriptor_.scratchpad_desc().get_size(); }

 private:
  AlignedFloats pack(const Tensor& weights) const {
    const ops::Convolution& conv = spec_.conv;
    const Desc plain =
        floats({conv.out_channels, conv.in_channels, spec_.rows().kernel, spec_.columns().kernel},
               Tag::oihw);
    AlignedFloats packed =
        reordered(plain, weights.data<float>().data(), descriptor_.weights_desc());
    weights.release_pages();
    return packed;
  }

  const BlockedSpec spec_;
  const Function pass_;
  const Descriptor descriptor_;
  const dnnl::convolution_forward primitive_;
  const AlignedFloats weights_;
};

std::optional<Descriptor> descriptor_of(const KernelSpec& spec) {
  const int64_t block = spec.outputs[0].shape[4];
  const bool is_bounded = spec.given(kLow) || spec.given(kHigh);
  const bool fits = has_constant_filters(spec) && !is_bounded && spec.pool.threads() == 1 &&
                    (block == 8 || block == 16) && spec.node.integer("group", 1) == 1;
  if (!fits) return std::nullopt;
  const Epilogue activation(ops::activation_of(spec.node));
  return if_possible([&] { return describe(BlockedSpec(spec), activation, spec.given(3)); });
}

std::unique_ptr<Kernel> make_conv(const KernelSpec& spec) {
  const OneOpenMpThread one;
  const auto descriptor = descriptor_of(spec);
  return descriptor ? std::make_unique<OneDnnConvKernel>(spec, *descriptor) : nullptr;
}

// The same estimate as for our own direct kernel, so that the two are always measured.
double cost(const KernelSpec& spec) {
  if (!descriptor_of(spec)) return std::numeric_limits<double>::infinity();
  return static_cast<double>(
      ops::count_macs(blocked_convolution_of(spec.node, spec.shape(0), spec.shape(1))));
}

}  // namespace

std::vector<Provider> onednn_conv_kernels() { return {{&blocked_conv, "onednn", make_conv, cost}}; }

}  // namespace shoal::cpu
