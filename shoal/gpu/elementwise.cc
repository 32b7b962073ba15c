// Element-wise operators and chains of them, y_i = f(a_i, b_i, ...), one item per element. Operands
// stretch: the place of element i in each of them is part of the source. Each item reads what it
// needs before it writes y_i, so that y may lie where operand 0 lies.
#include <algorithm>

#include "shoal/cpu/elementwise/elementwise_chain.h"
#include "shoal/gpu/functions.h"
#include "shoal/gpu/makers.h"
#include "shoal/gpu/source.h"
#include "shoal/ops/ops.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;

std::string operand_name(size_t input) { return "x" + std::to_string(input); }

// "float v0 = LOAD(x0, i);" for the inputs from the first on.
std::string load_operands(const NodeSpec& spec, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    const ops::Strides strides = ops::broadcast_strides(spec.shape(i), spec.output());
    text += "const float v" + std::to_string(i) + " = LOAD(" + operand_name(i) + ", " +
            offset_text(spec.output(), strides, "i") + ");\n";
  }
  return text;
}

Work elementwise_work(const NodeSpec& spec, std::string kernel, size_t operands,
                      const std::string& body) {
  std::vector<Argument> arguments;
  for (size_t i = 0; i < operands; ++i) arguments.push_back({Kind::kInput, i, operand_name(i)});
  arguments.push_back({Kind::kOutput, 0, "y"});
  return {std::move(kernel),
          {for_each_element(spec.output().count(), std::move(arguments),
                            load_operands(spec, operands) + body, spec.device)},
          {},
          0};
}

}  // namespace

std::optional<Work> make_unary(const NodeSpec& spec) {
  const auto function = ops::as_activation(spec.node, spec.inputs);
  if (!function || spec.outputs.size() != 1) return std::nullopt;
  return elementwise_work(spec, "elementwise", 1, "STORE(y, i, " + call(*function, "v0") + ");\n");
}

// Max, Mean, Min and Sum have any number of operands, the others two.
std::optional<Work> make_nary(const NodeSpec& spec) {
  constexpr size_t kMost = 16;  // arguments of a kernel are few on some devices
  if (spec.inputs.size() > kMost) return std::nullopt;
  std::string value = "v0";
  for (size_t i = 1; i < spec.inputs.size(); ++i) {
    if (!spec.has(i)) return std::nullopt;
    value = call(spec.node.op, value, "v" + std::to_string(i));
  }
  if (spec.node.op == &ops::mean) {
    value = value + " / " + text_of(static_cast<float>(spec.inputs.size()));
  }
  return elementwise_work(spec, "elementwise", spec.inputs.size(), "STORE(y, i, " + value + ");\n");
}

std::optional<Work> make_chain(const NodeSpec& spec) {
  const std::vector<cpu::ChainStep> steps = cpu::steps_of(spec.node);
  size_t values = spec.inputs.size();
  std::string body;
  for (const cpu::ChainStep& step : steps) {
    std::vector<std::string> operands;
    for (size_t operand : step.operands) operands.push_back("v" + std::to_string(operand));
    const std::string value = operands.size() == 2
                                  ? call(step.op, operands[0], operands[1])
                                  : call({step.op, step.alpha, step.beta}, operands[0]);
    body += "const float v" + std::to_string(values++) + " = " + value + ";\n";
  }
  body += "STORE(y, i, v" + std::to_string(values - 1) + ");\n";
  return elementwise_work(spec, "chain", spec.inputs.size(), body);
}

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, per channel.
std::optional<Work> make_batch_normalization(const NodeSpec& spec) {
  if (spec.outputs.size() != 1 || spec.node.integer("training_mode", 0) != 0) return std::nullopt;
  const Shape& shape = spec.output();
  const int64_t channels = shape.rank() > 1 ? shape[1] : 1;
  const int64_t plane = shape.rank() > 1 ? shape.count(2, shape.rank()) : 1;
  const std::string body = filled(R"(const int c = i / $plane % $channels;
const float factor = LOAD(scale, c) / sqrt(LOAD(variance, c) + $epsilon);
STORE(y, i, (LOAD(x, i) - LOAD(mean, c)) * factor + LOAD(bias, c));
)",
                                  {{"plane", text_of(plane)},
                                   {"channels", text_of(channels)},
                                   {"epsilon", text_of(spec.node.real("epsilon", 1e-5f))}});
  return Work{"elementwise",
              {for_each_element(shape.count(),
                                {{Kind::kInput, 0, "x"},
                                 {Kind::kInput, 1, "scale"},
                                 {Kind::kInput, 2, "bias"},
                                 {Kind::kInput, 3, "mean"},
                                 {Kind::kInput, 4, "variance"},
                                 {Kind::kOutput, 0, "y"}},
                                body, spec.device)},
              {},
              0};
}

}  // namespace shoal::gpu
