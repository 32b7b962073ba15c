// The limits of opset 17, a table made from opset_17.inc.
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shoal/model/onnx/export/expand.h"

namespace shoal::onnx {
namespace {

struct Entry {
  size_t max_inputs;
  std::vector<std::string_view> attributes;
};

const Entry* find(std::string_view op) {
  static const auto* const table = new std::unordered_map<std::string_view, Entry>{
#include "shoal/model/onnx/export/opset_17.inc"
  };
  const auto it = table->find(op);
  return it == table->end() ? nullptr : &it->second;
}

// Newer attributes, with the value at which they change nothing. A list counts if all its elements
// have the value.
struct Default {
  std::string_view op, attribute;
  int64_t value;
};
constexpr Default kDefaults[] = {
    {"AveragePool", "dilations", 1},     {"Cast", "saturate", 1},
    {"CastLike", "saturate", 1},         {"DequantizeLinear", "block_size", 0},
    {"LpPool", "ceil_mode", 0},          {"LpPool", "dilations", 1},
    {"QuantizeLinear", "block_size", 0}, {"QuantizeLinear", "saturate", 1},
    {"Resize", "antialias", 0},
};

bool is_default(std::string_view op, std::string_view attribute, const Attribute& value) {
  return std::ranges::any_of(kDefaults, [&](const Default& entry) {
    if (entry.op != op || entry.attribute != attribute) return false;
    if (const auto* integer = std::get_if<int64_t>(&value)) return *integer == entry.value;
    const auto* list = std::get_if<std::vector<int64_t>>(&value);
    return list != nullptr &&
           std::ranges::all_of(*list, [&](int64_t element) { return element == entry.value; });
  });
}

// Old attributes with values that are newer than opset 17.
bool is_new_value(std::string_view op, std::string_view attribute, const Attribute& value) {
  if (op != "ScatterElements" && op != "ScatterND") return false;
  const auto* text = std::get_if<std::string>(&value);
  return attribute == "reduction" && text != nullptr && (*text == "max" || *text == "min");
}

Status too_new(std::string what) {
  return Status(Code::kUnsupported, std::move(what) + " is not in ONNX opset " +
                                        std::to_string(kOpset) + ", which is what we write");
}

}  // namespace

Result<Attributes> opset_17_attributes(const Node& node) {
  const std::string op(node.op->name);
  const Entry* entry = find(op);
  if (entry == nullptr) return too_new("operator " + op);
  if (node.inputs.size() > entry->max_inputs) {
    return too_new("input " + std::to_string(node.inputs.size()) + " of " + op);
  }
  Attributes kept;
  for (const auto& [name, value] : node.attributes) {
    if (std::ranges::find(entry->attributes, name) != entry->attributes.end()) {
      if (is_new_value(op, name, value)) return too_new("this value of " + name + " of " + op);
      kept.emplace(name, value);
    } else if (!is_default(op, name, value)) {
      return too_new("attribute " + name + " of " + op);
    }
  }
  return kept;
}

}  // namespace shoal::onnx
