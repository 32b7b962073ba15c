// Operators that move elements: strided copies, one item per element.
#include "shoal/engine/gpu/kernels/makers.h"
#include "shoal/engine/gpu/source/source.h"
#include "shoal/model/ops/array/slice.h"
#include "shoal/model/ops/image/resize_axis.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;
using ops::Strides;

// A tensor as a copy walks it.
struct Walk {
  Strides strides;
  int64_t first = 0;
};

Launch copy(const NodeSpec& spec, const Shape& shape, size_t input, const Walk& from, size_t output,
            const Walk& to) {
  return for_each_element(shape.count(), {{Kind::kInput, input, "x"}, {Kind::kOutput, output, "y"}},
                          "STORE(y, " + offset_text(shape, to.strides, "i", to.first) +
                              ", LOAD(x, " + offset_text(shape, from.strides, "i", from.first) +
                              "));\n",
                          spec.device);
}

Work gather_work(const NodeSpec& spec, const Walk& from) {
  return {"copy", {copy(spec, spec.output(), 0, from, 0, {ops::strides_of(spec.output())})}, {}, 0};
}

}  // namespace

// Reshape, and operators that keep all elements in place: Identity, Dropout outside of training.
std::optional<Work> make_reshape(const NodeSpec& spec) {
  if (spec.outputs.size() != 1) return std::nullopt;
  const bool may_train = spec.node.op == &ops::dropout && spec.has(2);
  return may_train ? std::nullopt : std::optional(Work{"none", {}, {}, 0});
}

std::optional<Work> make_transpose(const NodeSpec& spec) {
  const size_t rank = spec.shape(0).rank();
  const std::vector<int64_t> permutation = spec.node.integers("perm");
  const Strides strides = ops::strides_of(spec.shape(0));
  Strides walked = strides;
  for (size_t d = 0; d < rank; ++d) {
    walked[d] = strides[permutation.empty() ? rank - 1 - d : static_cast<size_t>(permutation[d])];
  }
  return gather_work(spec, {walked});
}

std::optional<Work> make_slice(const NodeSpec& spec) {
  const ops::SliceSource source = ops::slice_source(spec.inputs);
  return gather_work(spec, {source.strides, source.first});
}

std::optional<Work> make_expand(const NodeSpec& spec) {
  return gather_work(spec, {ops::broadcast_strides(spec.shape(0), spec.output())});
}

std::optional<Work> make_concat(const NodeSpec& spec) {
  const Strides strides = ops::strides_of(spec.output());
  const size_t axis = ops::axis_in(spec.node.integer("axis", 0), strides.rank());
  Work work{"copy", {}, {}, 0};
  int64_t first = 0;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const Shape& shape = spec.shape(i);
    work.launches.push_back(copy(spec, shape, i, {ops::strides_of(shape)}, 0, {strides, first}));
    first += shape[axis] * strides[axis];
  }
  return work;
}

std::optional<Work> make_split(const NodeSpec& spec) {
  const Strides strides = ops::strides_of(spec.shape(0));
  const size_t axis = ops::axis_in(spec.node.integer("axis", 0), strides.rank());
  Work work{"copy", {}, {}, 0};
  int64_t first = 0;
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    const Shape& shape = spec.output(i);
    work.launches.push_back(copy(spec, shape, 0, {strides, first}, i, {ops::strides_of(shape)}));
    first += shape[axis] * strides[axis];
  }
  return work;
}

// Element c of an axis of y is element c - begin of x, or outside of it.
std::optional<Work> make_pad(const NodeSpec& spec) {
  if (spec.node.text("mode", "constant") != "constant" || spec.has(3)) return std::nullopt;
  const std::vector<int64_t> pads = to_ints(*spec.inputs[1].value);
  const Strides from = ops::strides_of(spec.shape(0)), to = ops::strides_of(spec.output());
  std::string inside = "true", at = "0", body;
  for (size_t d = 0; d < to.rank(); ++d) {
    const std::string c = "c" + std::to_string(d);
    body += "const int " + c + " = i / " + text_of(to[d]) + " % " + text_of(spec.output()[d]) +
            " - (" + text_of(pads[d]) + ");\n";
    inside += " && " + c + " >= 0 && " + c + " < " + text_of(spec.shape(0)[d]);
    at += " + " + c + " * " + text_of(from[d]);
  }
  const float value = spec.has(2) ? spec.inputs[2].value->data<float>()[0] : 0.0f;
  body += "STORE(y, i, " + inside + " ? LOAD(x, " + at + ") : " + text_of(value) + ");\n";
  return Work{
      "copy",
      {for_each_element(spec.output().count(), {{Kind::kInput, 0, "x"}, {Kind::kOutput, 0, "y"}},
                        body, spec.device)},
      {},
      0};
}

namespace {

// The taps of both axes as tables: for each output the first element and the first weight, and
// where its weights end.
std::function<Tensor()> taps_table(const ops::ResizeTaps& taps) {
  return [taps] {
    Tensor table({DType::kI32, {static_cast<int64_t>(2 * taps.first.size() + 1)}});
    const auto to = table.data<int32_t>();
    for (size_t k = 0; k < taps.first.size(); ++k) {
      to[2 * k] = static_cast<int32_t>(taps.first[k]);
      to[2 * k + 1] = static_cast<int32_t>(taps.offsets[k]);
    }
    to.back() = static_cast<int32_t>(taps.weights.size());
    return table;
  };
}

std::function<Tensor()> weights_table(const ops::ResizeTaps& taps) {
  return [taps] {
    const std::vector<float> weights(taps.weights.begin(), taps.weights.end());
    return Tensor::of<float>({static_cast<int64_t>(weights.size())}, weights);
  };
}

constexpr std::string_view kResize = R"(const int w = i % $out_w;
const int h = i / $out_w % $out_h;
const int plane = i / ($out_w * $out_h) * ($in_w * $in_h);
const int h_end = h + 1 < $out_h ? int_rows[2 * h + 3] : int_rows[2 * $out_h];
const int w_end = w + 1 < $out_w ? int_columns[2 * w + 3] : int_columns[2 * $out_w];
float sum = 0.0f;
for (int a = int_rows[2 * h + 1]; a < h_end; ++a) {
  const int row = plane + (int_rows[2 * h] + a - int_rows[2 * h + 1]) * $in_w;
  float line = 0.0f;
  for (int b = int_columns[2 * w + 1]; b < w_end; ++b) {
    line += LOAD(column_weights, b) * LOAD(x, row + int_columns[2 * w] + b - int_columns[2 * w + 1]);
  }
  sum += LOAD(row_weights, a) * line;
}
STORE(y, i, sum);
)";

}  // namespace

// Of the last two axes, where no output lies outside of the image.
std::optional<Work> make_resize(const NodeSpec& spec) {
  const size_t rank = spec.shape(0).rank();
  const auto rule = ops::resize_rule(spec.node);
  if (rank < 2 || !rule.ok() || rule->coordinates == ops::ResizeRule::Coordinates::kTfCropAndResize)
    return std::nullopt;
  const auto axes = ops::resize_axes(spec.node, *rule, spec.inputs);
  if (!axes.ok()) return std::nullopt;
  for (size_t d = 0; d < rank; ++d) {
    const ops::ResizeAxis& axis = (*axes)[d];
    const bool is_whole = axis.in_begin == 0 && axis.in_end == axis.in && axis.out_begin == 0 &&
                          axis.out_end == axis.out;
    if (!is_whole || (d + 2 < rank && !axis.is_identity(*rule))) return std::nullopt;
  }
  const ops::ResizeTaps rows = resize_taps(*rule, (*axes)[rank - 2]);
  const ops::ResizeTaps columns = resize_taps(*rule, (*axes)[rank - 1]);
  const std::string body = filled(kResize, {{"out_w", text_of(spec.output()[rank - 1])},
                                            {"out_h", text_of(spec.output()[rank - 2])},
                                            {"in_w", text_of(spec.shape(0)[rank - 1])},
                                            {"in_h", text_of(spec.shape(0)[rank - 2])}});
  return Work{"taps",
              {for_each_element(spec.output().count(),
                                {{Kind::kInput, 0, "x"},
                                 {Kind::kTable, 0, "int_rows"},
                                 {Kind::kTable, 1, "row_weights"},
                                 {Kind::kTable, 2, "int_columns"},
                                 {Kind::kTable, 3, "column_weights"},
                                 {Kind::kOutput, 0, "y"}},
                                body, spec.device)},
              {taps_table(rows), weights_table(rows), taps_table(columns), weights_table(columns)},
              0};
}

}  // namespace shoal::gpu
