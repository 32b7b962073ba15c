#include "shoal/engine/gpu/kernels/conv_form.h"

#include <algorithm>

#include "shoal/engine/gpu/source/source.h"
#include "shoal/model/ops/ops.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;

bool is_fused(const Operator* op) {
  return op == &ops::fused_conv || op == &ops::fused_conv_transpose;
}

// Output o of x meets tap k of the kernel at element i of y where i * stride = o + pad - k *
// dilation; with the taps in reverse order, that is o - (extent - 1 - pad) + k * dilation.
ops::WindowAxis backward_axis(const ops::WindowAxis& axis) {
  ops::WindowAxis back{.input = (axis.output - 1) * axis.stride + 1,
                       .kernel = axis.kernel,
                       .stride = 1,
                       .dilation = axis.dilation,
                       .pad_begin = axis.extent() - 1 - axis.pad_begin,
                       .output = axis.input};
  back.pad_end = back.output - 1 + back.extent() - back.pad_begin - back.input;
  return back;
}

}  // namespace

ConvForm conv_form(const Node& node, const Shape& x, const Shape& w) {
  if (node.op == &ops::conv || node.op == &ops::fused_conv) {
    return {ops::convolution_of(node, x, w)};
  }
  ConvForm form{ops::transposed_convolution_of(node, x, w), true};
  std::swap(form.conv.in_channels, form.conv.out_channels);
  for (size_t d = 0; d < form.spread.size(); ++d) {
    form.spread[d] = form.conv.window.axes[d].stride;
    form.conv.window.axes[d] = backward_axis(form.conv.window.axes[d]);
  }
  return form;
}

bool ConvForm::has_padding() const {
  return std::ranges::any_of(conv.window.axes, [](const ops::WindowAxis& axis) {
    return axis.position(0, 0) < 0 || axis.position(axis.output - 1, axis.kernel - 1) >= axis.input;
  });
}

int64_t ConvForm::weight(int64_t z, int64_t m, int64_t c, int64_t tap) const {
  const int64_t taps = conv.taps();
  return is_backward ? ((z * conv.in_channels + c) * conv.out_channels + m) * taps + taps - 1 - tap
                     : ((z * conv.out_channels + m) * conv.in_channels + c) * taps + tap;
}

std::string ConvForm::weight_text(const std::string& z, const std::string& m, const std::string& c,
                                  const std::string& tap) const {
  const std::map<std::string, std::string> values{{"z", z},
                                                  {"m", m},
                                                  {"c", c},
                                                  {"tap", tap},
                                                  {"taps", text_of(conv.taps())},
                                                  {"in_channels", text_of(conv.in_channels)},
                                                  {"out_channels", text_of(conv.out_channels)}};
  return filled(
      is_backward
          ? "((($z) * $in_channels + ($c)) * $out_channels + ($m)) * $taps + $taps - 1 - ($tap)"
          : "((($z) * $out_channels + ($m)) * $in_channels + ($c)) * $taps + ($tap)",
      values);
}

std::string ConvForm::inside_text() const {
  std::string text = has_padding() ? "" : "true";
  for (size_t d = 0; d < spread.size(); ++d) {
    const std::string at(1, "dhw"[d]);
    const int64_t input = conv.window.axes[d].input;
    if (has_padding()) {
      text += (text.empty() ? "" : " && ") + at + " >= 0 && " + at + " < " + text_of(input);
    }
    if (spread[d] > 1) text += " && " + at + " % " + text_of(spread[d]) + " == 0";
  }
  return text;
}

std::string ConvForm::place_text() const {
  return filled("(d / $spread_d * $image_h + h / $spread_h) * $image_w + w / $spread_w",
                numbers_of(*this));
}

std::map<std::string, std::string> numbers_of(const ConvForm& form) {
  const ops::Convolution& conv = form.conv;
  auto values = numbers_of(conv.window);
  int64_t image = 1;
  for (size_t d = 0; d < form.spread.size(); ++d) {
    const std::string suffix = std::string("_") + "dhw"[d];
    const int64_t elements = (conv.window.axes[d].input - 1) / form.spread[d] + 1;
    values["spread" + suffix] = text_of(form.spread[d]);
    values["image" + suffix] = text_of(elements);
    image *= elements;
  }
  values["image"] = text_of(image);
  values["k"] = text_of(form.k());
  values["taps"] = text_of(conv.taps());
  values["plane"] = text_of(conv.output_plane());
  values["groups"] = text_of(conv.groups);
  values["in_channels"] = text_of(conv.in_channels);
  values["out_channels"] = text_of(conv.out_channels);
  return values;
}

std::string output_text(const ops::Convolution& conv, const std::string& m) {
  return "((image * " + text_of(conv.groups) + " + group) * " + text_of(conv.out_channels) + " + " +
         m + ") * " + text_of(conv.output_plane()) + " + p";
}

std::string value_text(const NodeSpec& spec, const ops::Convolution& conv, const std::string& m,
                       const std::string& at, const std::string& sum) {
  std::string value = sum;
  if (spec.has(2)) {
    value += " + LOAD(bias, group * " + text_of(conv.out_channels) + " + " + m + ")";
  }
  if (spec.has(3)) value += " + LOAD(residual, " + at + ")";
  if (is_fused(spec.node.op)) value = call(ops::activation_of(spec.node), value);
  return value;
}

std::vector<Argument> conv_arguments(const NodeSpec& spec) {
  std::vector<Argument> arguments{{Kind::kInput, 0, "x"}};
  if (spec.has(2)) arguments.push_back({Kind::kInput, 2, "bias"});
  if (spec.has(3)) arguments.push_back({Kind::kInput, 3, "residual"});
  arguments.push_back({Kind::kOutput, 0, "y"});
  return arguments;
}

}  // namespace shoal::gpu
