#include "shoal/video/query/video_query.h"

#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "shoal/engine/run/scores.h"
#include "shoal/video/watch/frames/open_source.h"

namespace shoal::query {
namespace {

// Calls `each` for the frames of a source; all of them if `most` is 0.
Status for_frames(const std::string& name, uint64_t most, const std::atomic<bool>* cancel,
                  const std::function<Status(const watch::Frame&)>& each) {
  SHOAL_ASSIGN(const auto source, watch::open_source(name, {.cancel = cancel}));
  for (uint64_t count = 0; most == 0 || count < most; ++count) {
    if (cancel != nullptr && *cancel) break;
    SHOAL_ASSIGN(const auto frame, source->next());
    if (!frame) break;
    SHOAL_TRY(each(*frame));
  }
  return {};
}

Result<int64_t> best_of(Classifier& classifier, const Tensor& image) {
  SHOAL_ASSIGN(const ExitScores scores, classifier.scores(image));
  return fit::best_class(scores.back());
}

// Frames that both networks have seen.
Result<std::vector<Example>> examples_of(const VideoIndexOptions& options, Classifier& cheap,
                                         Classifier& expensive) {
  std::vector<Example> examples;
  uint64_t number = 0;
  SHOAL_TRY(for_frames(options.source, options.frames, options.cancel,
                       [&](const watch::Frame& frame) -> Status {
                         if (number++ % options.every != 0) return {};
                         SHOAL_ASSIGN(ExitScores scores, cheap.scores(frame.image));
                         SHOAL_ASSIGN(const int64_t label, best_of(expensive, frame.image));
                         examples.push_back({std::move(scores), label});
                         return {};
                       }));
  return examples;
}

// A cluster's features: the scores of the last classifier, at length 1.
std::vector<float> features_of(const std::vector<float>& scores) {
  double sum = 0;
  for (float x : scores) sum += double{x} * x;
  std::vector<float> features = scores;
  for (float& x : features) x = sum > 0 ? static_cast<float>(x / std::sqrt(sum)) : 0;
  return features;
}

// What the expensive network sees in the frames that are needed, each seen once.
Result<std::map<int64_t, int64_t>> see(const Index& index, const std::set<int64_t>& needed,
                                       Classifier& expensive, const std::atomic<bool>* cancel) {
  std::map<int64_t, int64_t> seen;
  if (needed.empty()) return seen;
  int64_t number = 0;
  const auto most = static_cast<uint64_t>(*needed.rbegin() + 1);
  SHOAL_TRY(for_frames(index.source, most, cancel, [&](const watch::Frame& frame) -> Status {
    const int64_t here = number++;
    if (!needed.contains(here)) return {};
    SHOAL_ASSIGN(seen[here], best_of(expensive, frame.image));
    return {};
  }));
  if (seen.size() != needed.size()) return invalid(index.source + " has fewer frames than before");
  return seen;
}

}  // namespace

Result<VideoIndex> index_video(Classifier& cheap, Classifier* expensive,
                               const VideoIndexOptions& options) {
  using Clock = std::chrono::steady_clock;
  VideoIndex made{.index = {.source = options.source}, .labels = {.k = options.k, .exits = 100}};
  Index& index = made.index;
  if (expensive != nullptr) {
    SHOAL_ASSIGN(const auto examples, examples_of(options, cheap, *expensive));
    if (const auto chosen = choose_labels(examples, LabelChoice::kPrefixes)) {
      made.labels = chosen->config;
    }
    SHOAL_ASSIGN(index.thresholds, thresholds_from(examples));
  }
  const Clock::time_point begin = Clock::now();
  Indexer indexer(options.clusters);
  SHOAL_TRY(for_frames(options.source, options.frames, options.cancel,
                       [&](const watch::Frame& frame) -> Status {
                         SHOAL_ASSIGN(const ExitScores scores, cheap.scores(frame.image));
                         indexer.add(index.frames++, labels_of(scores, made.labels),
                                     features_of(scores.back()), answers_of(scores));
                         index.classes = std::ssize(scores.back());
                         return {};
                       }));
  index.clusters = indexer.clusters();
  made.entries = indexer.entries();
  made.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return made;
}

Result<AskResult> ask_video(const Index& index, int64_t label, std::span<const double> thresholds,
                            Classifier& expensive, const std::atomic<bool>* cancel) {
  std::set<int64_t> needed;
  SHOAL_TRY(ask(index, label, thresholds, [&](const Cluster& cluster) -> Result<int64_t> {
              needed.insert(cluster.first);
              return -1;
            }).status());
  SHOAL_ASSIGN(const auto seen, see(index, needed, expensive, cancel));
  SHOAL_ASSIGN(AskResult found,
               ask(index, label, thresholds, [&](const Cluster& cluster) -> Result<int64_t> {
                 return seen.at(cluster.first);
               }));
  found.calls = needed.size();
  return found;
}

}  // namespace shoal::query
