// Constants computed while a model is bound: shape arithmetic, and no more than a hostile file
// cannot make slow. Larger work on constants is left to passes/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::onnx {

class ConstantFolder {
 public:
  // The node's outputs, where they follow from what is known of its inputs and are cheap to
  // compute. `types` is what `infer` gave.
  std::optional<std::vector<Tensor>> fold(const Node& node, std::span<const Operand> operands,
                                          std::span<const TensorType> types);

 private:
  int64_t elements_left_ = int64_t{1} << 26;  // read and written, by all nodes of one bind
};

}  // namespace shoal::onnx
