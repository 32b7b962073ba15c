// Outputs at the same place modulo the stride meet the same taps (engine/cpu/conv/phases.h), a
// phase. All phases are one product, the phase being a part of z: as if each had as many taps as
// the one that has most, with weights of zero. A window of 3 x 3 and stride 2 has 4 phases of 1, 2,
// 2 and 4 taps: 16 products of 4 outputs instead of 36.
#include <algorithm>
#include <array>

#include "shoal/base/checked.h"
#include "shoal/engine/cpu/conv/phases.h"
#include "shoal/engine/gpu/kernels/conv_form.h"
#include "shoal/engine/gpu/source/source.h"
#include "shoal/engine/gpu/source/tiles.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;
using cpu::Phase;
using cpu::PhasedAxis;
using Numbers = std::map<std::string, std::string>;

constexpr int64_t kMostPhases = 4;  // along an axis

struct Phases {
  std::array<PhasedAxis, 3> axes;
  std::array<int64_t, 3> taps{}, counts{};  // of the phase that has most, and outputs likewise

  explicit Phases(const ops::Window& window)
      : axes{PhasedAxis(window.axes[0]), PhasedAxis(window.axes[1]), PhasedAxis(window.axes[2])} {
    for (size_t d = 0; d < axes.size(); ++d) {
      counts[d] = axes[d].most();
      for (const Phase& phase : axes[d].phases) taps[d] = std::max(taps[d], phase.taps);
    }
  }

  int64_t all_taps() const { return taps[0] * taps[1] * taps[2]; }
  int64_t plane() const { return counts[0] * counts[1] * counts[2]; }
  int64_t phases(size_t d) const { return std::ssize(axes[d].phases); }
  int64_t phases() const { return phases(0) * phases(1) * phases(2); }
};

// A number of the phase `index` of an axis.
std::string pick(const PhasedAxis& axis, int64_t Phase::*member, const std::string& index) {
  std::string text = text_of(axis.phases.back().*member);
  for (size_t i = axis.phases.size() - 1; i-- > 0;) {
    text = index + " == " + text_of(static_cast<int64_t>(i)) + " ? " +
           text_of(axis.phases[i].*member) + " : " + text;
  }
  return "(" + text + ")";
}

Numbers numbers(const ConvForm& form, const Phases& phases) {
  Numbers values = numbers_of(form);
  for (size_t d = 0; d < phases.axes.size(); ++d) {
    const std::string suffix = std::string("_") + "dhw"[d], phase = "phase" + suffix;
    const PhasedAxis& axis = phases.axes[d];
    values["steps" + suffix] = text_of(axis.stride);
    values["moves" + suffix] = text_of(axis.dilation);
    values["taps" + suffix] = text_of(phases.taps[d]);
    values["count" + suffix] = text_of(phases.counts[d]);
    values["phases" + suffix] = text_of(phases.phases(d));
    values["base" + suffix] = pick(axis, &Phase::base, phase);
    values["first" + suffix] = pick(axis, &Phase::first, phase);
    values["has" + suffix] = pick(axis, &Phase::taps, phase);
    values["last" + suffix] = pick(axis, &Phase::first_tap, phase);
    values["apart" + suffix] = text_of(axis.phases[0].tap_step);
  }
  values["phases"] = text_of(phases.phases());
  values["taps"] = text_of(phases.all_taps());
  values["k"] = text_of(form.conv.in_channels * phases.all_taps());
  values["plane"] = text_of(phases.plane());
  values["padded"] = text_of(padded_rows(form.conv));
  values["load"] = "$load";
  const bool by_taps = is_by_taps(form.conv);
  values["channel_of_k"] = filled(by_taps ? "k % $in_channels" : "k / $taps", values);
  values["tap_of_k"] = filled(by_taps ? "k / $in_channels" : "k % $taps", values);
  return values;
}

constexpr std::string_view kPhase = R"(const int group = z / $phases;
const int phase_d = z % $phases / ($phases_h * $phases_w);
const int phase_h = z % $phases / $phases_w % $phases_h;
const int phase_w = z % $phases_w;
)";
constexpr std::string_view kTap = R"(const int tap_d = tap / ($taps_h * $taps_w);
const int tap_h = tap / $taps_w % $taps_h;
const int tap_w = tap % $taps_w;
const bool is_tap = tap_d < $has_d && tap_h < $has_h && tap_w < $has_w;
)";
constexpr std::string_view kColumn =
    R"(const int x_from = (column / $plane * $groups + group) * $in_channels * $image;
const int x_d = column % $plane / ($count_h * $count_w) + $base_d;
const int x_h = column % $plane / $count_w % $count_h + $base_h;
const int x_w = column % $plane % $count_w + $base_w;
)";
constexpr std::string_view kPlace = R"(const int d = x_d + tap_d * $moves_d;
const int h = x_h + tap_h * $moves_h;
const int w = x_w + tap_w * $moves_w;
const bool inside = is_tap && d >= 0 && d < $image_d && h >= 0 && h < $image_h && w >= 0 && w < $image_w;
)";
constexpr std::string_view kOutput = R"(const int image = j / $plane;
const int y_d = j % $plane / ($count_h * $count_w) * $steps_d + $first_d;
const int y_h = j % $plane / $count_w % $count_h * $steps_h + $first_h;
const int y_w = j % $plane % $count_w * $steps_w + $first_w;
const int p = (y_d * $out_h + y_h) * $out_w + y_w;
)";

TileProduct product_of(const NodeSpec& spec, const ConvForm& form, const Phases& phases,
                       const Numbers& values) {
  const ops::Convolution& conv = form.conv;
  TileProduct product;
  product.rows = conv.out_channels;
  product.columns = conv.batch * phases.plane();
  product.k = conv.in_channels * phases.all_taps();
  product.batch = conv.groups * phases.phases();
  product.a.load = filled("v = ALIGNED4(packed, (z * $k + k) * $padded + row);\n", values);
  product.a.in_fours = true;
  product.b.setup = filled(std::string(kPhase) + std::string(kColumn), values);
  const std::string place = std::string(kTap) + std::string(kPlace);
  if (is_by_taps(conv)) {
    product.b.step = filled("const int tap = at / $in_channels;\n" + place +
                                "const int x_at = x_from + at % $in_channels * $image + "
                                "(d * $image_h + h) * $image_w + w;\n",
                            values);
    product.b.load = filled("if (inside) v = $load(x, x_at + (k - at) * $image);\n", values);
  } else {
    product.b.load = filled("const int tap = $tap_of_k;\n" + place +
                                "if (inside) v = $load(x, x_from + $channel_of_k * $image + "
                                "(d * $image_h + h) * $image_w + w);\n",
                            values);
  }
  product.column_setup = filled(std::string(kPhase) + std::string(kOutput), values);
  product.is_stored = filled("y_d < $out_d && y_h < $out_h && y_w < $out_w", values);
  product.at = output_text(conv, "r");
  product.finish = "value = " + value_text(spec, conv, "r", "at", "value") + ";\n";
  return product;
}

// Taps of a form are in reverse order (conv_form.h), those of a phase in the kernel's.
ConvElement element_of(const Tensor& weights, const ConvForm& form, const Phases& phases) {
  return [w = weights, form, phases](int64_t z, int64_t row, int64_t k) {
    const ops::Convolution& conv = form.conv;
    const bool by_taps = is_by_taps(conv);
    const int64_t c = by_taps ? k % conv.in_channels : k / phases.all_taps();
    int64_t rest = by_taps ? k / conv.in_channels : k % phases.all_taps();
    int64_t of_phase = z % phases.phases(), kernel_tap = 0, taps = 1;
    for (size_t d = phases.axes.size(); d-- > 0;) {
      const Phase& phase = phases.axes[d].phases[static_cast<size_t>(of_phase % phases.phases(d))];
      const int64_t tap = rest % phases.taps[d];
      if (tap >= phase.taps) return 0.0f;
      kernel_tap += (phase.first_tap - tap * phase.tap_step) * taps;
      taps *= conv.window.axes[d].kernel;
      rest /= phases.taps[d];
      of_phase /= phases.phases(d);
    }
    const int64_t group = z / phases.phases();
    return w.data<float>()[static_cast<size_t>(form.weight(group, row, c, taps - 1 - kernel_tap))];
  };
}

Launch pack_launch(const NodeSpec& spec, const ConvForm& form, const TileProduct& product,
                   const Numbers& values) {
  const std::string reversed =
      "(($last_d - tap_d * $apart_d) * $kernel_h + $last_h - tap_h * $apart_h) * $kernel_w + "
      "$last_w - tap_w * $apart_w";
  const std::string tap = "$kernel_d * $kernel_h * $kernel_w - 1 - (" + reversed + ")";
  Numbers with_weight = values;
  with_weight["weight"] =
      form.weight_text("group", "row", values.at("channel_of_k"), filled(tap, values));
  return for_each_element(product.batch * product.k * padded_rows(form.conv),
                          {{Kind::kInput, 1, "w_"}, {Kind::kScratch, 0, "packed"}},
                          filled("const int row = i % $padded;\nconst int k = i / $padded % $k;\n"
                                 "const int z = i / ($k * $padded);\nconst int tap = $tap_of_k;\n" +
                                     std::string(kPhase) + std::string(kTap) +
                                     "float v = 0.0f;\n"
                                     "if (is_tap && row < $out_channels) v = LOAD(w_, $weight);\n"
                                     "STORE(packed, i, v);\n",
                                 with_weight),
                          spec.device);
}

}  // namespace

int64_t padded_rows(const ops::Convolution& conv) { return (conv.out_channels + 3) / 4 * 4; }

bool is_by_taps(const ops::Convolution& conv) { return conv.in_channels % kMostDepth == 0; }

std::optional<PackedConv> phased_conv(const NodeSpec& spec, const ConvForm& form) {
  if (!form.is_spread() ||
      std::ranges::any_of(form.spread, [](int64_t spread) { return spread > kMostPhases; })) {
    return std::nullopt;
  }
  const Phases phases(
      ops::transposed_convolution_of(spec.node, spec.shape(0), spec.shape(1)).window);
  const int64_t with_zeros = form.conv.output_plane() * form.conv.taps();
  if (phases.all_taps() == 0 ||
      phases.phases() * phases.plane() * phases.all_taps() >= with_zeros) {
    return std::nullopt;
  }
  const Numbers values = numbers(form, phases);
  PackedConv packed{product_of(spec, form, phases, values), {}, {}};
  if (const Tensor* weights = spec.inputs[1].value) {
    packed.element = element_of(*weights, form, phases);
  } else {
    packed.pack = pack_launch(spec, form, packed.product, values);
  }
  return packed;
}

namespace {

// Matrix units are fast, so that loading x dominates. There are two ways:
//
// gathered       elements of x are loaded one by one, where k of a column needs them
// channels last  x is copied first, into scratch memory: [image, d, h, w, channel] in f16, with its
//                border around it [Huynh 2016]. Then eight k, which are channels of one pixel, are
//                one load, and none asks where the image ends. k goes by blocks of channels, and
//                by taps in a block, so that the taps find in the cache what the first one loaded
//
// The copy is read taps * (rows of tiles) times: where that is often, it is worth its time.
using Kind = Argument::Kind;

// Channels of a step of the product.
constexpr int64_t kBlock = kMostDepth;

// x with its channels last.
struct ChannelsLast {
  std::array<int64_t, 3> axes = {1, 1, 1};  // depth, rows and columns, with the border
  int64_t positions = 1;                    // of all images
  int64_t channels = 0;                     // of all groups
  int64_t count = 0;                        // of elements; the largest int64 if it overflows

  explicit ChannelsLast(const ops::Convolution& conv) : channels(conv.groups * conv.in_channels) {
    Checked product = conv.batch;
    for (size_t d = 0; d < axes.size(); ++d) {
      const ops::WindowAxis& axis = conv.window.axes[d];
      axes[d] = (axis.output - 1) * axis.stride + axis.extent();
      product = product * axes[d];
    }
    positions = product.value();
    count = (product * channels).value();
  }

  std::map<std::string, std::string> numbers(const ConvForm& form) const {
    auto values = numbers_of(form);
    for (size_t d = 0; d < axes.size(); ++d) {
      values[std::string("to_") + "dhw"[d]] = text_of(axes[d]);
    }
    values["channels"] = text_of(channels);
    values["positions"] = text_of(positions);
    values["pairs"] = text_of(channels / 16);
    values["block"] = text_of(kBlock);
    return values;
  }
};

// An item copies eight channels of a position. 32 neighbours have 16 positions of 16 channels, so
// that they read and write 32 bytes at a time; four such follow each other along positions.
constexpr std::string_view kCopy = R"(const int part = i / 32;
const int position = (part / (4 * $pairs) * 4 + part % 4) * 16 + i % 16;
const int channel = part / 4 % $pairs * 16 + i / 16 % 2 * 8;
if (position < $positions) {
const int w = position % $to_w - $pad_w;
const int h = position / $to_w % $to_h - $pad_h;
const int d = position / ($to_w * $to_h) % $to_d - $pad_d;
const int image = position / ($to_w * $to_h * $to_d);
uint4 v = (uint4)(0);
if ($inside) {
const int x_at = (image * $channels + channel) * $image + $place;
$load}
STORE_BITS8(x_last, position * $channels + channel, v);
}
)";

Launch copy_launch(const NodeSpec& spec, const ConvForm& form, const ChannelsLast& last) {
  auto values = last.numbers(form);
  values["inside"] = form.inside_text();
  values["place"] = form.place_text();
  for (int64_t e = 0; e < 8; ++e) {
    values["load"] += std::string("v.") + "xyzw"[e / 2] + (e % 2 == 0 ? " = " : " |= ") +
                      "(uint)BITS(x, x_at + " + text_of(e) + " * " + values["image"] +
                      (e % 2 == 0 ? ");\n" : ") << 16;\n");
  }
  constexpr int64_t kTogether = 64;  // positions
  const int64_t count =
      (last.positions + kTogether - 1) / kTogether * kTogether * (last.channels / 8);
  return for_each_element(count,
                          {{Kind::kInput, 0, "x"}, {Kind::kScratch, 0, "x_last", Storage::kF16}},
                          filled(kCopy, values), spec.device);
}

TileProduct last_product(TileProduct product, const ConvForm& form, const ChannelsLast& last) {
  const auto values = last.numbers(form);
  product.b = {};
  product.b.in_eights = true;
  product.b.setup = filled(
      R"(const int from_d = column / $plane * $to_d + column % $plane / ($out_h * $out_w) * $stride_d;
const int from_h = from_d * $to_h + column % $plane / $out_w % $out_h * $stride_h;
const int from_w = from_h * $to_w + column % $plane % $out_w * $stride_w;
const int from = from_w * $channels + z * $in_channels;
)",
      values);
  product.b.step = filled(R"(const int tap = at / $block % $taps;
const int step_d = tap / ($kernel_h * $kernel_w) * $dilation_d;
const int step_h = step_d * $to_h + tap / $kernel_w % $kernel_h * $dilation_h;
const int step_w = step_h * $to_w + tap % $kernel_w * $dilation_w;
const int step = step_w * $channels + at / ($block * $taps) * $block - at;
)",
                          values);
  product.b.load = "from + step + k";
  return product;
}

// k by blocks of channels.
ConvElement by_blocks(const ConvElement& by_taps, const ops::Convolution& conv) {
  return [by_taps, taps = conv.taps(), channels = conv.in_channels](int64_t z, int64_t row,
                                                                    int64_t k) {
    const int64_t channel = k / (kBlock * taps) * kBlock + k % kBlock;
    return by_taps(z, row, k / kBlock % taps * channels + channel);
  };
}

struct Way {
  bool is_last = false;  // channels last
  MatrixWay way = MatrixWay::kNarrow;
};

std::vector<Way> ways_of(const NodeSpec& spec, const ops::Convolution& conv) {
  constexpr int64_t kOften = 4, kTileRows = 128;
  const ChannelsLast last(conv);
  const int64_t most = std::min(most_elements(spec.device),
                                spec.device.room_bytes / static_cast<int64_t>(sizeof(uint16_t)));
  if (!is_by_taps(conv) || last.count > most) return std::vector<Way>(1);
  std::vector<Way> ways{
      {true, MatrixWay::kWide}, {true, MatrixWay::kNarrow}, {true, MatrixWay::kAhead}};
  const int64_t times = conv.taps() * ((conv.out_channels + kTileRows - 1) / kTileRows);
  ways.insert(times < kOften ? ways.begin() : ways.end(), Way{});
  return ways;
}

std::optional<Work> make_way(const NodeSpec& spec, const ConvForm& form, const PackedConv& conv,
                             const Way& way) {
  const ChannelsLast last(form.conv);
  const TileProduct product = way.is_last ? last_product(conv.product, form, last) : conv.product;
  std::vector<Argument> arguments = conv_arguments(spec);
  if (way.is_last) arguments[0] = {Kind::kScratch, 0, "x_last", Storage::kF16};
  auto work = make_matrix(product, std::move(arguments), spec.device, way.way);
  if (!work) return work;
  ConvElement element = way.is_last ? by_blocks(conv.element, form.conv) : conv.element;
  work->tables.push_back(
      [product, element = std::move(element)] { return matrix_table(product, element); });
  if (!way.is_last) return work;
  work->kernel += "-last";
  work->scratch = (last.count + 1) / 2;
  work->launches.insert(work->launches.begin(), copy_launch(spec, form, last));
  return work;
}

}  // namespace

std::vector<Work> conv_matrix_ways(const NodeSpec& spec, const ConvForm& form,
                                   const PackedConv& conv) {
  std::vector<Work> works;
  if (spec.device.matrix_units == MatrixUnits::kNone) return works;
  for (const Way& way : ways_of(spec, form.conv)) {
    if (auto work = make_way(spec, form, conv, way)) works.push_back(*std::move(work));
  }
  return works;
}

}  // namespace shoal::gpu
