// Matrix units are fast, so that bringing x to them is what takes time. There are two ways:
//
// gathered       elements of x are loaded one by one, where k of a column needs them
// channels last  x is copied first, into scratch memory: [image, d, h, w, channel] in f16, with its
//                border around it [Huynh 2016]. Then eight k, which are channels of one pixel, are
//                one load, and none asks where the image ends. k goes by blocks of channels, and
//                by taps in a block, so that the taps find in the cache what the first one loaded
//
// The copy is read taps * (rows of tiles) times: where that is often, it is worth its time.
#include "shoal/engine/gpu/kernels/conv_matrix.h"

#include <algorithm>

#include "shoal/base/checked.h"
#include "shoal/engine/gpu/source/matrix_tiles.h"
#include "shoal/engine/gpu/source/source.h"

namespace shoal::gpu {
namespace {

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
