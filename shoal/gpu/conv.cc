// Convolution, y = activation(w * x + bias + residual), without unfolding (huynh B.3.2).
//
// direct  an item computes a few positions of several output channels, in vectors of four channels:
//         an element of x is loaded once for all channels, a weight once for all positions. The
//         border is copied around x before, so that the loop has no branches
// tiles   a product by tiles (tiles.h), where the device has local memory
// matrix  the same in half precision, where the device has units for that (matrix.h)
#include "shoal/ops/nn/conv.h"

#include <algorithm>
#include <limits>

#include "shoal/base/checked.h"
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

// Blocks of output channels that an item computes together, in vectors of four where there are as
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

// x with its border, so that the kernel need not ask where the image ends (huynh A.3.2).
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
const bool inside = d >= 0 && d < $in_d && h >= 0 && h < $in_h && w >= 0 && w < $in_w;
const int plane = i / ($to_w * $to_h * $to_d) * ($in_d * $in_h * $in_w);
STORE(room, i, inside ? LOAD(x, plane + (d * $in_h + h) * $in_w + w) : 0.0f);
)";

constexpr std::string_view kPack = R"(const int channel = i % $block;
const int tap = i / $block % $k;
const int m = i / ($block * $k) % $blocks * $block + channel;
const int group = i / ($block * $k * $blocks);
STORE(room, $first + i, m < $out_channels ? LOAD(w_, (group * $out_channels + m) * $k + tap) : 0.0f);
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

// The place in y of output channel `m` of the group, at position `p` of the image.
std::string place_text(const ops::Convolution& conv, const std::string& m) {
  return "((image * " + text_of(conv.groups) + " + group) * " + text_of(conv.out_channels) + " + " +
         m + ") * " + text_of(conv.output_plane()) + " + p";
}

// sum + bias + residual, through the activation, for output channel `m` of the group.
std::string value_text(const NodeSpec& spec, const ops::Convolution& conv, const std::string& m,
                       const std::string& at, const std::string& sum) {
  std::string value = sum;
  if (spec.has(2)) {
    value += " + LOAD(bias, group * " + text_of(conv.out_channels) + " + " + m + ")";
  }
  if (spec.has(3)) value += " + LOAD(residual, " + at + ")";
  if (spec.node.op == &ops::fused_conv) value = call(ops::activation_of(spec.node), value);
  return value;
}

std::vector<Argument> arguments_of(const NodeSpec& spec, bool reads_weights) {
  std::vector<Argument> arguments{{Kind::kInput, 0, "x"}};
  if (reads_weights) arguments.push_back({Kind::kInput, 1, "w_"});
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

// The launches of a direct convolution, and the room they need.
class Direct {
 public:
  Direct(const NodeSpec& spec, const ops::Convolution& conv)
      : spec_(spec),
        conv_(conv),
        blocks_(conv),
        has_border_(has_padding(conv.window)),
        is_packed_(spec.inputs[1].value != nullptr),
        padded_(conv, has_border_),
        k_(conv.in_channels * conv.taps()) {
    values_ = numbers_of(conv.window);
    for (size_t d = 0; d < 3; ++d) {
      values_[std::string("to_") + "dhw"[d]] = text_of(padded_.shape[d + 1]);
    }
    values_["k"] = text_of(k_);
    values_["block"] = text_of(blocks_.channels());
    values_["blocks"] = text_of(blocks_.count);
    values_["groups"] = text_of(conv.groups);
    values_["in_channels"] = text_of(conv.in_channels);
    values_["out_channels"] = text_of(conv.out_channels);
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
      work.tables.push_back([weights = *spec_.inputs[1].value, conv = conv_, blocks = blocks_] {
        return packed(weights, conv, blocks);
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

  static Tensor packed(const Tensor& weights, const ops::Convolution& conv, const Blocks& blocks) {
    const int64_t k = conv.in_channels * conv.taps(), block = blocks.channels();
    Tensor table({DType::kF32, {conv.groups * blocks.count * k * block}});
    for (int64_t channel = 0; channel < conv.groups * conv.out_channels; ++channel) {
      const int64_t group = channel / conv.out_channels, m = channel % conv.out_channels;
      const int64_t to = (group * blocks.count + m / block) * k * block + m % block;
      for (int64_t tap = 0; tap < k; ++tap) {
        table.data<float>()[static_cast<size_t>(to + tap * block)] =
            weights.data<float>()[static_cast<size_t>(channel * k + tap)];
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
    std::vector<Argument> arguments = arguments_of(spec_, /*reads_weights=*/false);
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
      const std::string at = place_text(conv_, m);
      const bool is_whole = conv_.out_channels % blocks_.channels() == 0;
      text += (is_whole ? "" : "if (" + m + " < " + text_of(conv_.out_channels) + ") ") +
              "STORE(y, " + at + ", " + value_text(spec_, conv_, m, at, value) + ");\n";
    }
    return text;
  }

  const NodeSpec& spec_;
  const ops::Convolution& conv_;
  const Blocks blocks_;
  const bool has_border_, is_packed_;
  const Padded padded_;
  const int64_t k_;
  std::map<std::string, std::string> values_;
};

// Rows of tile_table() are loaded in fours.
int64_t padded_rows(const ops::Convolution& conv) { return (conv.out_channels + 3) / 4 * 4; }

// The order of k. Tap by tap, where a step has one tap only, so that an item finds the place of its
// column once in a step; otherwise channel by channel, as weights are stored.
bool is_by_taps(const ops::Convolution& conv) { return conv.in_channels % kMostDepth == 0; }

// The place of element k of an output channel among its weights.
int64_t stored_k(const ops::Convolution& conv, int64_t k) {
  return is_by_taps(conv) ? k % conv.in_channels * conv.taps() + k / conv.in_channels : k;
}

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

constexpr std::string_view kTapStep = R"(const int tap = at / $in_channels;
const int d = x_d + tap / ($kernel_h * $kernel_w) * $dilation_d;
const int h = x_h + tap / $kernel_w % $kernel_h * $dilation_h;
const int w = x_w + tap % $kernel_w * $dilation_w;
const bool inside = $inside;
const int x_at = x_from + ((at % $in_channels * $in_d + d) * $in_h + h) * $in_w + w;
)";
constexpr std::string_view kTapLoad =
    "if (inside) v = $load(x, x_at + (k - at) * ($in_d * $in_h * $in_w));\n";
constexpr std::string_view kLoad = R"(const int c = k / $taps;
const int tap = k % $taps;
const int d = x_d + tap / ($kernel_h * $kernel_w) * $dilation_d;
const int h = x_h + tap / $kernel_w % $kernel_h * $dilation_h;
const int w = x_w + tap % $kernel_w * $dilation_w;
if ($inside) v = $load(x, x_from + ((c * $in_d + d) * $in_h + h) * $in_w + w);
)";

// The product [out_channels, taps] x [taps, positions of all images], where the right side is read
// from x as it is needed (implicit unfolding). The left side is the weights as they are, or those
// of tile_table().
TileProduct tile_product(const NodeSpec& spec, const ops::Convolution& conv, bool is_packed) {
  auto values = numbers_of(conv.window);
  values["k"] = text_of(conv.in_channels * conv.taps());
  values["load"] = "$load";
  values["padded"] = text_of(padded_rows(conv));
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
  const bool by_taps = is_by_taps(conv);
  if (is_packed) {
    product.a.load = filled("v = ALIGNED4(packed, (z * $k + k) * $padded + row);\n", values);
    product.a.in_fours = true;
  } else {
    product.a.load = filled(
        by_taps ? "v = $load(w_, ((z * $out_channels + row) * $in_channels + k % $in_channels) * "
                  "$taps + k / $in_channels);\n"
                : "v = $load(w_, (z * $out_channels + row) * $k + k);\n",
        values);
    product.a.along_k = true;
  }
  product.b.setup = filled(
      R"(const int x_from = (column / $plane * $groups + z) * $in_channels * ($in_d * $in_h * $in_w);
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
  product.at = place_text(conv, "r");
  product.finish = "value = " + value_text(spec, conv, "r", "at", "value") + ";\n";
  product.in_fours = conv.output_plane() % 4 == 0;
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
  const Tensor* weights = spec.inputs[1].value;
  const TileProduct product = tile_product(spec, conv, weights != nullptr);
  if (weights == nullptr) {
    auto work = make_tiles(product, arguments_of(spec, true), spec.device);
    return work ? work : Direct(spec, conv).work();
  }
  const auto element = [w = *weights, conv](int64_t z, int64_t row, int64_t k) {
    const int64_t all = conv.in_channels * conv.taps();
    const int64_t at = (z * conv.out_channels + row) * all + stored_k(conv, k);
    return w.data<float>()[static_cast<size_t>(at)];
  };
  if (spec.in_half) {
    if (auto work = make_matrix(product, arguments_of(spec, false), spec.device)) {
      work->tables.push_back([=] { return matrix_table(product, element); });
      return work;
    }
  }
  std::vector<Argument> arguments = arguments_of(spec, false);
  arguments.push_back({Kind::kTable, 0, "packed"});
  if (auto work = make_tiles(product, std::move(arguments), spec.device)) {
    work->tables.push_back([=] { return tile_table(product, element); });
    return work;
  }
  return Direct(spec, conv).work();
}

}  // namespace shoal::gpu
