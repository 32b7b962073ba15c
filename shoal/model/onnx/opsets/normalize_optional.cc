// Optionals hold their tensor from the beginning or not at all, so the operators on them are known
// as soon as a model is bound.
#include "shoal/model/onnx/opsets/normalize.h"

namespace shoal::onnx {
namespace {

using Terms = Result<std::vector<Term>>;

Terms element(Draft draft, int64_t, Emitter&) {
  if (!draft.has(0)) return Status(Code::kUnsupported, "an optional without an element");
  return std::vector{draft.input(0)};
}

Terms has_element(Draft draft, int64_t, Emitter&) {
  return std::vector{Term::of(Tensor::of<bool>({}, {draft.has(0)}))};
}

}  // namespace

std::span<const RewriteEntry> optional_rewrites() {
  static const std::vector<RewriteEntry> table = {
      {"Optional", 15, kEver, element, {"Identity"}},
      {"OptionalGetElement", 15, kEver, element, {"Identity"}},
      {"OptionalHasElement", 15, kEver, has_element, {"Identity"}},
  };
  return table;
}

}  // namespace shoal::onnx
