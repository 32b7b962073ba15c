// Convolutions by items that compute a few positions of several output channels each, in vectors of
// four channels: an element of x is loaded once for all channels, a weight once for all positions.
// The border is copied around x before, so that the loop has no branches.
#include "shoal/engine/gpu/kernels/conv_direct.h"

#include <algorithm>
#include <limits>

#include "shoal/base/checked.h"
#include "shoal/engine/gpu/source/source.h"

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

// The launches of a direct convolution, and the room they need.
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

}  // namespace shoal::gpu
