// Convolution, y = activation(w * x + bias + residual), without unfolding (huynh B.3.2): an item
// computes one position of several output channels, so that an element of x is loaded once for all
// of them. Items of a group are neighbours in a row, and read neighbours.
#include "shoal/ops/nn/conv.h"

#include <algorithm>

#include "shoal/gpu/functions.h"
#include "shoal/gpu/makers.h"
#include "shoal/gpu/source.h"
#include "shoal/gpu/window_text.h"
#include "shoal/ops/ops.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;

constexpr std::string_view kDirect = R"(const int p = GROUP(0) * $items + ITEM(0);
if (p >= $plane) return;
const int block = GROUP(1);
const int image = GROUP(2);
const int group = block / $blocks;
const int m = block % $blocks * $rows;
const int ow = p % $out_w;
const int oh = p / $out_w % $out_h;
const int od = p / ($out_w * $out_h);
$clear
for (int c = 0; c < $in_channels; ++c) {
  const int plane = ((image * $groups + group) * $in_channels + c) * ($in_d * $in_h * $in_w);
  for (int kd = 0; kd < $kernel_d; ++kd) {
    const int d = od * $stride_d - $pad_d + kd * $dilation_d;
    for (int kh = 0; kh < $kernel_h; ++kh) {
      const int h = oh * $stride_h - $pad_h + kh * $dilation_h;
      const int row = plane + (d * $in_h + h) * $in_w;
      for (int kw = 0; kw < $kernel_w; ++kw) {
        const int w = ow * $stride_w - $pad_w + kw * $dilation_w;
        const int tap = (c * $kernel_d + kd) * $kernel_h * $kernel_w + kh * $kernel_w + kw;
        $load
        $add
      }
    }
  }
}
)";

// y + bias + residual, through the activation, for output channel `m` of the group.
std::string store_text(const NodeSpec& spec, const ops::Convolution& conv, const std::string& m,
                       const std::string& sum) {
  std::string value = sum;
  if (spec.has(2)) {
    value += " + LOAD(bias, group * " + text_of(conv.out_channels) + " + " + m + ")";
  }
  const std::string at = "((image * " + text_of(conv.groups) + " + group) * " +
                         text_of(conv.out_channels) + " + " + m + ") * " +
                         text_of(conv.output_plane()) + " + p";
  if (spec.has(3)) value += " + LOAD(residual, " + at + ")";
  if (spec.node.op == &ops::fused_conv) value = call(ops::activation_of(spec.node), value);
  return "STORE(y, " + at + ", " + value + ");\n";
}

std::vector<Argument> arguments_of(const NodeSpec& spec) {
  std::vector<Argument> arguments{{Kind::kInput, 0, "x"}, {Kind::kInput, 1, "w_"}};
  if (spec.has(2)) arguments.push_back({Kind::kInput, 2, "bias"});
  if (spec.has(3)) arguments.push_back({Kind::kInput, 3, "residual"});
  arguments.push_back({Kind::kOutput, 0, "y"});
  return arguments;
}

bool has_padding(const ops::Window& window) {
  return std::ranges::any_of(window.axes, [](const ops::WindowAxis& axis) {
    return axis.position(0, 0) < 0 || axis.position(axis.output - 1, axis.kernel - 1) >= axis.input;
  });
}

Launch direct(const NodeSpec& spec, const ops::Convolution& conv) {
  const int64_t rows = std::min<int64_t>(8, conv.out_channels);
  const int64_t blocks = (conv.out_channels + rows - 1) / rows;
  const int64_t plane = conv.output_plane();
  const int64_t items = std::min({int64_t{64}, spec.device.max_group_items, plane});
  auto values = numbers_of(conv.window);
  values["items"] = text_of(items);
  values["plane"] = text_of(plane);
  values["blocks"] = text_of(blocks);
  values["rows"] = text_of(rows);
  values["groups"] = text_of(conv.groups);
  values["in_channels"] = text_of(conv.in_channels);
  values["load"] = has_padding(conv.window)
                       ? filled(R"(const int inside = d >= 0 && d < $in_d && h >= 0 && h < $in_h
          && w >= 0 && w < $in_w;
        const float v = inside ? LOAD(x, row + w) : 0.0f;)",
                                values)
                       : "const float v = LOAD(x, row + w);";
  const std::string taps = text_of(conv.in_channels * conv.taps());
  std::string clear, add, store;
  for (int64_t r = 0; r < rows; ++r) {
    const std::string sum = "sum" + text_of(r), m = "m + " + text_of(r);
    // The last block may lack rows; it computes the last channel again, and drops it.
    const bool is_whole = conv.out_channels % rows == 0;
    const std::string last = text_of(conv.out_channels - 1);
    const std::string row = is_whole ? m : "(" + m + " < " + last + " ? " + m + " : " + last + ")";
    clear += "float " + sum + " = 0.0f;\nconst int from" + text_of(r) + " = (group * " +
             text_of(conv.out_channels) + " + " + row + ") * " + taps + ";\n";
    add += sum + " += v * LOAD(w_, from" + text_of(r) + " + tap);\n";
    store += (is_whole ? "" : "if (" + m + " <= " + last + ") ") + store_text(spec, conv, m, sum);
  }
  values["clear"] = clear;
  values["add"] = add;
  return {arguments_of(spec),
          {},
          filled(kDirect, values) + store,
          {(plane + items - 1) / items, blocks * conv.groups, conv.batch},
          {items, 1, 1}};
}

}  // namespace

std::optional<Work> make_conv(const NodeSpec& spec) {
  const ops::Convolution conv = ops::convolution_of(spec.node, spec.shape(0), spec.shape(1));
  if (!is_small(conv.window)) return std::nullopt;
  if (spec.node.op == &ops::fused_conv && ops::activation_of(spec.node).op != nullptr &&
      !is_unary(ops::activation_of(spec.node).op)) {
    return std::nullopt;
  }
  return Work{"direct", {direct(spec, conv)}, {}, 0};
}

}  // namespace shoal::gpu
