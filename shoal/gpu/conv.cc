// Convolution, y = activation(w * x + bias + residual), without unfolding (huynh B.3.2).
//
// direct  an item computes one position of several output channels, so that an element of x is
//         loaded once for all of them; items of a group are neighbours in a row, and read
//         neighbours
// tiles   a product by tiles (tiles.h), where the device has local memory
#include "shoal/ops/nn/conv.h"

#include <algorithm>

#include "shoal/gpu/functions.h"
#include "shoal/gpu/makers.h"
#include "shoal/gpu/source.h"
#include "shoal/gpu/tiles.h"
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

// The product [out_channels, taps] x [taps, positions of all images], where the right side is read
// from x as it is needed (implicit unfolding).
TileProduct tile_product(const NodeSpec& spec, const ops::Convolution& conv) {
  auto values = numbers_of(conv.window);
  values["k"] = text_of(conv.in_channels * conv.taps());
  values["taps"] = text_of(conv.taps());
  values["plane"] = text_of(conv.output_plane());
  values["groups"] = text_of(conv.groups);
  values["in_channels"] = text_of(conv.in_channels);
  values["out_channels"] = text_of(conv.out_channels);
  values["inside"] =
      has_padding(conv.window)
          ? filled("d >= 0 && d < $in_d && h >= 0 && h < $in_h && w >= 0 && w < $in_w", values)
          : "true";
  TileProduct product;
  product.rows = conv.out_channels;
  product.columns = conv.batch * conv.output_plane();
  product.k = conv.in_channels * conv.taps();
  product.batch = conv.groups;
  product.a.load = filled("v = LOAD(w_, (z * $out_channels + row) * $k + k);\n", values);
  product.a.along_k = true;
  product.b.setup = filled(
      R"(const int x_from = (column / $plane * $groups + z) * $in_channels * ($in_d * $in_h * $in_w);
const int x_d = column % $plane / ($out_h * $out_w) * $stride_d - $pad_d;
const int x_h = column % $plane / $out_w % $out_h * $stride_h - $pad_h;
const int x_w = column % $plane % $out_w * $stride_w - $pad_w;
)",
      values);
  product.b.load = filled(R"(const int c = k / $taps;
const int tap = k % $taps;
const int d = x_d + tap / ($kernel_h * $kernel_w) * $dilation_d;
const int h = x_h + tap / $kernel_w % $kernel_h * $dilation_h;
const int w = x_w + tap % $kernel_w * $dilation_w;
if ($inside) v = LOAD(x, x_from + ((c * $in_d + d) * $in_h + h) * $in_w + w);
)",
                          values);
  product.column_setup = filled(R"(const int image = j / $plane;
const int p = j % $plane;
const int group = z;
)",
                                values);
  product.finish = store_text(spec, conv, "r", "value");
  return product;
}

}  // namespace

std::optional<Work> make_conv(const NodeSpec& spec) {
  const ops::Convolution conv = ops::convolution_of(spec.node, spec.shape(0), spec.shape(1));
  if (!is_small(conv.window)) return std::nullopt;
  if (spec.node.op == &ops::fused_conv && ops::activation_of(spec.node).op != nullptr &&
      !is_unary(ops::activation_of(spec.node).op)) {
    return std::nullopt;
  }
  std::optional<Launch> tiles =
      make_tiles(tile_product(spec, conv), arguments_of(spec), spec.device);
  if (tiles) return Work{"tiles", {*std::move(tiles)}, {}, 0};
  return Work{"direct", {direct(spec, conv)}, {}, 0};
}

}  // namespace shoal::gpu
