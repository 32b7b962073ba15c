// MaxPool and AveragePool: an item per output, which walks the taps of its window that are not
// padding. And their gradients: an item per input, which walks the windows that it is in, so that
// no two items write to the same place. For a maximum it finds the element that each window took.
#include <algorithm>

#include "shoal/engine/gpu/kernels/makers.h"
#include "shoal/engine/gpu/source/source.h"
#include "shoal/model/ops/ops.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;

// With count_include_pad, padding counts, but not what ceil_mode adds beyond it.
constexpr std::string_view kCountPadding =
    R"(const int room_d = ($full_d - od * $stride_d - 1) / $dilation_d + 1;
const int room_h = ($full_h - oh * $stride_h - 1) / $dilation_h + 1;
const int room_w = ($full_w - ow * $stride_w - 1) / $dilation_w + 1;
const int count = (room_d < $kernel_d ? room_d : $kernel_d) * (room_h < $kernel_h ? room_h : $kernel_h)
  * (room_w < $kernel_w ? room_w : $kernel_w);
)";

// Every tap of window o that is inside x, at xd, xh, xw.
constexpr std::string_view kTaps = R"(for (int td = 0; td < $kernel_d; ++td) {
  const int xd = od * $stride_d - $pad_d + td * $dilation_d;
  if (xd < 0 || xd >= $in_d) continue;
  for (int th = 0; th < $kernel_h; ++th) {
    const int xh = oh * $stride_h - $pad_h + th * $dilation_h;
    if (xh < 0 || xh >= $in_h) continue;
    for (int tw = 0; tw < $kernel_w; ++tw) {
      const int xw = ow * $stride_w - $pad_w + tw * $dilation_w;
      if (xw < 0 || xw >= $in_w) continue;
$tap
    }
  }
}
)";

constexpr std::string_view kPool = R"(const int ow = i % $out_w;
const int oh = i / $out_w % $out_h;
const int od = i / ($out_w * $out_h) % $out_d;
const int plane = i / ($out_w * $out_h * $out_d) * ($in_d * $in_h * $in_w);
float value = $start;
int taps = 0;
$taps
$count_padding
STORE(y, i, $result);
)";

constexpr std::string_view kPoolTap = R"(const float a = value;
const float b = LOAD(x, plane + (xd * $in_h + xh) * $in_w + xw);
value = $join;
++taps;)";

// Element i of x, through all windows o whose tap k it is. $share adds what one of them gives.
constexpr std::string_view kBackward = R"(const int w = i % $in_w;
const int h = i / $in_w % $in_h;
const int d = i / ($in_w * $in_h) % $in_d;
const int from = i / ($in_w * $in_h * $in_d) * ($out_d * $out_h * $out_w);
const int plane = i / ($in_w * $in_h * $in_d) * ($in_d * $in_h * $in_w);
float sum = 0.0f;
for (int kd = 0; kd < $kernel_d; ++kd) {
  const int at_d = d + $pad_d - kd * $dilation_d;
  const int od = at_d / $stride_d;
  if (at_d < 0 || at_d % $stride_d != 0 || od >= $out_d) continue;
  for (int kh = 0; kh < $kernel_h; ++kh) {
    const int at_h = h + $pad_h - kh * $dilation_h;
    const int oh = at_h / $stride_h;
    if (at_h < 0 || at_h % $stride_h != 0 || oh >= $out_h) continue;
    for (int kw = 0; kw < $kernel_w; ++kw) {
      const int at_w = w + $pad_w - kw * $dilation_w;
      const int ow = at_w / $stride_w;
      if (at_w < 0 || at_w % $stride_w != 0 || ow >= $out_w) continue;
      const float dy_o = LOAD(dy, from + (od * $out_h + oh) * $out_w + ow);
$share
    }
  }
}
STORE(dx, i, sum);
)";

// Whether element i is the first of the largest in window o, as model/ops/extrema.h has it: a NaN
// is larger than any number.
constexpr std::string_view kTaken = R"(float value = 0.0f;
int taken = -1;
$taps
if (taken == i) sum += dy_o;
)";

constexpr std::string_view kTakenTap = R"(const int at = plane + (xd * $in_h + xh) * $in_w + xw;
const float b = LOAD(x, at);
if (taken < 0 || b > value || (b != b && value == value)) {
  value = b;
  taken = at;
})";

constexpr std::string_view kCountTaps = R"(int count = 0;
$taps
)";

// The text with $taps as the loop over all taps of a window.
std::string with_taps(std::string_view text, std::string_view tap,
                      std::map<std::string, std::string> values) {
  values["tap"] = filled(tap, values);
  values["taps"] = filled(kTaps, values);
  return filled(text, values);
}

Work backward_work(const NodeSpec& spec, const ops::Window& window, const std::string& share,
                   std::vector<Argument> arguments) {
  std::map<std::string, std::string> values = numbers_of(window);
  values["share"] = share;
  arguments.push_back({Kind::kOutput, 0, "dx"});
  return {"window",
          {for_each_element(spec.output().count(), std::move(arguments), filled(kBackward, values),
                            spec.device)}};
}

}  // namespace

bool is_small(const ops::Window& window) {
  constexpr int64_t kMostTaps = int64_t{1} << 16, kMostElements = int64_t{1} << 28;
  int64_t taps = 1;
  for (const ops::WindowAxis& axis : window.axes) {
    if (axis.input + axis.pad_begin + axis.pad_end > kMostElements) return false;
    if (axis.stride > kMostElements || axis.extent() > kMostElements) return false;
    taps = std::min(taps, kMostTaps + 1) * std::min(axis.kernel, kMostTaps + 1);
  }
  return taps <= kMostTaps;
}

std::map<std::string, std::string> numbers_of(const ops::Window& window) {
  std::map<std::string, std::string> numbers;
  for (size_t d = 0; d < ops::Window::kMaxRank; ++d) {
    const ops::WindowAxis& axis = window.axes[d];
    const std::string suffix = std::string("_") + "dhw"[d];
    numbers["in" + suffix] = text_of(axis.input);
    numbers["out" + suffix] = text_of(axis.output);
    numbers["kernel" + suffix] = text_of(axis.kernel);
    numbers["stride" + suffix] = text_of(axis.stride);
    numbers["dilation" + suffix] = text_of(axis.dilation);
    numbers["pad" + suffix] = text_of(axis.pad_begin);
    numbers["full" + suffix] = text_of(axis.input + axis.pad_begin + axis.pad_end);
  }
  return numbers;
}

std::optional<Work> make_pool(const NodeSpec& spec) {
  const ops::Window window = ops::window_of(spec.node, spec.shape(0));
  if (spec.outputs.size() != 1 || !is_small(window)) return std::nullopt;
  std::map<std::string, std::string> values = numbers_of(window);
  const bool is_max = spec.node.op == &ops::max_pool;
  const bool counts_padding = !is_max && spec.node.integer("count_include_pad", 0) != 0;
  values["start"] = is_max ? "-INFINITY" : "0.0f";
  values["join"] = is_max ? "(b > a || b != b ? b : a)" : "a + b";
  values["count_padding"] = counts_padding ? filled(kCountPadding, values) : "";
  const std::string count = counts_padding ? "count" : "taps";
  values["result"] =
      is_max ? "value" : "(" + count + " == 0 ? 0.0f : value / TO_FLOAT(" + count + "))";
  return Work{
      "window",
      {for_each_element(spec.output().count(), {{Kind::kInput, 0, "x"}, {Kind::kOutput, 0, "y"}},
                        with_taps(kPool, kPoolTap, values), spec.device)},
      {},
      0};
}

std::optional<Work> make_max_pool_backward(const NodeSpec& spec) {
  const ops::Window window = ops::window_of(spec.node, spec.shape(0));
  if (!is_small(window)) return std::nullopt;
  return backward_work(spec, window, with_taps(kTaken, kTakenTap, numbers_of(window)),
                       {{Kind::kInput, 0, "x"}, {Kind::kInput, 1, "dy"}});
}

std::optional<Work> make_average_pool_backward(const NodeSpec& spec) {
  const ops::Window window = ops::window_of(spec.node, spec.output());
  if (!is_small(window)) return std::nullopt;
  const bool counts_padding = spec.node.integer("count_include_pad", 0) != 0;
  const std::string count =
      with_taps(counts_padding ? kCountPadding : kCountTaps, "++count;", numbers_of(window));
  return backward_work(spec, window, count + "if (count > 0) sum += dy_o / TO_FLOAT(count);\n",
                       {{Kind::kInput, 0, "dy"}});
}

}  // namespace shoal::gpu
