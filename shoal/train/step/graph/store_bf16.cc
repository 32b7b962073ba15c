// Every large activation that the backward pass reads gets two casts: to bf16 right after it was
// computed, so that the f32 original is gone after its last reader in the forward pass, and back to
// f32 right before its first reader in the backward pass, so that it is wide only while it is read.
// The readers of an activation in the backward pass follow each other, so one cast back is enough.
#include "shoal/train/step/graph/store_bf16.h"

#include <vector>

#include "shoal/model/ops/elementwise/cast.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/train/step/graph/forward_backward.h"

namespace shoal::train {
namespace {

class Narrowing {
 public:
  Narrowing(const Graph& step, ValueId loss)
      : step_(step, loss),
        rewriter_(step),
        wanted_(step.value_count(), false),
        narrow_(step.value_count(), kNoValue) {
    for (ValueId id : step_.saved()) wanted_[at(id)] = is_worth_it(step[id].type);
  }

  Result<Graph> run() {
    const auto nodes = step_.graph().nodes();
    for (const Node& node : nodes.first(step_.forward())) {
      SHOAL_TRY(rewriter_.copy(node));
      for (ValueId id : node.outputs) {
        if (wanted_[at(id)]) SHOAL_TRY(narrow(id));
      }
    }
    for (const Node& node : nodes.subspan(step_.forward())) {
      for (ValueId id : node.inputs) {
        if (id != kNoValue && narrow_[at(id)] != kNoValue) SHOAL_TRY(widen(id));
      }
      SHOAL_TRY(rewriter_.copy(node));
    }
    return rewriter_.finish();
  }

 private:
  // Scores and statistics take next to no memory, and keep all their digits. 4096 elements are 16
  // kB.
  static bool is_worth_it(const TensorType& type) {
    constexpr int64_t kElements = 4096;
    return type.dtype == DType::kF32 && type.shape.count() >= kElements;
  }

  // Rounding is to nearest, ties to even. Truncation would shrink every activation a little, and
  // gradients with them.
  Status narrow(ValueId id) {
    SHOAL_ASSIGN(narrow_[at(id)],
                 rewriter_.to().add(ops::cast, {rewriter_.map(id)},
                                    {{"to", ops::onnx_number_of(DType::kBF16)},
                                     {ops::kRoundMode, std::string(ops::kNearest)}},
                                    step_.graph()[id].name + ".bf16"));
    return {};
  }

  Status widen(ValueId id) {
    SHOAL_ASSIGN(const ValueId wide, rewriter_.to().add(ops::cast, {narrow_[at(id)]},
                                                        {{"to", ops::onnx_number_of(DType::kF32)}},
                                                        step_.graph()[id].name + ".wide"));
    rewriter_.replace(id, wide);
    narrow_[at(id)] = kNoValue;
    return {};
  }

  const ForwardBackward step_;
  passes::Rewriter rewriter_;
  std::vector<bool> wanted_;     // per value
  std::vector<ValueId> narrow_;  // per value: in the new graph, until it is wide again
};

}  // namespace

Result<Graph> store_bf16(const Graph& step, ValueId loss) { return Narrowing(step, loss).run(); }

}  // namespace shoal::train
