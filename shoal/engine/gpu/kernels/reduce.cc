// Operators that turn the elements of a line into one number, or need such a number: reductions,
// softmax and normalizations.
#include "shoal/model/ops/reduce/reduce.h"

#include <algorithm>

#include "shoal/engine/gpu/kernels/makers.h"
#include "shoal/engine/gpu/source/lines.h"
#include "shoal/engine/gpu/source/source.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;
using ops::Strides;

constexpr const char *kLarger = "(b > a || b != b ? b : a)",
                     *kSmaller = "(b < a || b != b ? b : a)";

struct Rule {
  const Operator* op;
  const char *start, *join;
};
const Rule kRules[] = {
    {&ops::global_average_pool, "0.0f", kSum}, {&ops::global_max_pool, "-INFINITY", kLarger},
    {&ops::reduce_max, "-INFINITY", kLarger},  {&ops::reduce_mean, "0.0f", kSum},
    {&ops::reduce_min, "INFINITY", kSmaller},  {&ops::reduce_sum, "0.0f", kSum},
    {&ops::reduce_sum_square, "0.0f", kSum},
};

Work reduction_work(const NodeSpec& spec, Axes kept, Axes gone) {
  const auto* rule = std::ranges::find(kRules, spec.node.op, &Rule::op);
  const bool is_mean =
      spec.node.op == &ops::reduce_mean || spec.node.op == &ops::global_average_pool;
  const std::string count = text_of(static_cast<float>(gone.shape.count()));
  Work work{.kernel = "lines"};
  add_reduction({.from = {Kind::kInput, 0, "x"},
                 .to = {Kind::kOutput, 0, "y"},
                 .kept = std::move(kept),
                 .gone = std::move(gone),
                 .start = rule->start,
                 .join = rule->join,
                 .value = spec.node.op == &ops::reduce_sum_square ? "e * e" : "e",
                 .finish = is_mean ? "total / " + count : "total"},
                spec.device, work);
  return work;
}

// A row-major tensor as lines along one axis: element j of a line is at base + j * step.
struct Lines {
  int64_t count, length, step;
  std::string base;
};

Lines lines_of(const Shape& shape, size_t axis) {
  const int64_t n = shape[axis], inner = shape.count(axis + 1, shape.rank());
  const std::string step = text_of(inner);
  return {shape.count() / n, n, inner,
          "line / " + step + " * " + text_of(n * inner) + " + line % " + step};
}

}  // namespace

std::optional<Work> make_reduce(const NodeSpec& spec) {
  if (spec.has(1) && spec.inputs[1].value == nullptr) return std::nullopt;
  const Shape &shape = spec.shape(0), kept_shape = ops::kept_shape(spec.node, spec.inputs);
  const Strides strides = ops::strides_of(shape);
  Axes kept, gone;
  for (size_t d = 0; d < shape.rank(); ++d) {
    // An axis of one element may count as either.
    Axes& axes = kept_shape[d] == shape[d] ? kept : gone;
    axes.shape.push_back(shape[d]);
    axes.strides.push_back(strides[d]);
  }
  return reduction_work(spec, kept, gone);
}

std::optional<Work> make_global_pool(const NodeSpec& spec) {
  const Shape& shape = spec.shape(0);
  const int64_t plane = shape.count(2, shape.rank());
  return reduction_work(spec, {{shape.count() / plane}, {plane}}, {{plane}, {1}});
}

// y_i = exp(x_i - top) / sum_k exp(x_k - top), or its logarithm.
std::optional<Work> make_softmax(const NodeSpec& spec) {
  const Shape& shape = spec.shape(0);
  if (shape.rank() == 0) return std::nullopt;
  const Lines lines = lines_of(shape, ops::axis_in(spec.node.integer("axis", -1), shape.rank()));
  const std::string at = "base + j * " + text_of(lines.step), x = "LOAD(x, " + at + ")";
  LineKernel kernel(spec.device, lines.count, lines.length);
  kernel.statement("const int base = " + lines.base + ";\n");
  kernel.reduce("top", "-INFINITY", x, "(b > a ? b : a)");
  kernel.reduce("total", "0.0f", "exp(" + x + " - top)", kSum);
  kernel.for_each(
      "STORE(y, " + at + ", " +
      (spec.node.op == &ops::softmax ? "exp(" + x + " - top) / total" : x + " - top - log(total)") +
      ");\n");
  return Work{"lines", {kernel.finish({{Kind::kInput, 0, "x"}, {Kind::kOutput, 0, "y"}})}, {}, 0};
}

// y = scale * (x - mean) / sqrt(variance + epsilon) + bias, over the axes from `axis` on;
// RMSNormalization is around 0 instead of the mean.
std::optional<Work> make_layer_normalization(const NodeSpec& spec) {
  const Shape& shape = spec.shape(0);
  if (spec.outputs.size() != 1 || shape.rank() == 0) return std::nullopt;
  const size_t axis = ops::axis_in(spec.node.integer("axis", -1), shape.rank());
  const int64_t length = shape.count(axis, shape.rank());
  const std::string n = text_of(static_cast<float>(length));
  LineKernel kernel(spec.device, shape.count() / length, length);
  kernel.statement("const int base = line * " + text_of(length) + ";\n");
  if (spec.node.op == &ops::layer_normalization) {
    kernel.reduce("mean", "0.0f", "LOAD(x, base + j)", kSum);
    kernel.statement("mean = mean / " + n + ";\n");
  } else {
    kernel.statement("const float mean = 0.0f;\n");
  }
  kernel.reduce("square", "0.0f", "(LOAD(x, base + j) - mean) * (LOAD(x, base + j) - mean)", kSum);
  kernel.statement("const float inverse = 1.0f / sqrt(square / " + n + " + " +
                   text_of(spec.node.real("epsilon", 1e-5f)) + ");\n");
  std::vector<Argument> arguments{{Kind::kInput, 0, "x"}, {Kind::kInput, 1, "scale"}};
  const auto parameter = [&](size_t input, const std::string& name) {
    const Strides strides = ops::broadcast_strides(spec.shape(input), shape);
    return "LOAD(" + name + ", " + offset_text(shape, strides, "e") + ")";
  };
  std::string value = "(LOAD(x, e) - mean) * inverse * " + parameter(1, "scale");
  if (spec.has(2)) {
    arguments.push_back({Kind::kInput, 2, "bias"});
    value += " + " + parameter(2, "bias");
  }
  arguments.push_back({Kind::kOutput, 0, "y"});
  kernel.for_each("const int e = base + j;\nSTORE(y, e, " + value + ");\n");
  Work work{"lines", {}, {}, 0};
  work.launches.push_back(kernel.finish(std::move(arguments)));
  return work;
}

}  // namespace shoal::gpu
