#include <algorithm>
#include <array>
#include <memory>

#include "shoal/model/onnx/program/program.h"
#include "shoal/model/ops/narrow_type.h"

namespace shoal::onnx {
namespace {

// Those that move elements and change none.
constexpr std::array<std::string_view, 9> kMovers = {"Expand",        "Flatten",   "Identity",
                                                     "Pad",           "Reshape",   "Squeeze",
                                                     "TensorScatter", "Transpose", "Unsqueeze"};

int64_t attribute(const Step& step, std::string_view key) {
  const auto it = step.attributes.find(key);
  const auto* number = it == step.attributes.end() ? nullptr : std::get_if<int64_t>(&it->second);
  return number == nullptr ? 0 : *number;
}

int64_t input(const Step& step, size_t i, std::span<const SlotInfo> slots) {
  if (i >= step.inputs.size() || step.inputs[i] == kNoSlot) return 0;
  return slots[static_cast<size_t>(step.inputs[i])].narrow;
}

}  // namespace

int64_t narrow_number(int64_t data_type) {
  return ops::find_narrow_type(data_type) == nullptr ? 0 : data_type;
}

int64_t narrow_number(std::span<const Argument> constant) {
  for (const Argument& argument : constant) {
    const auto* tensor = std::get_if<std::shared_ptr<const TensorProto>>(&argument.proto->value);
    if (tensor != nullptr) return narrow_number((*tensor)->data_type);
  }
  return 0;
}

int64_t narrow_output(const Step& step, std::span<const SlotInfo> slots) {
  if (!step.domain.empty()) return 0;
  if (step.op == "Cast") return narrow_number(attribute(step, "to"));
  if (step.op == "CastLike") return input(step, 1, slots);
  if (step.op == "QuantizeLinear") {
    const int64_t asked = attribute(step, "output_dtype");
    return asked != 0 ? narrow_number(asked) : input(step, 2, slots);
  }
  if (step.op == "If") {
    const std::vector<Slot>& results = step.branches[0].results;
    return results.empty() ? 0 : slots[static_cast<size_t>(results[0])].narrow;
  }
  const bool moves = std::ranges::find(kMovers, step.op) != kMovers.end();
  return moves ? input(step, 0, slots) : 0;
}

}  // namespace shoal::onnx
