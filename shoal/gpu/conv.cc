// Convolution, y = activation(w * x + bias + residual), without unfolding (huynh B.3.2), and its
// transpose, which is the gradient for x (conv_form.h).
//
// direct  by items alone (conv_direct.h)
// tiles   a product by tiles (tiles.h), where the device has local memory. Weights are packed
//         before: once if they are constant, otherwise in each run
// matrix  the same in half precision, where the device has units for that (matrix.h)
#include <algorithm>

#include "shoal/gpu/conv_direct.h"
#include "shoal/gpu/functions.h"
#include "shoal/gpu/makers.h"
#include "shoal/gpu/matrix.h"
#include "shoal/gpu/source.h"
#include "shoal/gpu/tiles.h"
#include "shoal/gpu/window_text.h"
#include "shoal/ops/ops.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;

// Rows of packed weights are loaded in fours.
int64_t padded_rows(const ops::Convolution& conv) { return (conv.out_channels + 3) / 4 * 4; }

// The order of k. Tap by tap, where a step has one tap only, so that an item finds the place of its
// column once in a step; otherwise channel by channel, as weights are stored.
bool is_by_taps(const ops::Convolution& conv) { return conv.in_channels % kMostDepth == 0; }

// The left side of a product as [groups, k, rows], so that neighbours in memory are rows.
Tensor tile_table(const TileProduct& product,
                  const std::function<float(int64_t, int64_t, int64_t)>& element) {
  const int64_t rows = (product.rows + 3) / 4 * 4;
  Tensor table({DType::kF32, {product.batch, product.k, rows}});
  for (int64_t z = 0; z < product.batch; ++z) {
    for (int64_t row = 0; row < product.rows; ++row) {
      for (int64_t k = 0; k < product.k; ++k) {
        table.data<float>()[static_cast<size_t>((z * product.k + k) * rows + row)] =
            element(z, row, k);
      }
    }
  }
  return table;
}

// The same table in scratch memory.
Launch pack_launch(const NodeSpec& spec, const ConvForm& form) {
  const ops::Convolution& conv = form.conv;
  auto values = numbers_of(form);
  const bool by_taps = is_by_taps(conv);
  values["rows"] = text_of(padded_rows(conv));
  values["channel"] = by_taps ? "k % " + values["in_channels"] : "k / " + values["taps"];
  values["tap"] = by_taps ? "k / " + values["in_channels"] : "k % " + values["taps"];
  values["weight"] = form.weight_text("i / ($k * $rows)", "row", values["channel"], values["tap"]);
  values["weight"] = filled(values["weight"], values);
  return for_each_element(conv.groups * form.k() * padded_rows(conv),
                          {{Kind::kInput, 1, "w_"}, {Kind::kScratch, 0, "packed"}},
                          filled(R"(const int row = i % $rows;
const int k = i / $rows % $k;
STORE(packed, i, row < $out_channels ? LOAD(w_, $weight) : 0.0f);
)",
                                 values),
                          spec.device);
}

constexpr std::string_view kTapStep = R"(const int tap = at / $in_channels;
const int d = x_d + tap / ($kernel_h * $kernel_w) * $dilation_d;
const int h = x_h + tap / $kernel_w % $kernel_h * $dilation_h;
const int w = x_w + tap % $kernel_w * $dilation_w;
const bool inside = $inside;
const int x_at = x_from + at % $in_channels * $image + $place;
)";
constexpr std::string_view kTapLoad = "if (inside) v = $load(x, x_at + (k - at) * $image);\n";
constexpr std::string_view kLoad = R"(const int c = k / $taps;
const int tap = k % $taps;
const int d = x_d + tap / ($kernel_h * $kernel_w) * $dilation_d;
const int h = x_h + tap / $kernel_w % $kernel_h * $dilation_h;
const int w = x_w + tap % $kernel_w * $dilation_w;
if ($inside) v = $load(x, x_from + c * $image + $place);
)";

// The product [out_channels, taps] x [taps, positions of all images], where the right side is read
// from x as it is needed (implicit unfolding). The left side is the table of packed weights.
TileProduct tile_product(const NodeSpec& spec, const ConvForm& form) {
  const ops::Convolution& conv = form.conv;
  auto values = numbers_of(form);
  values["load"] = "$load";
  values["padded"] = text_of(padded_rows(conv));
  values["inside"] = form.inside_text();
  values["place"] = form.place_text();
  TileProduct product;
  product.rows = conv.out_channels;
  product.columns = conv.batch * conv.output_plane();
  product.k = form.k();
  product.batch = conv.groups;
  const bool by_taps = is_by_taps(conv);
  product.a.load = filled("v = ALIGNED4(packed, (z * $k + k) * $padded + row);\n", values);
  product.a.in_fours = true;
  product.b.setup = filled(
      R"(const int x_from = (column / $plane * $groups + z) * $in_channels * $image;
const int x_d = column % $plane / ($out_h * $out_w) * $stride_d - $pad_d;
const int x_h = column % $plane / $out_w % $out_h * $stride_h - $pad_h;
const int x_w = column % $plane % $out_w * $stride_w - $pad_w;
)",
      values);
  product.b.step = by_taps ? filled(kTapStep, values) : "";
  product.b.load = filled(by_taps ? kTapLoad : kLoad, values);
  product.column_setup = filled(R"(const int image = j / $plane;
const int p = j % $plane;
const int group = z;
)",
                                values);
  product.at = output_text(conv, "r");
  product.finish = "value = " + value_text(spec, conv, "r", "at", "value") + ";\n";
  product.in_fours = conv.output_plane() % 4 == 0;
  return product;
}

// With weights that are computed, too.
std::optional<Work> make_packed_tiles(const NodeSpec& spec, const ConvForm& form,
                                      TileProduct product) {
  std::vector<Argument> arguments = conv_arguments(spec);
  arguments.push_back({Kind::kScratch, 0, "packed"});
  product.scratch = product.batch * product.k * padded_rows(form.conv);
  auto work = make_tiles(product, std::move(arguments), spec.device);
  if (work) work->launches.insert(work->launches.begin(), pack_launch(spec, form));
  return work;
}

}  // namespace

std::optional<Work> make_conv(const NodeSpec& spec) {
  const ConvForm form = conv_form(spec.node, spec.shape(0), spec.shape(1));
  const ops::Convolution& conv = form.conv;
  if (!is_small(conv.window)) return std::nullopt;
  const Operator* activation = ops::activation_of(spec.node).op;
  if (activation != nullptr && !is_unary(activation)) return std::nullopt;
  const Tensor* weights = spec.inputs[1].value;
  const TileProduct product = tile_product(spec, form);
  if (weights == nullptr) {
    auto work = make_packed_tiles(spec, form, product);
    return work ? work : make_direct_conv(spec, form);
  }
  const auto element = [w = *weights, form](int64_t z, int64_t row, int64_t k) {
    const int64_t channels = form.conv.in_channels, taps = form.conv.taps();
    const bool by_taps = is_by_taps(form.conv);
    const int64_t c = by_taps ? k % channels : k / taps, tap = by_taps ? k / channels : k % taps;
    return w.data<float>()[static_cast<size_t>(form.weight(z, row, c, tap))];
  };
  if (spec.in_half) {
    if (auto work = make_matrix(product, conv_arguments(spec), spec.device)) {
      work->tables.push_back([=] { return matrix_table(product, element); });
      return work;
    }
  }
  std::vector<Argument> arguments = conv_arguments(spec);
  arguments.push_back({Kind::kTable, 0, "packed"});
  if (auto work = make_tiles(product, std::move(arguments), spec.device)) {
    work->tables.push_back([=] { return tile_table(product, element); });
    return work;
  }
  return make_direct_conv(spec, form);
}

}  // namespace shoal::gpu
