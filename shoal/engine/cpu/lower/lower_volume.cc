// Rule for convolutions of volumes [n, c, d, h, w], as those of video. A window of k frames sees k
// times the channels of one frame, so the convolution is one of images: the planes [h, w] of all
// frames in a window become the channels of one image per output frame,
//   y[f] = sum over t of w[t] * x[f + t]  =  [w[0] ... w[k - 1]] * [x[f] ... x[f + k - 1]].
// Each plane is copied k times. In exchange Winograd's transforms and the blocked layout apply:
// a product of image columns, which is the alternative, saves no multiplication.
#include <algorithm>

#include "shoal/base/round_up.h"
#include "shoal/engine/cpu/lower/lowering.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

constexpr size_t kWeights = 1, kBias = 2, kResidual = 3;
constexpr size_t kVolumeRank = 5;

ops::Convolution volume_of(const Lowering& lowering, const Node& node) {
  return ops::convolution_of(node, lowering.shape(node.inputs[0]),
                             lowering.shape(node.inputs[kWeights]));
}

// As the kernels by Winograd's transforms need it.
bool has_dense_windows(const ops::Convolution& conv) {
  const auto is_dense = [](const ops::WindowAxis& axis) {
    const bool covered = axis.pad_begin <= axis.kernel && axis.pad_end <= axis.kernel;
    return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1 && covered;
  };
  return is_dense(conv.window.axes[1]) && is_dense(conv.window.axes[2]);
}

bool fits_volume(const Lowering& lowering, const Node& node) {
  const TensorType& x = lowering.graph()[node.inputs[0]].type;
  const bool has_residual = node.inputs.size() > kResidual && node.inputs[kResidual] != kNoValue;
  if (x.dtype != DType::kF32 || x.shape.rank() != kVolumeRank || x.shape.count() == 0 ||
      has_residual || !lowering.graph()[node.inputs[kWeights]].constant) {
    return false;
  }
  const ops::Convolution conv = volume_of(lowering, node);
  const ops::WindowAxis& depth = conv.window.axes[0];
  const int64_t block = lowering.block(), channels = depth.kernel * conv.in_channels;
  // More copies of a plane would cost more than they gain. Below this many pixels, reading the
  // transformed filters would take most of the time. Both by count, not measured: C3D has layers of
  // 50,176, 6,272, 784 and 98 pixels, and the first two are taken.
  constexpr int64_t kMostFrames = 5, kFewPixels = 2048;
  const bool moderate = depth.kernel <= kMostFrames && depth.output <= depth.input + kMostFrames;
  return conv.groups == 1 && has_dense_windows(conv) && moderate && 2 * channels >= block &&
         round_up(conv.out_channels, block) <= 2 * conv.out_channels &&
         conv.output_plane() >= kFewPixels;
}

// Weights [m, c, k, h, w] as [m, k * c, h, w].
Tensor weights_of_images(const Tensor& volume) {
  const Shape& s = volume.shape();
  const size_t filters = static_cast<size_t>(s[0]), channels = static_cast<size_t>(s[1]),
               frames = static_cast<size_t>(s[2]), taps = static_cast<size_t>(s[3] * s[4]);
  Tensor images({DType::kF32, {s[0], s[2] * s[1], s[3], s[4]}});
  const std::span<const float> from = volume.data<float>();
  float* to = images.data<float>().data();
  for (size_t m = 0; m < filters; ++m) {
    for (size_t t = 0; t < frames; ++t) {
      for (size_t c = 0; c < channels; ++c) {
        to =
            std::ranges::copy(from.subspan(((m * channels + c) * frames + t) * taps, taps), to).out;
      }
    }
  }
  volume.release_pages();  // of a mapped file, which nothing reads again
  return images;
}

// For each output frame, tap and channel, the plane that it reads among c * d planes, or the one
// behind them, which is padding.
Tensor plane_numbers(const ops::Convolution& conv) {
  const ops::WindowAxis& depth = conv.window.axes[0];
  std::vector<int64_t> numbers;
  for (int64_t f = 0; f < depth.output; ++f) {
    for (int64_t t = 0; t < depth.kernel; ++t) {
      const int64_t frame = depth.position(f, t);
      const bool inside = frame >= 0 && frame < depth.input;
      for (int64_t c = 0; c < conv.in_channels; ++c) {
        numbers.push_back(inside ? c * depth.input + frame : conv.in_channels * depth.input);
      }
    }
  }
  return Tensor::of<int64_t>({std::ssize(numbers)}, numbers);
}

// A value of another shape.
Result<ValueId> reshaped(Lowering& lowering, ValueId id, const std::string& name,
                         const std::vector<int64_t>& shape) {
  const ValueId to = lowering.add_constant(name, Tensor::of<int64_t>({std::ssize(shape)}, shape));
  return lowering.add(ops::reshape, {id, to}, {});
}

// One image per output frame, with the channels of all frames in its window.
Result<ValueId> images_of_windows(Lowering& lowering, const Node& node,
                                  const ops::Convolution& conv) {
  const std::string& name = lowering.graph()[node.outputs[0]].name;
  const ops::WindowAxis &depth = conv.window.axes[0], &rows = conv.window.axes[1],
                        &columns = conv.window.axes[2];
  const int64_t planes = conv.in_channels * depth.input;
  SHOAL_ASSIGN(ValueId x, lowering.plain_of(node.inputs[0]));
  SHOAL_ASSIGN(
      x, reshaped(lowering, x, name + ".planes", {conv.batch, planes, rows.input, columns.input}));
  Tensor padding({DType::kF32, {conv.batch, 1, rows.input, columns.input}});
  std::ranges::fill(padding.data<float>(), 0.0f);
  const ValueId zero = lowering.add_constant(name + ".padding", std::move(padding));
  SHOAL_ASSIGN(x, lowering.add(ops::concat, {x, zero}, {{"axis", int64_t{1}}}));
  const ValueId numbers = lowering.add_constant(name + ".frames", plane_numbers(conv));
  SHOAL_ASSIGN(x, lowering.add(ops::gather, {x, numbers}, {{"axis", int64_t{1}}}));
  return reshaped(
      lowering, x, name + ".windows",
      {conv.batch * depth.output, depth.kernel * conv.in_channels, rows.input, columns.input});
}

Status lower_volume(Lowering& lowering, const Node& node) {
  const ops::Convolution conv = volume_of(lowering, node);
  const std::string& name = lowering.graph()[node.outputs[0]].name;
  const ops::WindowAxis &depth = conv.window.axes[0], &rows = conv.window.axes[1],
                        &columns = conv.window.axes[2];
  SHOAL_ASSIGN(ValueId x, images_of_windows(lowering, node, conv));
  SHOAL_ASSIGN(x, lowering.add(block_channels, {x}, {{"block", lowering.block()}}));
  const Tensor& weights = *lowering.graph()[node.inputs[kWeights]].constant;
  std::vector<ValueId> inputs{x,
                              lowering.add_constant(name + ".weights", weights_of_images(weights))};
  if (node.inputs.size() > kBias) {
    SHOAL_ASSIGN(const ValueId bias, lowering.plain_of(node.inputs[kBias]));
    inputs.push_back(bias);
  }
  Attributes attributes = node.attributes;
  for (const char* of_volumes : {"auto_pad", "kernel_shape", "strides", "dilations"}) {
    attributes.erase(of_volumes);
  }
  attributes["pads"] =
      std::vector{rows.pad_begin, columns.pad_begin, rows.pad_end, columns.pad_end};
  attributes["block"] = lowering.block();
  SHOAL_ASSIGN(ValueId y, lowering.add(blocked_conv, std::move(inputs), std::move(attributes)));
  SHOAL_ASSIGN(y, lowering.add(unblock_channels, {y}, {{"channels", conv.out_channels}}));
  SHOAL_ASSIGN(
      y, reshaped(lowering, y, name + ".images",
                  {conv.batch, depth.output, conv.out_channels, rows.output, columns.output}));
  return lowering.add_plain(node, ops::transpose, {y},
                            {{"perm", std::vector<int64_t>{0, 2, 1, 3, 4}}});
}

}  // namespace

std::span<const LoweringRule> volume_rules() {
  static const LoweringRule kRules[] = {{&ops::conv, fits_volume, lower_volume},
                                        {&ops::fused_conv, fits_volume, lower_volume}};
  return kRules;
}

}  // namespace shoal::cpu
