#include "shoal/train/step/graph/forward_backward.h"

#include <algorithm>
#include <set>

namespace shoal::train {

// The constructor visits the forward pass only, so that values of the backward pass have no maker
// and are never repeated.
ForwardBackward::ForwardBackward(const Graph& step, ValueId loss)
    : step_(step), maker_(step.value_count(), kNobody), is_output_(step.value_count(), false) {
  for (ValueId id : step.outputs()) is_output_[at(id)] = true;
  for (size_t n = 0; n < step.nodes().size() && forward_ == 0; ++n) {
    for (ValueId id : step.nodes()[n].outputs) {
      maker_[at(id)] = n;
      if (id == loss) forward_ = n + 1;
    }
  }
  find_saved();
}

// The set removes duplicates. The order of the nodes matters to the search for what to recompute,
// which drops runs of consecutive values.
void ForwardBackward::find_saved() {
  std::set<ValueId> read;
  for (const Node& node : step_.nodes().subspan(forward_)) {
    for (ValueId id : node.inputs) {
      if (can_be_repeated(id)) read.insert(id);
    }
  }
  saved_.assign(read.begin(), read.end());
  std::ranges::sort(saved_, {}, [&](ValueId id) { return maker_index(id); });
}

}  // namespace shoal::train
