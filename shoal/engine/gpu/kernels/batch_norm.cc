// BatchNormalization, per channel: y = (x - mean) * scale / deviation + bias, where deviation =
// sqrt(variance + epsilon). In inference mean and variance are inputs. In training they are those
// of x, and outputs 1 and 2 the running averages of inputs 3 and 4.
//
// A channel is cut into parts (lines.h). One launch measures all parts, each around its own mean,
// which is exact, and the next one joins them (Chan et al. 1979), with n elements in all:
//   mean     = sum_p n_p mean_p / n
//   variance = sum_p (square_p + n_p (mean_p - mean)^2) / n,   square_p = sum (x - mean_p)^2
//
// BatchNormalizationBackward also sums up dy, around the same means:
//   dbias  = sum dy
//   dscale = sum dy (x - mean) / deviation = sum_p (along_p + (mean_p - mean) sum_p) / deviation,
//            along_p = sum dy (x - mean_p)
//   dx     = scale / deviation * (dy - dbias / n - (x - mean) / deviation * dscale / n)
#include "shoal/engine/gpu/kernels/makers.h"
#include "shoal/engine/gpu/source/lines.h"
#include "shoal/engine/gpu/source/source.h"
#include "shoal/model/ops/ops.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;
using Numbers = std::map<std::string, std::string>;

constexpr float kEpsilon = 1e-5f, kMomentum = 0.9f;

// Scratch memory has some numbers of each part, then some of each channel.
class Channels {
 public:
  Channels(const NodeSpec& spec, int64_t part_numbers, int64_t channel_numbers)
      : spec_(spec),
        channels_(spec.shape(0).rank() > 1 ? spec.shape(0)[1] : 1),
        elements_(spec.shape(0).count() / channels_),
        parts_(spec.device, channels_, elements_),
        scratch_(channels_ * (parts_.count * part_numbers + channel_numbers)) {
    const Shape& x = spec.shape(0);
    numbers_ = {{"plane", text_of(x.rank() > 1 ? x.count(2, x.rank()) : 1)},
                {"channels", text_of(channels_)},
                {"elements", text_of(elements_)},
                {"n", text_of(static_cast<float>(elements_))},
                {"parts", text_of(parts_.count)},
                {"length", text_of(parts_.length)},
                {"part_numbers", text_of(part_numbers)},
                {"first", text_of(channels_ * parts_.count * part_numbers)},
                {"channel_numbers", text_of(channel_numbers)},
                {"epsilon", text_of(spec.node.real("epsilon", kEpsilon))},
                {"keep", text_of(spec.node.real("momentum", kMomentum))},
                {"take", text_of(1 - spec.node.real("momentum", kMomentum))}};
  }

  // The numbers of each part: mean and square, and with dy its sum and what it has along x.
  Launch measure(std::vector<Argument> arguments, bool with_dy) const {
    LineKernel kernel(spec_.device, channels_ * parts_.count, parts_.length);
    kernel.statement(filled(R"(const int c = line / $parts;
const int begin = line % $parts * $length;
const int count = begin + $length < $elements ? $length : $elements - begin;
)",
                            numbers_));
    const std::string at = filled(R"(const int e = begin + j;
const int at = (e / $plane * $channels + c) * $plane + e % $plane;
const bool inside = j < count;
)",
                                  numbers_);
    const auto sum = [&](const std::string& name, const std::string& value) {
      kernel.reduce(name, "0.0f", "inside ? " + value + " : 0.0f", kSum, at);
    };
    sum("mean", "LOAD(x, at)");
    kernel.statement("mean = mean / TO_FLOAT(count);\n");
    sum("square", "(LOAD(x, at) - mean) * (LOAD(x, at) - mean)");
    std::string store =
        "STORE(room, line * $part_numbers, mean);\n"
        "STORE(room, line * $part_numbers + 1, square);\n";
    if (with_dy) {
      sum("dy_sum", "LOAD(dy, at)");
      sum("along", "LOAD(dy, at) * (LOAD(x, at) - mean)");
      store +=
          "STORE(room, line * $part_numbers + 2, dy_sum);\n"
          "STORE(room, line * $part_numbers + 3, along);\n";
    }
    kernel.once(filled(store, numbers_));
    return kernel.finish(std::move(arguments));
  }

  // A launch over channels: `mean` and `inverse`, 1 / deviation, are known, and variance.
  Launch join(std::vector<Argument> arguments, std::string_view text) const {
    const std::string moments = filled(R"(const int c = i;
const int parts = c * ($parts * $part_numbers);
const int to = $first + c * $channel_numbers;
float mean = 0.0f;
for (int p = 0; p < $parts; ++p) {
  const int left = $elements - p * $length;
  mean += TO_FLOAT(left < $length ? left : $length) * LOAD(room, parts + p * $part_numbers);
}
mean = mean / $n;
float variance = 0.0f;
for (int p = 0; p < $parts; ++p) {
  const int left = $elements - p * $length;
  const float off = LOAD(room, parts + p * $part_numbers) - mean;
  variance += LOAD(room, parts + p * $part_numbers + 1) + TO_FLOAT(left < $length ? left : $length) * off * off;
}
variance = variance / $n;
const float inverse = 1.0f / sqrt(variance + $epsilon);
)",
                                       numbers_);
    return for_each_element(channels_, std::move(arguments), moments + filled(text, numbers_),
                            spec_.device);
  }

  // A launch over elements i of channels c, whose numbers begin at `of`.
  Launch apply(std::vector<Argument> arguments, std::string_view text) const {
    return for_each_element(spec_.shape(0).count(), std::move(arguments),
                            filled("const int c = i / $plane % $channels;\n"
                                   "const int of = $first + c * $channel_numbers;\n" +
                                       std::string(text),
                                   numbers_),
                            spec_.device);
  }

  int64_t scratch() const { return scratch_; }

 private:
  const NodeSpec& spec_;
  const int64_t channels_, elements_;  // elements: of a channel
  const LineParts parts_;
  const int64_t scratch_;
  Numbers numbers_;
};

const Argument kX{Kind::kInput, 0, "x"}, kScale{Kind::kInput, 1, "scale"},
    kRoom{Kind::kScratch, 0, "room"};

Work training_work(const NodeSpec& spec) {
  const Channels channels(spec, 2, 2);
  Work work{.kernel = "channels", .scratch = channels.scratch()};
  work.launches.push_back(channels.measure({kX, kRoom}, /*with_dy=*/false));
  std::vector<Argument> arguments{kRoom, kScale};
  std::string text = "STORE(room, to, mean);\nSTORE(room, to + 1, LOAD(scale, c) * inverse);\n";
  const std::array<std::string, 2> statistics{"mean", "variance"};
  for (size_t i = 0; i + 1 < spec.outputs.size(); ++i) {
    arguments.push_back({Kind::kInput, i + 3, "old_" + statistics[i]});
    arguments.push_back({Kind::kOutput, i + 1, "new_" + statistics[i]});
    text += "STORE(new_" + statistics[i] + ", c, $keep * LOAD(old_" + statistics[i] +
            ", c) + $take * " + statistics[i] + ");\n";
  }
  work.launches.push_back(channels.join(std::move(arguments), text));
  work.launches.push_back(channels.apply(
      {kX, {Kind::kInput, 2, "bias"}, kRoom, {Kind::kOutput, 0, "y"}},
      "STORE(y, i, (LOAD(x, i) - LOAD(room, of)) * LOAD(room, of + 1) + LOAD(bias, c));\n"));
  return work;
}

}  // namespace

std::optional<Work> make_batch_normalization(const NodeSpec& spec) {
  if (spec.node.integer("training_mode", 0) != 0) return training_work(spec);
  const Channels channels(spec, 0, 0);
  return Work{
      "elementwise",
      {channels.apply({kX,
                       kScale,
                       {Kind::kInput, 2, "bias"},
                       {Kind::kInput, 3, "mean"},
                       {Kind::kInput, 4, "variance"},
                       {Kind::kOutput, 0, "y"}},
                      R"(const float factor = LOAD(scale, c) / sqrt(LOAD(variance, c) + $epsilon);
STORE(y, i, (LOAD(x, i) - LOAD(mean, c)) * factor + LOAD(bias, c));
)")}};
}

std::optional<Work> make_batch_normalization_backward(const NodeSpec& spec) {
  const Channels channels(spec, 4, 4);
  const Argument dy{Kind::kInput, 2, "dy"};
  Work work{.kernel = "channels", .scratch = channels.scratch()};
  work.launches.push_back(channels.measure({kX, dy, kRoom}, /*with_dy=*/true));
  std::vector<Argument> arguments{kRoom, kScale};
  std::string text = R"(float dbias = 0.0f;
float dscale = 0.0f;
for (int p = 0; p < $parts; ++p) {
  const int from = parts + p * $part_numbers;
  dbias += LOAD(room, from + 2);
  dscale += LOAD(room, from + 3) + (LOAD(room, from) - mean) * LOAD(room, from + 2);
}
dscale = dscale * inverse;
STORE(room, to, mean);
STORE(room, to + 1, LOAD(scale, c) * inverse);
STORE(room, to + 2, dbias / $n);
STORE(room, to + 3, inverse * dscale / $n);
)";
  const std::array<std::string, 2> gradients{"dscale", "dbias"};
  for (size_t i = 0; i + 1 < spec.outputs.size(); ++i) {
    arguments.push_back({Kind::kOutput, i + 1, gradients[i] + "_to"});
    text += "STORE(" + gradients[i] + "_to, c, " + gradients[i] + ");\n";
  }
  work.launches.push_back(channels.join(std::move(arguments), text));
  work.launches.push_back(channels.apply({kX, dy, kRoom, {Kind::kOutput, 0, "dx"}},
                                         R"(const float off = LOAD(x, i) - LOAD(room, of);
STORE(dx, i, LOAD(room, of + 1) * (LOAD(dy, i) - LOAD(room, of + 2) - off * LOAD(room, of + 3)));
)"));
  return work;
}

}  // namespace shoal::gpu
