#include "shoal/video/query/video_query.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "shoal/engine/run/scores.h"
#include "shoal/video/watch/frames/open_source.h"

namespace shoal::query {
namespace {

// What exits decide about a cluster; nullopt if they do not.
std::optional<bool> decision(const Cluster& cluster, std::span<const double> thresholds) {
  for (size_t j = 0; j < std::min(thresholds.size(), cluster.exits.size()); ++j) {
    if (cluster.exits[j].probability >= thresholds[j]) {
      return cluster.exits[j].label == cluster.label;
    }
  }
  return {};
}

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

Result<Classifier> Classifier::open(const Model& model, Device& device,
                                    const Preprocess& preprocess) {
  SHOAL_ASSIGN(const std::vector<TensorInfo> inputs, model.inputs());
  if (inputs.size() != 1 || !inputs[0].dims) return invalid("a classifier takes one image");
  Classifier classifier(inputs[0], preprocess);
  SHOAL_ASSIGN(const std::vector<exits::Exit> exits, exits::exits_in(model.properties()));
  if (exits.empty()) {
    SHOAL_ASSIGN(Session session, model.session(device));
    if (session.outputs().size() != 1) return invalid("a classifier has one output");
    classifier.session_.emplace(std::move(session));
    return classifier;
  }
  SHOAL_ASSIGN(exits::Runner runner, exits::Runner::create(device, exits::multi_exit_in(model)));
  classifier.runner_.emplace(std::move(runner));
  return classifier;
}

Result<ExitScores> Classifier::scores(const Tensor& image) {
  SHOAL_ASSIGN(const Tensor input, image_for_input(image, *input_.dims, preprocess_));
  ExitScores all;
  const auto add = [&](const Tensor& row) -> Status {
    if (row.dtype() != DType::kF32) return invalid("scores are f32");
    const auto elements = row.data<float>();
    all.emplace_back(elements.begin(), elements.end());
    return {};
  };
  if (session_) {
    Tensor row;
    SHOAL_TRY(session_->run(std::span(&input, 1), std::span(&row, 1)));
    SHOAL_TRY(add(row));
    return all;
  }
  SHOAL_ASSIGN(exits::Progress progress, runner_->start(input));
  while (progress.next < runner_->stage_macs().size()) {
    SHOAL_ASSIGN(const Tensor row, runner_->advance(progress));
    SHOAL_TRY(add(row));
  }
  return all;
}

Result<std::vector<double>> thresholds_from(std::span<const Example> examples,
                                            const exits::WantedPrecision& wanted) {
  exits::Verdicts verdicts;
  const size_t count = examples.empty() ? 0 : examples[0].scores.size();
  verdicts.exits.resize(count + 1);
  for (const Example& example : examples) {
    const std::vector<ExitAnswer> answers = answers_of(example.scores);
    if (answers.size() != count) return invalid("examples have different exits");
    for (size_t j = 0; j < count; ++j) {
      verdicts.exits[j].push_back({answers[j].probability, answers[j].label == example.label});
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
  const auto needed = std::ranges::count_if(index.clusters, [&](const Cluster& cluster) {
    return cluster.label == label && !decision(cluster, thresholds).has_value();
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

Result<VideoIndex> index_video(Classifier& cheap, Classifier* expensive,
                               const VideoIndexOptions& options) {
  using Clock = std::chrono::steady_clock;
  VideoIndex video_index{.index = {.source = options.source},
                         .labels = {.k = options.k, .exits = 100}};
  Index& index = video_index.index;
  if (expensive != nullptr) {
    SHOAL_ASSIGN(const auto examples, examples_of(options, cheap, *expensive));
    if (const auto chosen = choose_labels(examples, LabelChoice::kPrefixes)) {
      video_index.labels = chosen->config;
    }
    SHOAL_ASSIGN(index.thresholds, thresholds_from(examples));
  }
  const Clock::time_point begin = Clock::now();
  Indexer indexer(options.clusters);
  SHOAL_TRY(for_frames(options.source, options.frames, options.cancel,
                       [&](const watch::Frame& frame) -> Status {
                         SHOAL_ASSIGN(const ExitScores scores, cheap.scores(frame.image));
                         indexer.add(index.frames++, labels_of(scores, video_index.labels),
                                     features_of(scores.back()), answers_of(scores));
                         index.classes = std::ssize(scores.back());
                         return {};
                       }));
  index.clusters = indexer.clusters();
  video_index.entries = indexer.entries();
  video_index.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return video_index;
}

Result<AskResult> ask_video(const Index& index, int64_t label, std::span<const double> thresholds,
                            Classifier& expensive, const std::atomic<bool>* cancel) {
  std::set<int64_t> needed;
  SHOAL_TRY(ask(index, label, thresholds, [&](const Cluster& cluster) -> Result<int64_t> {
              needed.insert(cluster.first);
              return -1;
            }).status());
  SHOAL_ASSIGN(const auto seen, see(index, needed, expensive, cancel));
  SHOAL_ASSIGN(AskResult ask_result,
               ask(index, label, thresholds, [&](const Cluster& cluster) -> Result<int64_t> {
                 return seen.at(cluster.first);
               }));
  ask_result.calls = needed.size();
  return ask_result;
}

}  // namespace shoal::query
