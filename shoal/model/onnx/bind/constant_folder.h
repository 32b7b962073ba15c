// Constants computed while a model is bound: shape arithmetic, within a budget that a hostile file
// cannot exceed. Larger work on constants is left to passes/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal::onnx {

class ConstantFolder {
 public:
  // The outputs of the node, where they follow from the known inputs and are cheap to compute.
  // `types` are those that `infer` gave.
  std::optional<std::vector<Tensor>> fold(const Node& node, std::span<const Operand> operands,
                                          std::span<const TensorType> types);

 private:
  int64_t elements_left_ = int64_t{1} << 26;  // read and written, by all nodes of one bind
};

}  // namespace shoal::onnx
