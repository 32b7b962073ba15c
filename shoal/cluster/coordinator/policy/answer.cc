// Assembly of an answer. Each output keeps the list of boxes that are still missing; a piece fills
// its intersection with them. Redundant plans deliver an element more than once, and copies may
// differ in the last bits: the first copy of each element stays.
#include "shoal/cluster/coordinator/policy/answer.h"

#include <algorithm>

#include "shoal/plan/part.h"

namespace shoal::cluster {

Answer::Answer(const Graph& graph, std::span<const Tensor> inputs)
    : values_(graph.outputs().begin(), graph.outputs().end()), missing_(values_.size()) {
  for (size_t i = 0; i < values_.size(); ++i) {
    const Value& value = graph[values_[i]];
    const auto input = std::ranges::find(graph.inputs(), values_[i]) - graph.inputs().begin();
    if (value.constant) {
      outputs_.push_back(*value.constant);
    } else if (input < std::ssize(graph.inputs())) {
      // A graph may pass an input through. The coordinator has it already, so no worker sends it.
      outputs_.push_back(inputs[static_cast<size_t>(input)]);
    } else {
      outputs_.emplace_back(value.type);
      const Region whole = Region::whole(value.type.shape);
      // An empty tensor is complete from the start: no piece of it ever comes.
      if (!plan::is_empty(whole)) missing_[i] = {whole};
    }
  }
}

void Answer::put(const plan::Piece& piece, const Tensor& elements) {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i] != piece.value) continue;
    std::vector<Region> left;
    for (const Region& box : missing_[i]) {
      const Region news = plan::intersection(box, piece.region);
      if (plan::is_empty(news)) {
        left.push_back(box);
        continue;
      }
      const bool all = news == piece.region;
      paste(all ? elements : crop(elements, plan::relative(news, piece.region)), news, outputs_[i]);
      std::ranges::copy(plan::subtract(box, news), std::back_inserter(left));
    }
    missing_[i] = std::move(left);
  }
}

bool Answer::complete() const {
  return std::ranges::all_of(missing_, [](const auto& boxes) { return boxes.empty(); });
}

bool Answer::awaits(const plan::Piece& piece) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i] != piece.value) continue;
    for (const Region& box : missing_[i]) {
      if (!plan::is_empty(plan::intersection(box, piece.region))) return true;
    }
  }
  return false;
}

}  // namespace shoal::cluster
