// ConvWeightsBackward, the gradient of Conv's weights from its image x and the gradient dy of its
// output, without unfolding x:
//   dw[m, c, tap] = sum over n, o of dy[n, m, o] x[n, c, o * stride + tap * dilation - pad]
//
// tiles  the product [m, positions of all images] x [positions, taps and c] (tiles.h). Positions
//        are many and tiles few, so that parts of the sum are computed side by side
// lines  a sum for each element of dw (lines.h), row by row of dy
//
// The second output, if there is one, is the sum of dy for each channel.
#include "shoal/engine/gpu/kernels/makers.h"
#include "shoal/engine/gpu/source/lines.h"
#include "shoal/engine/gpu/source/source.h"
#include "shoal/engine/gpu/source/tiles.h"
#include "shoal/model/ops/conv/conv.h"
#include "shoal/model/ops/ops.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;
using Numbers = std::map<std::string, std::string>;

Numbers values_of(const ops::Convolution& conv) {
  Numbers values = numbers_of(conv.window);
  values["load"] = "$load";
  values["taps"] = text_of(conv.taps());
  values["groups"] = text_of(conv.groups);
  values["in_channels"] = text_of(conv.in_channels);
  values["out_channels"] = text_of(conv.out_channels);
  values["image"] = text_of(conv.input_plane());
  values["plane"] = text_of(conv.output_plane());
  return values;
}

// Columns are ordered by taps, so that neighbours in a tile mostly share theirs.
constexpr std::string_view kColumn = R"(const int c = column % $in_channels;
const int tap = column / $in_channels;
const int tap_d = tap / ($kernel_h * $kernel_w) * $dilation_d - $pad_d;
const int tap_h = tap / $kernel_w % $kernel_h * $dilation_h - $pad_h;
const int tap_w = tap % $kernel_w * $dilation_w - $pad_w;
)";
constexpr std::string_view kElement = R"(const int p = k % $plane;
const int d = p / ($out_h * $out_w) * $stride_d + tap_d;
const int h = p / $out_w % $out_h * $stride_h + tap_h;
const int w = p % $out_w * $stride_w + tap_w;
if (d >= 0 && d < $in_d && h >= 0 && h < $in_h && w >= 0 && w < $in_w) {
  v = $load(x, ((k / $plane * $groups + z) * $in_channels + c) * $image + (d * $in_h + h) * $in_w + w);
}
)";

TileProduct tile_product(const ops::Convolution& conv) {
  const Numbers values = values_of(conv);
  TileProduct product;
  product.rows = conv.out_channels;
  product.columns = conv.in_channels * conv.taps();
  product.k = conv.batch * conv.output_plane();
  product.batch = conv.groups;
  product.a.load = filled(
      "v = $load(dy, ((k / $plane * $groups + z) * $out_channels + row) * $plane + k % $plane);\n",
      values);
  product.a.along_k = product.b.along_k = true;
  product.b.setup = filled(kColumn, values);
  product.b.load = filled(kElement, values);
  product.at = filled(
      "((z * $out_channels + r) * $in_channels + j % $in_channels) * $taps + j / $in_channels",
      values);
  product.in_fours = conv.taps() == 1 && conv.in_channels % 4 == 0;
  return product;
}

// Of row `oh`, the columns of dy whose taps lie in x.
constexpr std::string_view kRow = R"(const int oh = j % $out_h;
const int od = j / $out_h % $out_d;
const int image = j / ($out_h * $out_d);
const int d = od * $stride_d + tap_d;
const int h = oh * $stride_h + tap_h;
float row = 0.0f;
if (d >= 0 && d < $in_d && h >= 0 && h < $in_h) {
  const int from = ((image * $groups + z) * $in_channels + c) * $image + (d * $in_h + h) * $in_w + tap_w;
  const int of = ((image * $groups + z) * $out_channels + m) * $plane + (od * $out_h + oh) * $out_w;
  for (int ow = first; ow < end; ++ow) row += LOAD(dy, of + ow) * LOAD(x, from + ow * $stride_w);
}
)";

Launch lines_launch(const ops::Convolution& conv, std::vector<Argument> arguments,
                    const Capabilities& device) {
  Numbers values = values_of(conv);
  values["columns"] = text_of(conv.in_channels * conv.taps());
  const auto& [depth, rows, columns] = conv.window.axes;
  LineKernel kernel(device, conv.groups * conv.out_channels * conv.in_channels * conv.taps(),
                    conv.batch * depth.output * rows.output);
  kernel.statement(filled(R"(const int z = line / ($columns * $out_channels);
const int m = line / $columns % $out_channels;
const int c = line / $taps % $in_channels;
const int tap = line % $taps;
const int tap_d = tap / ($kernel_h * $kernel_w) * $dilation_d - $pad_d;
const int tap_h = tap / $kernel_w % $kernel_h * $dilation_h - $pad_h;
const int tap_w = tap % $kernel_w * $dilation_w - $pad_w;
const int first = tap_w < 0 ? ($stride_w - 1 - tap_w) / $stride_w : 0;
const int last = ($in_w - 1 - tap_w) / $stride_w;
const int end = $in_w - 1 < tap_w ? 0 : last < $out_w ? last + 1 : $out_w;
)",
                          values));
  kernel.reduce("total", "0.0f", "row", kSum, filled(kRow, values));
  kernel.once("STORE(y, line, total);\n");
  return kernel.finish(std::move(arguments));
}

}  // namespace

std::optional<Work> make_conv_weights(const NodeSpec& spec) {
  const ops::Convolution conv = ops::convolution_of(spec.node, spec.shape(0), spec.output());
  if (!is_small(conv.window)) return std::nullopt;
  const std::vector<Argument> arguments{
      {Kind::kInput, 0, "x"}, {Kind::kInput, 1, "dy"}, {Kind::kOutput, 0, "y"}};
  std::optional<Work> work = make_tiles(tile_product(conv), arguments, spec.device, spec.rank);
  if (!work && spec.rank > 0) return std::nullopt;
  if (!work) work = Work{"lines", {lines_launch(conv, arguments, spec.device)}};
  if (spec.outputs.size() < 2) return work;
  const int64_t channels = spec.shape(1)[1], plane = conv.output_plane();
  add_reduction({.from = {Kind::kInput, 1, "dy"},
                 .to = {Kind::kOutput, 1, "db"},
                 .kept = {{channels}, {plane}},
                 .gone = {{conv.batch, plane}, {channels * plane, 1}}},
                spec.device, *work);
  return work;
}

}  // namespace shoal::gpu
