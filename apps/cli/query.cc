// shoal query: an index of what a video may show, made by a cheap network, and answers with few
// calls of an expensive one.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "apps/flags/json.h"
#include "exit_codes.h"
#include "model.h"
#include "preprocess_flags.h"
#include "shoal/fit/scores.h"
#include "shoal/query/ask.h"
#include "shoal/query/classifier.h"
#include "shoal/query/index.h"
#include "shoal/watch/open_source.h"
#include "train/cancel_on_signals.h"

namespace shoal::cli {
namespace {

constexpr const char* kIndexExamples = R"(
Examples:
  shoal query index street.mp4 --model multi.onnx --expensive resnet50.onnx --preset imagenet -o street.index
  shoal query index photos --model squeezenet.onnx --preset imagenet -o photos.index)";
constexpr const char* kAskExamples = R"(
Examples:
  shoal query ask street.index --class 468 --model resnet50.onnx --preset imagenet --json)";

struct QueryFlags {
  ModelFlags model;
  PreprocessFlags preprocess;
  std::string source, output, expensive;
  query::ClusterOptions clusters;
  uint64_t every = 10, frames = 0, k = 2;
  int64_t label = -1;
  bool json = false, exits = true;
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Calls `each` for the frames of a source; all of them if `most` is 0.
Status for_frames(const std::string& name, uint64_t most,
                  const std::function<Status(const watch::Frame&)>& each) {
  const std::atomic<bool>* const cancel = cancel_on_signals();
  SHOAL_ASSIGN(const auto source, watch::open_source(name, {.cancel = cancel}));
  for (uint64_t count = 0; (most == 0 || count < most) && !*cancel; ++count) {
    SHOAL_ASSIGN(const auto frame, source->next());
    if (!frame) break;
    SHOAL_TRY(each(*frame));
  }
  return {};
}

Result<int64_t> best_of(query::Classifier& classifier, const Tensor& image) {
  SHOAL_ASSIGN(const query::ExitScores scores, classifier.scores(image));
  return fit::best_class(scores.back());
}

// Frames that both networks have seen.
Result<std::vector<query::Example>> examples_of(const QueryFlags& flags, query::Classifier& cheap,
                                                query::Classifier& expensive) {
  std::vector<query::Example> examples;
  uint64_t number = 0;
  SHOAL_TRY(for_frames(flags.source, flags.frames, [&](const watch::Frame& frame) -> Status {
    if (number++ % flags.every != 0) return {};
    SHOAL_ASSIGN(query::ExitScores scores, cheap.scores(frame.image));
    SHOAL_ASSIGN(const int64_t label, best_of(expensive, frame.image));
    examples.push_back({std::move(scores), label});
    return {};
  }));
  return examples;
}

// How the index is made, as examples say.
Status calibrate(const QueryFlags& flags, Device& device, const Preprocess& preprocess,
                 query::Classifier& cheap, query::LabelConfig& labels, query::Index& index) {
  SHOAL_ASSIGN(const Model model, open_model_with_warning(flags.expensive));
  SHOAL_ASSIGN(query::Classifier expensive, query::Classifier::open(model, device, preprocess));
  SHOAL_ASSIGN(const auto examples, examples_of(flags, cheap, expensive));
  if (const auto chosen = query::choose_labels(examples, query::LabelChoice::kPrefixes)) {
    labels = chosen->config;
  }
  SHOAL_ASSIGN(index.thresholds, query::thresholds_from(examples));
  return {};
}

// A cluster's features: the scores of the last classifier, at length 1.
std::vector<float> features_of(const std::vector<float>& scores) {
  double sum = 0;
  for (float x : scores) sum += double{x} * x;
  std::vector<float> features = scores;
  for (float& x : features) x = sum > 0 ? static_cast<float>(x / std::sqrt(sum)) : 0;
  return features;
}

Outcome make_index(const QueryFlags& flags) {
  SHOAL_OR_EXIT(const Preprocess preprocess, Exit::kUsage, flags.preprocess.resolve());
  SHOAL_OR_EXIT(const std::unique_ptr<Device> device, Exit::kDevice, make_device(flags.model));
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_model_with_warning(flags.model.model));
  SHOAL_OR_EXIT(query::Classifier cheap, Exit::kModel,
                query::Classifier::open(model, *device, preprocess));
  query::Index index{.source = flags.source};
  query::LabelConfig labels{.k = flags.k, .exits = 100};
  if (!flags.expensive.empty()) {
    const Status status = calibrate(flags, *device, preprocess, cheap, labels, index);
    if (!status.ok()) return fail(Doing::kUseData, status);
  }
  query::Indexer indexer(flags.clusters);
  const Clock::time_point begin = Clock::now();
  const Status status =
      for_frames(flags.source, flags.frames, [&](const watch::Frame& frame) -> Status {
        SHOAL_ASSIGN(const query::ExitScores scores, cheap.scores(frame.image));
        indexer.add(index.frames++, query::labels_of(scores, labels), features_of(scores.back()),
                    query::answers_of(scores));
        index.classes = std::ssize(scores.back());
        return {};
      });
  if (!status.ok()) return fail(Doing::kUseData, status);
  index.clusters = indexer.clusters();
  const Status saved = query::save(index, flags.output);
  if (!saved.ok()) return fail(Exit::kUsage, saved);
  const Json json = {{"frames", index.frames},
                     {"entries", indexer.entries()},
                     {"clusters", index.clusters.size()},
                     {"k", labels.k},
                     {"exits", labels.exits},
                     {"thresholds", index.thresholds},
                     {"seconds", seconds_since(begin)}};
  if (flags.json) std::printf("%s\n", json.dump().c_str());
  return {};
}

// What the expensive network sees in the frames that are needed, each seen once.
Result<std::map<int64_t, int64_t>> see(const query::Index& index, const std::set<int64_t>& needed,
                                       query::Classifier& expensive) {
  std::map<int64_t, int64_t> seen;
  if (needed.empty()) return seen;
  int64_t number = 0;
  const auto most = static_cast<uint64_t>(*needed.rbegin() + 1);
  SHOAL_TRY(for_frames(index.source, most, [&](const watch::Frame& frame) -> Status {
    const int64_t here = number++;
    if (!needed.contains(here)) return {};
    SHOAL_ASSIGN(seen[here], best_of(expensive, frame.image));
    return {};
  }));
  if (seen.size() != needed.size()) return invalid(index.source + " has fewer frames than before");
  return seen;
}

Outcome answer(const QueryFlags& flags) {
  SHOAL_OR_EXIT(const query::Index index, Exit::kUsage, query::load_index(flags.source));
  SHOAL_OR_EXIT(const Preprocess preprocess, Exit::kUsage, flags.preprocess.resolve());
  SHOAL_OR_EXIT(const std::unique_ptr<Device> device, Exit::kDevice, make_device(flags.model));
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_model_with_warning(flags.model.model));
  SHOAL_OR_EXIT(query::Classifier expensive, Exit::kModel,
                query::Classifier::open(model, *device, preprocess));
  const std::vector<double> thresholds = flags.exits ? index.thresholds : std::vector<double>();
  const Clock::time_point begin = Clock::now();
  std::set<int64_t> needed;
  SHOAL_OR_EXIT(auto found, Exit::kUsage,
                query::ask(index, flags.label, thresholds,
                           [&](const query::Cluster& cluster) -> Result<int64_t> {
                             needed.insert(cluster.first);
                             return -1;
                           }));
  const auto seen = see(index, needed, expensive);
  if (!seen.ok()) return fail(Doing::kUseData, seen.status());
  SHOAL_OR_EXIT(found, Exit::kUsage,
                query::ask(index, flags.label, thresholds,
                           [&](const query::Cluster& cluster) -> Result<int64_t> {
                             return seen->at(cluster.first);
                           }));
  if (flags.json) {
    const Json json = {{"class", flags.label},           {"frames", found.frames},
                       {"clusters", found.clusters},     {"calls", needed.size()},
                       {"accepted", found.accepted},     {"rejected", found.rejected},
                       {"seconds", seconds_since(begin)}};
    std::printf("%s\n", json.dump().c_str());
    return {};
  }
  for (const int64_t frame : found.frames) std::printf("%lld\n", static_cast<long long>(frame));
  return {};
}

}  // namespace

void add_query(Command& app, Action& action) {
  Command* all = app.add_subcommand("query", "Index a video, and find the frames with a class");
  all->require_subcommand();
  {
    auto f = std::make_shared<QueryFlags>();
    Command* command = all->add_subcommand("index", "Make an index with a cheap classifier");
    command->footer(kIndexExamples);
    command->add_option("source", f->source, "A video, a folder of images, a URL")->required();
    f->model.model.clear();
    command->add_option("--model", f->model.model, "A classifier, best with exits")->required();
    command->add_option("--output,-o", f->output, "The file of the index")->required();
    command->add_option("--expensive", f->expensive,
                        "A better classifier, which shows how far exits can be trusted");
    command->add_option("--every", f->every, "It sees one of so many frames")
        ->check(in_range(1, 1000000))
        ->capture_default_str();
    command->add_option("--labels", f->k, "Labels of each exit, where --expensive does not choose")
        ->check(in_range(1, 1000))
        ->capture_default_str();
    command->add_option("--distance", f->clusters.distance, "Squared, between frames of a cluster")
        ->check(in_range(0.0, 4.0))
        ->capture_default_str();
    command->add_option("--frames", f->frames, "Only the first N frames; 0: all");
    f->model.add_computing_to(*command);
    f->preprocess.add_to(*command);
    command->add_flag("--json", f->json, "Print one JSON object");
    command->callback([f, &action] { action = [f] { return make_index(*f); }; });
  }
  {
    auto f = std::make_shared<QueryFlags>();
    Command* command = all->add_subcommand("ask", "Find the frames with a class");
    command->footer(kAskExamples);
    command->add_option("index", f->source, "The file of the index")->required();
    command->add_option("--class", f->label, "The class, from 0")->required();
    f->model.model.clear();
    command->add_option("--model", f->model.model, "The expensive classifier")->required();
    command->add_flag("--exits,!--no-exits", f->exits, "Let exits decide where they are sure");
    f->model.add_computing_to(*command);
    f->preprocess.add_to(*command);
    command->add_flag("--json", f->json, "Print one JSON object");
    command->callback([f, &action] { action = [f] { return answer(*f); }; });
  }
}

}  // namespace shoal::cli
