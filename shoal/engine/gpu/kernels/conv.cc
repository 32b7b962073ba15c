// Convolution, y = activation(w * x + bias + residual), without unfolding [Huynh 2017], and its
// transpose, which is the gradient for x (conv_form.h).
//
// direct  by items alone (conv_direct.h)
// tiles   a product by tiles (tiles.h), where the device has local memory. Weights are packed
//         before: once if they are constant, otherwise in each run. The transpose of a stride is
//         computed by phases (conv_phases.h)
// winograd  fewer products for windows of 3 x 3 (winograd.h), where that is faster
// matrix  the same in half precision, where the device has units for that (conv_matrix.h)
#include <algorithm>
#include <limits>

#include "shoal/engine/gpu/kernels/conv_direct.h"
#include "shoal/engine/gpu/kernels/conv_matrix.h"
#include "shoal/engine/gpu/kernels/conv_phases.h"
#include "shoal/engine/gpu/kernels/conv_winograd.h"
#include "shoal/engine/gpu/kernels/makers.h"
#include "shoal/engine/gpu/source/functions.h"
#include "shoal/engine/gpu/source/source.h"
#include "shoal/engine/gpu/source/tiles.h"
#include "shoal/engine/gpu/source/window_text.h"
#include "shoal/model/ops/ops.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;

// The table of weights that are computed, in scratch memory.
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

// A way to compute a convolution.
struct Candidate {
  double cycles = 0;
  bool by_winograd = false;
  size_t rank = 0;  // of the way to cut its products
};

// The best first, as far as costs tell.
std::vector<Candidate> candidates_of(const NodeSpec& spec, const ConvForm& form,
                                     const TileProduct& product) {
  constexpr size_t kMostCuts = 6, kMostOfWinograd = 2;
  std::vector<Candidate> all;
  const auto add = [&](double cycles, bool by_winograd, size_t rank) {
    if (cycles < std::numeric_limits<double>::infinity()) {
      all.push_back({cycles, by_winograd, rank});
    }
  };
  for (size_t rank = 0; rank < kMostCuts; ++rank) {
    add(tile_cycles(product, spec.device, rank), false, rank);
  }
  for (size_t rank = 0; rank < kMostOfWinograd; ++rank) {
    add(winograd_cycles(spec, form, rank), true, rank);
  }
  std::ranges::stable_sort(all, {}, &Candidate::cycles);
  return all;
}

// By tiles. Weights that are computed are packed first.
std::optional<Work> make_conv_tiles(const NodeSpec& spec, const ConvForm& form,
                                    const PackedConv& conv, size_t rank) {
  std::vector<Argument> arguments = conv_arguments(spec);
  TileProduct product = conv.product;
  if (conv.element) {
    arguments.push_back({Kind::kTable, 0, "packed"});
    auto work = make_tiles(product, std::move(arguments), spec.device, rank);
    if (work) {
      work->tables.push_back(
          [product, element = conv.element] { return tile_table(product, element); });
    }
    return work;
  }
  arguments.push_back({Kind::kScratch, 0, "packed"});
  product.scratch = product.batch * product.k * padded_rows(form.conv);
  auto work = make_tiles(product, std::move(arguments), spec.device, rank);
  if (work) work->launches.insert(work->launches.begin(), conv.pack);
  return work;
}

// Elements of constant weights; empty where they are computed.
ConvElement element_of(const NodeSpec& spec, const ConvForm& form) {
  if (spec.inputs[1].value == nullptr) return {};
  return [w = *spec.inputs[1].value, form](int64_t z, int64_t row, int64_t k) {
    const int64_t channels = form.conv.in_channels, taps = form.conv.taps();
    const bool by_taps = is_by_taps(form.conv);
    const int64_t c = by_taps ? k % channels : k / taps, tap = by_taps ? k / channels : k % taps;
    return w.data<float>()[static_cast<size_t>(form.weight(z, row, c, tap))];
  };
}

}  // namespace

std::optional<Work> make_conv(const NodeSpec& spec) {
  const ConvForm form = conv_form(spec.node, spec.shape(0), spec.shape(1));
  if (!is_small(form.conv.window)) return std::nullopt;
  const Operator* activation = ops::activation_of(spec.node).op;
  if (activation != nullptr && !is_unary(activation)) return std::nullopt;
  PackedConv conv{tile_product(spec, form), element_of(spec, form), {}};
  if (spec.in_half && conv.element) {
    std::vector<Work> ways = conv_matrix_ways(spec, form, conv);
    if (spec.rank < ways.size()) return std::move(ways[spec.rank]);
    if (!ways.empty()) return std::nullopt;
  }
  if (!conv.element) conv.pack = pack_launch(spec, form);
  if (auto phased = phased_conv(spec, form)) conv = *std::move(phased);
  const std::vector<Candidate> candidates = candidates_of(spec, form, conv.product);
  if (spec.rank < candidates.size()) {
    const auto& [cycles, by_winograd, rank] = candidates[spec.rank];
    auto work =
        by_winograd ? make_winograd(spec, form, rank) : make_conv_tiles(spec, form, conv, rank);
    if (work) return work;
  }
  return spec.rank == 0 ? make_direct_conv(spec, form) : std::nullopt;
}

}  // namespace shoal::gpu
