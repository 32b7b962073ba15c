// Dropout: y = x in inference. In training (the input training_mode), y = x * mask / (1 - ratio),
// where each element of the mask is 0 with probability `ratio`. Without a ratio it is 0.5. The
// gradient is in gradient_nary.cc.
#include <algorithm>
#include <random>

#include "shoal/model/ops/array/random.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

constexpr size_t kRatio = 1, kTrainingMode = 2;

bool given(std::span<const Operand> inputs, size_t i) {
  return i < inputs.size() && inputs[i].given;
}

Result<std::vector<TensorType>> infer_dropout(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  if (given(inputs, kRatio)) {
    SHOAL_TRY(require<Floats>(inputs[kRatio]));
    SHOAL_TRY(require_single(inputs[kRatio]));
  }
  if (given(inputs, kTrainingMode)) {
    SHOAL_TRY(require<Types<bool>>(inputs[kTrainingMode]));
    SHOAL_TRY(require_single(inputs[kTrainingMode]));
  }
  std::vector types{inputs[0].type, TensorType{DType::kBool, inputs[0].type.shape}};
  types.resize(node.outputs.size());
  return types;
}

double ratio_of(std::span<const Tensor> inputs) {
  if (kRatio >= inputs.size() || !inputs[kRatio].defined()) return 0.5;
  return converted(inputs[kRatio], DType::kF64).data<double>()[0];
}

bool is_training(std::span<const Tensor> inputs) {
  return kTrainingMode < inputs.size() && inputs[kTrainingMode].defined() &&
         inputs[kTrainingMode].data<bool>()[0];
}

void keep_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::ranges::copy(inputs[0].bytes(), outputs[0].bytes().begin());
  if (outputs.size() > 1) std::ranges::fill(outputs[1].data<bool>(), true);
}

void drop(const Node& node, double ratio, std::span<const Tensor> inputs,
          std::span<Tensor> outputs) {
  std::mt19937 generator = make_generator(node);
  std::uniform_real_distribution<double> uniform;
  const double scale = 1 / (1 - ratio);
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    for (size_t k = 0; k < inputs[0].data<T>().size(); ++k) {
      const bool keep = uniform(generator) >= ratio;
      const double x = static_cast<Compute<T>>(inputs[0].data<T>()[k]);
      outputs[0].data<T>()[k] = keep ? convert<T>(x * scale) : T{};
      if (outputs.size() > 1) outputs[1].data<bool>()[k] = keep;
    }
  });
}

void reference_dropout(const Node& node, std::span<const Tensor> inputs,
                       std::span<Tensor> outputs) {
  if (is_training(inputs)) {
    drop(node, ratio_of(inputs), inputs, outputs);
  } else {
    keep_all(inputs, outputs);
  }
}

// Inference splits like any element-wise operator. In training a tile would draw other numbers than
// the whole.
std::optional<Tile> split_dropout(const Node& node, std::span<const Operand> inputs,
                                  const Region& output) {
  if (given(inputs, kTrainingMode)) {
    const Tensor* mode = inputs[kTrainingMode].value;
    if (mode == nullptr || mode->data<bool>()[0]) return std::nullopt;
  }
  Tile tile{{output}, output, node.attributes, {}};
  for (const Operand& input : inputs.subspan(1)) {
    tile.inputs.push_back(Region::whole(input.type.shape));
  }
  return tile;
}

}  // namespace

SHOAL_RECORD(dropout) = {.name = "Dropout",
                         .max_inputs = 3,
                         .max_outputs = 2,
                         .statistic_inputs = 1 << kRatio,
                         .infer = infer_dropout,
                         .reference = reference_dropout,
                         .split = split_dropout,
                         .in_place = true,
                         .gradient = dropout_gradient,
                         .random = true};

}  // namespace shoal::ops
