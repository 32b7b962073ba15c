#include "shoal/video/query/labels.h"

#include <algorithm>

#include "shoal/engine/run/scores.h"

namespace shoal::query {

std::vector<int64_t> labels_of(const ExitScores& scores, const LabelConfig& config) {
  std::vector<int64_t> labels;
  for (size_t j = config.first; j < std::min(config.first + config.exits, scores.size()); ++j) {
    for (const fit::RankedClass& one : fit::top_classes(scores[j], config.k)) {
      labels.push_back(static_cast<int64_t>(one.index));
    }
  }
  std::ranges::sort(labels);
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return labels;
}

LabelFigures figures_of(std::span<const Example> examples, const LabelConfig& config) {
  LabelFigures figures{.config = config};
  size_t found = 0;
  for (const Example& one : examples) {
    const std::vector<int64_t> labels = labels_of(one.scores, config);
    figures.entries += labels.size();
    found += std::ranges::binary_search(labels, one.label) ? 1 : 0;
  }
  if (!examples.empty()) {
    figures.recall = static_cast<double>(found) / static_cast<double>(examples.size());
  }
  return figures;
}

std::optional<LabelFigures> choose_labels(std::span<const Example> examples, LabelChoice choice,
                                          double recall, size_t most_k) {
  std::optional<LabelFigures> best;
  if (examples.empty()) return best;
  const size_t exits = examples[0].scores.size();
  for (size_t j = 0; j < exits; ++j) {
    for (size_t k = 1; k <= most_k; ++k) {
      const LabelConfig config = choice == LabelChoice::kPrefixes
                                     ? LabelConfig{.k = k, .first = 0, .exits = j + 1}
                                     : LabelConfig{.k = k, .first = j, .exits = 1};
      const LabelFigures figures = figures_of(examples, config);
      if (figures.recall < recall || (best && figures.entries >= best->entries)) continue;
      best = figures;
    }
  }
  return best;
}

}  // namespace shoal::query
