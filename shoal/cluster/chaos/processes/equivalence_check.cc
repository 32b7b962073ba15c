#include "shoal/cluster/chaos/processes/equivalence_check.h"

#include <algorithm>

#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/tensor/compare.h"

namespace shoal::chaos {
namespace {

// The tolerance alone would accept a swap of two close scores, which is another answer to the user.
bool has_same_maximum(const Tensor& got, const Tensor& want) {
  if (want.dtype() != DType::kF32 || want.count() == 0) return true;
  const auto g = got.data<float>(), w = want.data<float>();
  return std::ranges::max_element(g) - g.begin() == std::ranges::max_element(w) - w.begin();
}

}  // namespace

bool outputs_match(std::span<const Tensor> got, std::span<const Tensor> want) {
  return relative_error(got, want) <= kSameAnswer &&
         std::ranges::equal(got, want, has_same_maximum);
}

Result<EquivalenceCheck> EquivalenceCheck::make(const Graph& graph, Device& device, uint64_t seed) {
  constexpr int kRequests = 4;
  SHOAL_ASSIGN(const auto executable, device.compile(graph));
  std::mt19937 rng(static_cast<std::mt19937::result_type>(seed));
  EquivalenceCheck check;
  for (int i = 0; i < kRequests; ++i) {
    Request& request = check.requests_.emplace_back();
    request.inputs = random_inputs(graph, rng);
    request.expected.resize(graph.outputs().size());
    SHOAL_TRY(executable->run(request.inputs, request.expected, {}));
  }
  return check;
}

}  // namespace shoal::chaos
