// Constants computed while a model is bound: see constant_folder.h.
#include "shoal/model/onnx/bind/constant_folder.h"

namespace shoal::onnx {
namespace {

// The most elements that one node may read and write. A shape has eight elements; the tables that
// exporters compute from shapes (positions, masks, anchors) are well below this.
constexpr int64_t kMaxElements = int64_t{1} << 20;

// An input for an operator that reads types only.
Tensor without_elements(const TensorType& type) { return Tensor::view(type, nullptr, nullptr); }

}  // namespace

std::optional<std::vector<Tensor>> ConstantFolder::fold(const Node& node,
                                                        std::span<const Operand> operands,
                                                        std::span<const TensorType> types) {
  // `linear_time` is what bounds the work by the number of elements: a Conv or a large pool could
  // take hours on few of them.
  if (node.op->random || !node.op->linear_time) return std::nullopt;
  const bool types_only = node.op->reads_types_only;
  int64_t elements = 0;
  for (const TensorType& type : types) elements += type.shape.count();
  std::vector<Tensor> inputs, outputs;
  for (const Operand& operand : operands) {
    if (operand.given && operand.value == nullptr && !types_only) return std::nullopt;
    inputs.push_back(!operand.given ? Tensor()
                     : types_only   ? without_elements(operand.type)
                                    : *operand.value);
    elements += operand.given && !types_only ? operand.type.shape.count() : 0;
  }
  if (elements > kMaxElements || elements > elements_left_) return std::nullopt;
  elements_left_ -= elements;
  for (const TensorType& type : types) outputs.emplace_back(type);
  node.op->reference(node, inputs, outputs);
  return outputs;
}

}  // namespace shoal::onnx
