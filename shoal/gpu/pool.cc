// MaxPool and AveragePool: an item per output, which walks the taps of its window that are not
// padding.
#include <algorithm>

#include "shoal/gpu/makers.h"
#include "shoal/gpu/source.h"
#include "shoal/gpu/window_text.h"
#include "shoal/ops/ops.h"

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

constexpr std::string_view kPool = R"(const int ow = i % $out_w;
const int oh = i / $out_w % $out_h;
const int od = i / ($out_w * $out_h) % $out_d;
const int plane = i / ($out_w * $out_h * $out_d) * ($in_d * $in_h * $in_w);
float value = $start;
int taps = 0;
for (int kd = 0; kd < $kernel_d; ++kd) {
  const int d = od * $stride_d - $pad_d + kd * $dilation_d;
  if (d < 0 || d >= $in_d) continue;
  for (int kh = 0; kh < $kernel_h; ++kh) {
    const int h = oh * $stride_h - $pad_h + kh * $dilation_h;
    if (h < 0 || h >= $in_h) continue;
    for (int kw = 0; kw < $kernel_w; ++kw) {
      const int w = ow * $stride_w - $pad_w + kw * $dilation_w;
      if (w < 0 || w >= $in_w) continue;
      const float a = value;
      const float b = LOAD(x, plane + (d * $in_h + h) * $in_w + w);
      value = $join;
      ++taps;
    }
  }
}
$count_padding
STORE(y, i, $result);
)";

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
                        filled(kPool, values), spec.device)},
      {},
      0};
}

}  // namespace shoal::gpu
