#include "shoal/shrink/prune/decision/decision_methods.h"

namespace shoal::shrink {
namespace {

struct Entry {
  Importance importance;
  Result<Decided> (*decide)(const Means& means);
};

constexpr Entry kMethods[] = {
    {Importance::kLasso, learn_sparsely}, {Importance::kHoyer, learn_sparsely},
    {Importance::kDpruner, learn_masks},  {Importance::kDepth, choose_blocks},
    {Importance::kSvd, factorise_layers}, {Importance::kTucker, factorise_layers}};

}  // namespace

Result<Decided> decide_by_method(const Means& means) {
  for (const Entry& entry : kMethods) {
    if (entry.importance == means.options.importance) return entry.decide(means);
  }
  Decided decided;
  SHOAL_ASSIGN(decided.decision, decide(means.device, means.network, *means.data.held_out,
                                        means.options, means.table));
  return decided;
}

}  // namespace shoal::shrink
