#include "shoal/video/query/ask.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace shoal::query {
namespace {

// What exits decide about a cluster; nothing: they do not.
std::optional<bool> decision(const Cluster& cluster, std::span<const double> thresholds) {
  for (size_t j = 0; j < std::min(thresholds.size(), cluster.exits.size()); ++j) {
    if (cluster.exits[j].probability >= thresholds[j]) {
      return cluster.exits[j].label == cluster.label;
    }
  }
  return {};
}

}  // namespace

Result<std::vector<double>> thresholds_from(std::span<const Example> examples,
                                            const exits::WantedPrecision& wanted) {
  exits::Verdicts verdicts;
  const size_t count = examples.empty() ? 0 : examples[0].scores.size();
  verdicts.exits.resize(count + 1);
  for (const Example& one : examples) {
    const std::vector<ExitAnswer> answers = answers_of(one.scores);
    if (answers.size() != count) return invalid("examples have different exits");
    for (size_t j = 0; j < count; ++j) {
      verdicts.exits[j].push_back({answers[j].probability, answers[j].label == one.label});
    }
    verdicts.exits[count].push_back({1, true});  // the expensive network
  }
  return exits::thresholds_for_precision(verdicts, wanted);
}

Result<AskResult> ask(const Index& index, int64_t label, std::span<const double> thresholds,
                      const ExpensiveFunction& expensive) {
  AskResult result;
  for (const Cluster& cluster : index.clusters) {
    if (cluster.label != label) continue;
    ++result.clusters;
    std::optional<bool> taken = decision(cluster, thresholds);
    if (taken) {
      ++(*taken ? result.accepted : result.rejected);
    } else {
      SHOAL_ASSIGN(const int64_t seen, expensive(cluster));
      ++result.calls;
      taken = seen == label;
    }
    if (!*taken) continue;
    result.frames.insert(result.frames.end(), cluster.frames.begin(), cluster.frames.end());
  }
  std::ranges::sort(result.frames);
  const auto end = std::unique(result.frames.begin(), result.frames.end());
  result.frames.erase(end, result.frames.end());
  return result;
}

size_t calls_needed(const Index& index, int64_t label, std::span<const double> thresholds) {
  const auto needed = std::ranges::count_if(index.clusters, [&](const Cluster& one) {
    return one.label == label && !decision(one, thresholds).has_value();
  });
  return static_cast<size_t>(needed);
}

Retrieval retrieval(std::span<const int64_t> found, std::span<const int64_t> truth) {
  std::vector<int64_t> both;
  std::set_intersection(found.begin(), found.end(), truth.begin(), truth.end(),
                        std::back_inserter(both));
  const auto share = [&](size_t whole) {
    return whole == 0 ? 1.0 : static_cast<double>(both.size()) / static_cast<double>(whole);
  };
  return {.precision = share(found.size()), .recall = share(truth.size())};
}

}  // namespace shoal::query
