// Conv: y[n,m,o] = b[m] + sum over c, k of w[m,c,k] x[n,c,o*stride + k*dilation - pad], where o and
// k run over one to three spatial axes and c over the channels of m's group. Gradients: dx is a
// ConvTranspose of dy, dw is ConvWeightsBackward, db is the sum of dy per channel
// (gradient_product.cc). Tiles read a halo, and their padding is what remains of it.
#include "shoal/model/ops/conv/conv.h"

#include <algorithm>
#include <string>

#include "shoal/base/checked.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {

int64_t Convolution::input_plane() const {
  int64_t n = 1;
  for (const WindowAxis& axis : window.axes) n *= axis.input;
  return n;
}

int64_t Convolution::output_plane() const {
  int64_t n = 1;
  for (const WindowAxis& axis : window.axes) n *= axis.output;
  return n;
}

int64_t Convolution::taps() const {
  int64_t n = 1;
  for (const WindowAxis& axis : window.axes) n *= axis.kernel;
  return n;
}

Result<Convolution> require_convolution(const Node& node, const Shape& x, const Shape& w) {
  SHOAL_ASSIGN(Window window, require_window(node, x, w));
  const int64_t groups = node.integer("group", 1);
  // The products groups * channels are never formed here: `group` comes from a file and may be
  // anything.
  if (groups < 1 || x[1] % groups != 0 || w[0] % groups != 0 || x[1] / groups != w[1]) {
    return invalid("input " + to_string(x) + " and weights " + to_string(w) + " do not match in " +
                   std::to_string(groups) + " groups");
  }
  return Convolution{x[0], groups, w[1], w[0] / groups, window};
}

Convolution convolution_of(const Node& node, const Shape& x, const Shape& w) {
  auto convolution = require_convolution(node, x, w);
  SHOAL_CHECK(convolution.ok());
  return *convolution;
}

Status require_bias(const Operand& bias, int64_t channels) {
  if (!bias.given || bias.type.shape == Shape{channels}) return {};
  return invalid("the bias has shape " + to_string(bias.type.shape) + ", should have " +
                 to_string(Shape{channels}));
}

// A tile is again a convolution, with `group` groups of equal size. So it may have a part of one
// group or several whole ones.
std::optional<Range> groups_of(Range channels, int64_t each) {
  const Range groups{channels.begin / each, (channels.end - 1) / each + 1};
  const bool whole_groups = channels.count() == groups.count() * each;
  if (groups.count() > 1 && !whole_groups) return std::nullopt;
  return groups;
}

std::optional<Settings> shrink_convolution(const Node& node, const Shape& x, const Remainder& left,
                                           int64_t each) {
  for (size_t d = 2; d < x.rank(); ++d) {
    if (std::ssize(left.inputs[0][d]) != x[d]) return std::nullopt;
  }
  int64_t groups = 0, last = -1;
  for (int64_t channel : left.inputs[0][1]) {
    groups += channel / each != last ? 1 : 0;
    last = channel / each;
  }
  Settings settings{node.attributes, {}};
  if (groups != node.integer("group", 1)) settings.attributes["group"] = groups;
  return settings;
}

int64_t count_macs(const Convolution& convolution) {
  const Checked outputs = Checked(convolution.batch) * convolution.groups *
                          convolution.out_channels * convolution.output_plane();
  return (outputs * convolution.in_channels * convolution.taps()).value();
}

std::optional<ConvolutionTile> split_convolution(const Node& node, const Shape& x, const Shape& w,
                                                 const Region& output) {
  if (output.shape().count() == 0) return std::nullopt;
  const Convolution convolution = convolution_of(node, x, w);
  const Range channels{output.begin[1], output.end[1]};
  const std::optional<Range> groups = groups_of(channels, convolution.out_channels);
  if (!groups) return std::nullopt;

  ReceptiveField field = receptive_field(convolution.window, x, output);
  field.x.begin[1] = groups->begin * convolution.in_channels;
  field.x.end[1] = groups->end * convolution.in_channels;
  Region filters = Region::whole(w);
  filters.begin[0] = channels.begin;
  filters.end[0] = channels.end;
  Attributes attributes = attributes_in_tile(node, field);
  attributes["group"] = groups->count();
  return ConvolutionTile{field.x, filters, channels, std::move(attributes)};
}

namespace {

Result<std::vector<TensorType>> infer_conv(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  const Shape& w = inputs[1].type.shape;
  SHOAL_ASSIGN(const Convolution convolution, require_convolution(node, inputs[0].type.shape, w));
  if (inputs.size() > 2) SHOAL_TRY(require_bias(inputs[2], w[0]));
  return std::vector{TensorType{inputs[0].type.dtype, convolution.output_shape()}};
}

// The order of the loops makes the innermost one walk a row of the output, which vectorises.
template <class T>
void run(const Convolution& convolution, std::span<const Tensor> inputs, Tensor& output) {
  const int64_t in_plane = convolution.input_plane(), out_plane = convolution.output_plane();
  const int64_t channels = convolution.groups * convolution.out_channels;
  const T* bias = inputs.size() > 2 && inputs[2].defined() ? inputs[2].data<T>().data() : nullptr;
  const T* x = inputs[0].data<T>().data();
  T* y = output.data<T>().data();
  std::vector<Compute<T>> plane(static_cast<size_t>(out_plane));
  const auto load = [](T element) { return static_cast<Compute<T>>(element); };
  for (int64_t n = 0; n < convolution.batch; ++n) {
    for (int64_t m = 0; m < channels; ++m, y += out_plane) {
      const int64_t group = m / convolution.out_channels;
      const int64_t channel = (n * convolution.groups + group) * convolution.in_channels;
      const T* w = inputs[1].data<T>().data() + m * convolution.in_channels * convolution.taps();
      std::ranges::fill(plane, bias != nullptr ? load(bias[m]) : Compute<T>{0});
      convolve(convolution, x + channel * in_plane, w, plane.data(), load, load);
      std::ranges::transform(plane, y, [](Compute<T> sum) { return static_cast<T>(sum); });
    }
  }
}

void reference_conv(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Convolution convolution = convolution_of(node, inputs[0].shape(), inputs[1].shape());
  visit<Floats>(inputs[0].dtype(), [&]<class T>() { run<T>(convolution, inputs, outputs[0]); });
}

std::optional<Tile> split_conv(const Node& node, std::span<const Operand> inputs,
                               const Region& output) {
  auto part = split_convolution(node, inputs[0].type.shape, inputs[1].type.shape, output);
  if (!part) return std::nullopt;
  Tile tile{{part->x, part->w}, output, std::move(part->attributes), {}};
  if (inputs.size() > 2) tile.inputs.push_back({{part->channels.begin}, {part->channels.end}});
  return tile;
}

std::optional<Settings> shrink_conv(const Node& node, std::span<const Operand> inputs,
                                    const Remainder& left) {
  return shrink_convolution(node, inputs[0].type.shape, left, inputs[1].type.shape[1]);
}

int64_t macs_of_conv(const Node& node, std::span<const Operand> inputs,
                     std::span<const TensorType>) {
  return count_macs(convolution_of(node, inputs[0].type.shape, inputs[1].type.shape));
}

}  // namespace

SHOAL_RECORD(conv) = {.name = "Conv",
                      .min_inputs = 2,
                      .max_inputs = 3,
                      .infer = infer_conv,
                      .reference = reference_conv,
                      .split = split_conv,
                      .shrink = shrink_conv,
                      .linear = true,
                      .macs = macs_of_conv,
                      .gradient = conv_gradient};

}  // namespace shoal::ops
