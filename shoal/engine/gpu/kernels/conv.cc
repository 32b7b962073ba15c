// Convolution, y = activation(w * x + bias + residual), without unfolding [Huynh 2017], and its
// transpose, which is the gradient for x (conv_form.h).
//
// direct  by items alone (conv_form.h)
// tiles   a product by tiles (tiles.h), where the device has local memory. Weights are packed
//         before: once if they are constant, otherwise in each run. The transpose of a stride is
//         computed by phases (conv_form.h)
// winograd  fewer products for windows of 3 x 3 (conv_winograd.cc), where that is faster
// matrix  the same in half precision, where the device has units for that (conv_form.h)
#include <algorithm>
#include <limits>

#include "shoal/base/checked.h"
#include "shoal/engine/gpu/kernels/conv_form.h"
#include "shoal/engine/gpu/kernels/makers.h"
#include "shoal/engine/gpu/source/source.h"
#include "shoal/engine/gpu/source/tiles.h"
#include "shoal/model/ops/ops.h"

namespace shoal::gpu {
namespace {

// Convolutions by items that compute a few positions of several output channels each, in vectors of
// four channels: an element of x is loaded once for all channels, a weight once for all positions.
// The border is copied around x before, so that the loop has no branches.
using Kind = Argument::Kind;

// Blocks of output channels that an item computes together, in vectors of four if there are as
// many. Weights are packed for that: [groups, blocks, in_channels * taps, lanes * vectors].
struct Blocks {
  int64_t lanes = 1, vectors = 1, count = 1;  // count: of one group

  explicit Blocks(const ops::Convolution& conv) {
    constexpr int64_t kMostVectors = 4;
    lanes = conv.out_channels < 4 ? 1 : 4;
    vectors = std::min(kMostVectors, (conv.out_channels + lanes - 1) / lanes);
    count = (conv.out_channels + channels() - 1) / channels();
  }
  int64_t channels() const { return lanes * vectors; }
};

// x with its border, so that the kernel need not ask where the image ends [Huynh 2016].
struct Padded {
  Shape shape;                                // batch and channels as one, depth, rows, columns
  int64_t count = 0;                          // of elements; the largest int64 if it overflows
  std::array<int64_t, 3> before = {0, 0, 0};  // of the image, along depth, rows and columns

  Padded(const ops::Convolution& conv, bool has_border) {
    shape.push_back(conv.batch * conv.groups * conv.in_channels);
    Checked product = shape[0];
    for (size_t d = 0; d < 3; ++d) {
      const ops::WindowAxis& axis = conv.window.axes[d];
      before[d] = has_border ? axis.pad_begin : 0;
      const int64_t read = (axis.output - 1) * axis.stride + axis.extent();
      shape.push_back(has_border ? read : axis.input);
      product = product * shape[d + 1];
    }
    count = product.value();
  }
};

constexpr std::string_view kPad = R"(const int w = i % $to_w - $pad_w;
const int h = i / $to_w % $to_h - $pad_h;
const int d = i / ($to_w * $to_h) % $to_d - $pad_d;
const bool inside = $inside;
const int plane = i / ($to_w * $to_h * $to_d) * $image;
STORE(room, i, inside ? LOAD(x, plane + $place) : 0.0f);
)";

constexpr std::string_view kPack = R"(const int channel = i % $block;
const int tap = i / $block % $k;
const int m = i / ($block * $k) % $blocks * $block + channel;
const int group = i / ($block * $k * $blocks);
STORE(room, $first + i, m < $out_channels ? LOAD(w_, $weight) : 0.0f);
)";

constexpr std::string_view kDirect =
    R"(const int first = (GROUP(0) * $items + ITEM(0)) * $positions;
if (first >= $plane) return;
const int group = GROUP(1) / $blocks;
const int m = GROUP(1) % $blocks * $block;
const int image = GROUP(2);
const int from = (image * $groups + group) * $in_channels * ($to_d * $to_h * $to_w);
int weight = $weights + GROUP(1) * ($k * $block);
$clear
for (int c = 0; c < $in_channels; ++c) {
  for (int kd = 0; kd < $kernel_d; ++kd) {
    for (int kh = 0; kh < $kernel_h; ++kh) {
      for (int kw = 0; kw < $kernel_w; ++kw) {
        const int at = ((c * $to_d + kd * $dilation_d) * $to_h + kh * $dilation_h) * $to_w + kw * $dilation_w;
$add
        weight += $block;
      }
    }
  }
}
)";

// The launches of a direct convolution, and their memory.
class Direct {
 public:
  Direct(const NodeSpec& spec, const ConvForm& form)
      : spec_(spec),
        form_(form),
        conv_(form.conv),
        blocks_(conv_),
        has_border_(form.has_padding() || form.is_spread()),
        is_packed_(spec.inputs[1].value != nullptr),
        padded_(conv_, has_border_),
        k_(form.k()) {
    values_ = numbers_of(form);
    for (size_t d = 0; d < 3; ++d) {
      values_[std::string("to_") + "dhw"[d]] = text_of(padded_.shape[d + 1]);
    }
    values_["inside"] = form.inside_text();
    values_["place"] = form.place_text();
    values_["weight"] =
        form.weight_text("group", "m", "tap / " + values_["taps"], "tap % " + values_["taps"]);
    values_["block"] = text_of(blocks_.channels());
    values_["blocks"] = text_of(blocks_.count);
    values_["first"] = text_of(pad_elements());
  }

  std::optional<Work> work() {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 2;
    if (pad_elements() > kMost || pack_elements() > kMost - pad_elements()) return std::nullopt;
    Work work{"direct", {}, {}, pad_elements() + (is_packed_ ? 0 : pack_elements())};
    if (has_border_) {
      work.launches.push_back(
          for_each_element(pad_elements(), {{Kind::kInput, 0, "x"}, {Kind::kScratch, 0, "room"}},
                           filled(kPad, values_), spec_.device));
    }
    if (is_packed_) {
      work.tables.push_back([weights = *spec_.inputs[1].value, form = form_, blocks = blocks_] {
        return packed(weights, form, blocks);
      });
    } else {
      work.launches.push_back(
          for_each_element(pack_elements(), {{Kind::kInput, 1, "w_"}, {Kind::kScratch, 0, "room"}},
                           filled(kPack, values_), spec_.device));
    }
    work.launches.push_back(launch());
    return work;
  }

 private:
  static constexpr int64_t kPositions = 4;  // of an item

  int64_t pad_elements() const { return has_border_ ? padded_.count : 0; }
  int64_t pack_elements() const { return conv_.groups * blocks_.count * k_ * blocks_.channels(); }

  static Tensor packed(const Tensor& weights, const ConvForm& form, const Blocks& blocks) {
    const ops::Convolution& conv = form.conv;
    const int64_t k = form.k(), block = blocks.channels(), taps = conv.taps();
    Tensor table({DType::kF32, {conv.groups * blocks.count * k * block}});
    for (int64_t channel = 0; channel < conv.groups * conv.out_channels; ++channel) {
      const int64_t group = channel / conv.out_channels, m = channel % conv.out_channels;
      const int64_t to = (group * blocks.count + m / block) * k * block + m % block;
      for (int64_t tap = 0; tap < k; ++tap) {
        table.data<float>()[static_cast<size_t>(to + tap * block)] =
            weights
                .data<float>()[static_cast<size_t>(form.weight(group, m, tap / taps, tap % taps))];
      }
    }
    return table;
  }

  Launch launch() {
    const int64_t plane = conv_.output_plane();
    const int64_t each = std::min(kPositions, plane), shares = (plane + each - 1) / each;
    const int64_t items = std::min({int64_t{64}, spec_.device.max_group_items, shares});
    values_["items"] = text_of(items);
    values_["plane"] = text_of(plane);
    values_["positions"] = text_of(each);
    values_["weights"] = is_packed_ ? "0" : text_of(pad_elements());
    std::string store;
    fill_texts(each, store);
    std::vector<Argument> arguments = conv_arguments(spec_);
    if (has_border_ || !is_packed_) arguments.push_back({Kind::kScratch, 0, "room"});
    if (is_packed_) arguments.push_back({Kind::kTable, 0, "packed"});
    return {std::move(arguments),
            {},
            filled(kDirect, values_) + store,
            {(shares + items - 1) / items, blocks_.count * conv_.groups, conv_.batch},
            {items, 1, 1}};
  }

  // The statements for each position and vector of an item.
  void fill_texts(int64_t each, std::string& store) {
    const bool is_vector = blocks_.lanes == 4;
    const std::string type = is_vector ? "float4" : "float", load = is_vector ? "LOAD4" : "LOAD";
    const std::string image = has_border_ ? "room" : "x", weights = is_packed_ ? "packed" : "room";
    std::string& clear = values_["clear"] = "";
    std::string& add = values_["add"] = "";
    for (int64_t v = 0; v < blocks_.vectors; ++v) {
      add += "const " + type + " w" + text_of(v) + " = " + load + "(" + weights + ", weight + " +
             text_of(v * blocks_.lanes) + ");\n";
    }
    for (int64_t q = 0; q < each; ++q) {
      auto values = values_;
      values["q"] = text_of(q);
      // Positions beyond the plane compute the last one again, and drop it.
      clear += filled(R"(const int p$q = first + $q < $plane ? first + $q : $plane - 1;
const int from$q = from + (p$q / ($out_h * $out_w) * $stride_d * $to_h + p$q / $out_w % $out_h * $stride_h) * $to_w
  + p$q % $out_w * $stride_w;
)",
                      values);
      add +=
          "const float x" + text_of(q) + " = LOAD(" + image + ", from" + text_of(q) + " + at);\n";
      store += "if (first + " + text_of(q) + " < " + values["plane"] +
               ") {\nconst int p = first + " + text_of(q) + ";\n";
      for (int64_t v = 0; v < blocks_.vectors; ++v) {
        const std::string sum = "sum" + text_of(q) + "_" + text_of(v);
        clear += type + " " + sum + (is_vector ? " = ZERO4;\n" : " = 0.0f;\n");
        add += sum + " += x" + text_of(q) + " * w" + text_of(v) + ";\n";
        store += store_vector(sum, v);
      }
      store += "}\n";
    }
  }

  std::string store_vector(const std::string& sum, int64_t vector) const {
    std::string text;
    for (int64_t lane = 0; lane < blocks_.lanes; ++lane) {
      const std::string m = "m + " + text_of(vector * blocks_.lanes + lane);
      const std::string value = blocks_.lanes == 1 ? sum : sum + "." + "xyzw"[lane];
      const std::string at = output_text(conv_, m);
      const bool is_whole = conv_.out_channels % blocks_.channels() == 0;
      text += (is_whole ? "" : "if (" + m + " < " + text_of(conv_.out_channels) + ") ") +
              "STORE(y, " + at + ", " + value_text(spec_, conv_, m, at, value) + ");\n";
    }
    return text;
  }

  const NodeSpec& spec_;
  const ConvForm& form_;
  const ops::Convolution& conv_;
  const Blocks blocks_;
  const bool has_border_, is_packed_;
  const Padded padded_;
  const int64_t k_;
  std::map<std::string, std::string> values_;
};

}  // namespace

std::optional<Work> make_direct_conv(const NodeSpec& spec, const ConvForm& form) {
  return Direct(spec, form).work();
}

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

// Elements of constant weights; empty if they are computed.
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
