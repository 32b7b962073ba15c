#include "shoal/onnx/constant_folder.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace shoal::onnx {
namespace {

// What one node may read and write. A shape has eight elements; the tables exporters compute
// from shapes (positions, masks, anchors) are well below this.
constexpr int64_t kMaxElements = int64_t{1} << 20;

// Operators whose time is linear in what they read and write, so that counting elements bounds
// the time. Convolutions, pools, sorts and the like are missing on purpose.
bool takes_linear_time(std::string_view op) {
  static const std::unordered_set<std::string_view> names = {"Abs",
                                                             "Add",
                                                             "And",
                                                             "ArgMax",
                                                             "ArgMin",
                                                             "Cast",
                                                             "CastLike",
                                                             "Ceil",
                                                             "Clip",
                                                             "Concat",
                                                             "ConstantOfShape",
                                                             "Div",
                                                             "Equal",
                                                             "Exp",
                                                             "Expand",
                                                             "Flatten",
                                                             "Floor",
                                                             "Gather",
                                                             "GatherElements",
                                                             "GatherND",
                                                             "Greater",
                                                             "GreaterOrEqual",
                                                             "Identity",
                                                             "Less",
                                                             "LessOrEqual",
                                                             "Log",
                                                             "Max",
                                                             "Min",
                                                             "Mod",
                                                             "Mul",
                                                             "Neg",
                                                             "NonZero",
                                                             "Not",
                                                             "Or",
                                                             "Pad",
                                                             "Pow",
                                                             "Range",
                                                             "ReduceMax",
                                                             "ReduceMin",
                                                             "ReduceProd",
                                                             "ReduceSum",
                                                             "Reshape",
                                                             "Round",
                                                             "ScatterElements",
                                                             "ScatterND",
                                                             "Shape",
                                                             "Sign",
                                                             "Size",
                                                             "Slice",
                                                             "Split",
                                                             "Sqrt",
                                                             "Squeeze",
                                                             "Sub",
                                                             "Sum",
                                                             "Tile",
                                                             "Transpose",
                                                             "Trilu",
                                                             "Unsqueeze",
                                                             "Where",
                                                             "Xor"};
  return names.contains(op);
}

// Shape and Size ask for a type, which is known even where the elements are not.
std::optional<Tensor> fold_type_query(const Node& node, const TensorType& input,
                                      const TensorType& output) {
  Tensor result(output);
  if (node.op->name == "Size") {
    result.data<int64_t>()[0] = input.shape.count();
    return result;
  }
  if (node.op->name != "Shape") return std::nullopt;
  const auto rank = static_cast<int64_t>(input.shape.rank());
  const int64_t start = node.integer("start", 0);
  const int64_t begin = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
  const std::span<int64_t> dims = result.data<int64_t>();
  std::copy_n(input.shape.begin() + begin, dims.size(), dims.begin());
  return result;
}

}  // namespace

std::optional<std::vector<Tensor>> ConstantFolder::fold(const Node& node,
                                                        std::span<const Operand> operands,
                                                        std::span<const TensorType> types) {
  if (node.op->random || !takes_linear_time(node.op->name)) return std::nullopt;
  int64_t elements = 0;
  for (const TensorType& type : types) elements += type.shape.count();
  if (node.op->name == "Shape" || node.op->name == "Size") {
    return std::vector{*fold_type_query(node, operands[0].type, types[0])};
  }
  std::vector<Tensor> inputs, outputs;
  for (const Operand& operand : operands) {
    if (operand.given && operand.value == nullptr) return std::nullopt;
    inputs.push_back(operand.given ? *operand.value : Tensor());
    elements += operand.given ? operand.type.shape.count() : 0;
  }
  if (elements > kMaxElements || elements > elements_left_) return std::nullopt;
  elements_left_ -= elements;
  for (const TensorType& type : types) outputs.emplace_back(type);
  node.op->reference(node, inputs, outputs);
  return outputs;
}

}  // namespace shoal::onnx
