#include "shoal/engine/delta/kept_values.h"

#include <span>
#include <utility>

#include "shoal/base/round_up.h"

namespace shoal::delta {
namespace {

size_t place_of(size_t bytes) {
  return static_cast<size_t>(round_up(static_cast<int64_t>(bytes), kHostAlignment));
}

}  // namespace

void KeptValues::bind(ValueId id, const Tensor& tensor) {
  SHOAL_CHECK(tensor.type() == at(id).type());
  at(id) = tensor;
  for (size_t i = 0; i < ids_.size(); ++i) {
    if (ids_[i] == id) frame_->tensors[i] = tensor;
  }
}

cpu::KernelArgs KeptValues::args_of(const cpu::CpuExecutable::Step& step) {
  const std::span<Tensor> tensors(frame_->tensors);
  return {tensors.subspan(step.first, step.inputs),
          tensors.subspan(step.first + step.inputs, step.outputs), frame_->scratch.get(),
          *step.pool};
}

Result<KeptValues> keep_values(const cpu::CpuExecutable& executable) {
  const Graph& graph = executable.graph();
  size_t bytes = 0;
  for (size_t v = 0; v < graph.value_count(); ++v) {
    const auto& one = graph[static_cast<ValueId>(v)];
    if (!one.constant) bytes += place_of(one.type.bytes());
  }
  KeptValues kept;
  SHOAL_ASSIGN(kept.frame_, cpu::make_frame(bytes, executable.scratch_bytes()));
  size_t at = 0;
  for (size_t v = 0; v < graph.value_count(); ++v) {
    const auto& one = graph[static_cast<ValueId>(v)];
    if (one.constant) {
      kept.values_.push_back(executable.constants()[v]);
      continue;
    }
    kept.values_.push_back(Tensor::view(one.type, kept.frame_->arena.get() + at, nullptr));
    at += place_of(one.type.bytes());
  }
  for (const Node& node : graph.nodes()) {
    for (const auto* ids : {&node.inputs, &node.outputs}) {
      for (const ValueId id : *ids) {
        kept.ids_.push_back(id);
        kept.frame_->tensors.push_back(id == kNoValue ? Tensor() : kept.at(id));
      }
    }
  }
  return kept;
}

}  // namespace shoal::delta
