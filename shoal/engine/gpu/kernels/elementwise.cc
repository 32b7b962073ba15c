// Element-wise operators and chains of them, y_i = f(a_i, b_i, ...), one item per element. Operands
// broadcast: the place of element i in each is part of the source. Each item reads what it needs
// before it writes y_i, so that y may lie where operand 0 lies.
#include "shoal/engine/cpu/elementwise/elementwise.h"

#include <algorithm>

#include "shoal/engine/gpu/kernels/makers.h"
#include "shoal/engine/gpu/source/source.h"
#include "shoal/model/ops/elementwise/cast.h"
#include "shoal/model/ops/ops.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;

std::string operand_name(size_t input) { return "x" + std::to_string(input); }

// "float v0 = LOAD(x0, i);" for a range of inputs.
std::string load_operands(const NodeSpec& spec, size_t first, size_t end) {
  std::string text;
  for (size_t i = first; i < end; ++i) {
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
                            load_operands(spec, 0, operands) + body, spec.device)},
          {},
          0};
}

}  // namespace

std::optional<Work> make_unary(const NodeSpec& spec) {
  const auto function = ops::as_activation(spec.node, spec.inputs);
  if (!function || spec.outputs.size() != 1) return std::nullopt;
  return elementwise_work(spec, "elementwise", 1, "STORE(y, i, " + call(*function, "v0") + ");\n");
}

// Max, Mean, Min and Sum have any number of operands, the others two. A launch takes a few of them,
// and those after the first go on from what y has.
std::optional<Work> make_nary(const NodeSpec& spec) {
  constexpr size_t kMost = 15;  // arguments of a kernel are few on some devices
  const size_t count = spec.inputs.size();
  Work work{.kernel = "elementwise"};
  for (size_t first = 0; first < count; first += kMost) {
    const size_t end = std::min(first + kMost, count);
    std::vector<Argument> arguments;
    std::string value = first == 0 ? "" : "LOAD(y, i)";
    for (size_t i = first; i < end; ++i) {
      if (!spec.has(i)) return std::nullopt;
      arguments.push_back({Kind::kInput, i, operand_name(i)});
      const std::string operand = "v" + std::to_string(i);
      value = i == 0 ? operand : call(spec.node.op, value, operand);
    }
    if (spec.node.op == &ops::mean && end == count) {
      value += " / " + text_of(static_cast<float>(count));
    }
    arguments.push_back({Kind::kOutput, 0, "y"});
    work.launches.push_back(for_each_element(
        spec.output().count(), std::move(arguments),
        load_operands(spec, first, end) + "STORE(y, i, " + value + ");\n", spec.device));
  }
  return work;
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

// From f32 to bf16 and back: training keeps activations so (train/step/graph/activation_memory.h).
std::optional<Work> make_cast(const NodeSpec& spec) {
  const bool narrows = spec.outputs[0].dtype == DType::kBF16;
  if (narrows == (spec.inputs[0].type.dtype == DType::kBF16) || !spec.device.stores_halves ||
      (narrows && !ops::rounds_to_nearest(spec.node))) {
    return std::nullopt;
  }
  return elementwise_work(spec, "cast", 1, "STORE(y, i, v0);\n");
}

}  // namespace shoal::gpu
