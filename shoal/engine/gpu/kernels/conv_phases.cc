// Outputs at the same place modulo the stride meet the same taps (engine/cpu/conv/phases.h), a
// phase. All phases are one product, the phase being a part of z: as if each had as many taps as
// the one that has most, with weights of zero. A window of 3 x 3 and stride 2 has 4 phases of 1, 2,
// 2 and 4 taps: 16 products of 4 outputs instead of 36.
#include <algorithm>
#include <array>

#include "shoal/engine/cpu/conv/phases.h"
#include "shoal/engine/gpu/kernels/conv_form.h"
#include "shoal/engine/gpu/source/source.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;
using cpu::Phase;
using cpu::PhasedAxis;
using Numbers = std::map<std::string, std::string>;

constexpr int64_t kMostPhases = 4;  // along an axis

// All phases of a convolution.
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

}  // namespace shoal::gpu
