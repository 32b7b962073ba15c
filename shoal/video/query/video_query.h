// Queries about a video: an index made by a cheap classifier, and the frames that show a class,
// with few runs of an expensive classifier [Huynh 2019, 5].
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/engine/session/model.h"
#include "shoal/engine/session/session.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/shrink/exits/inference/runner.h"
#include "shoal/shrink/exits/thresholds/thresholds.h"
#include "shoal/video/query/index.h"

#pragma GCC visibility push(default)

namespace shoal::query {

// Thread-compatible.
class Classifier {
 public:
  // A model with exits (shrink/exits/network/multi_exit.h) or without. Fails as Runner::create()
  // and Model::session() do, and with kInvalidArgument for a model of several inputs or outputs.
  // REQUIRES: `model` and `device` outlive the classifier.
  static Result<Classifier> open(const Model& model, Device& device, const Preprocess& preprocess);

  // The scores of an image, u8 [h, w, c], at each exit, the last classifier's last.
  Result<ExitScores> scores(const Tensor& image);

 private:
  Classifier(TensorInfo input, Preprocess preprocess)
      : input_(std::move(input)), preprocess_(std::move(preprocess)) {}

  TensorInfo input_;
  Preprocess preprocess_;
  std::optional<exits::Runner> runner_;  // of a model with exits
  std::optional<Session> session_;       // of one without
};

// Ask: the frames of an index that show a class, with few runs of an expensive network.
//
//   for each cluster of the class:                                            [Huynh 2019, 5]
//     for exit j: if the probability of its best class reaches tau[j]:
//                   the cluster is taken iff that is the class; next cluster
//     else it is taken iff the expensive network sees the class in its first object
//
// Thresholds tau are learned from examples that the expensive network has seen: the lowest that
// show, at some risk, the wanted share of right answers (shrink/exits/thresholds/thresholds.h). An
// exit without one stays off. Exit answers are in the index, so a query never takes more calls than
// without exits.

// Learns the thresholds. Fails as exits::thresholds_for_precision() does.
Result<std::vector<double>> thresholds_from(std::span<const Example> examples,
                                            const exits::WantedPrecision& wanted = {.shares = 20});

// The expensive network's class for the first object of a cluster.
using ExpensiveFunction = std::function<Result<int64_t>(const Cluster& cluster)>;

// The answer.
struct AskResult {
  std::vector<int64_t> frames = {};   // ascending, each once
  size_t clusters = 0;                // of the class
  size_t calls = 0;                   // of the expensive network
  size_t accepted = 0, rejected = 0;  // by exits alone
};

// The frames that show the class, with these thresholds of exits; those that are missing are never
// reached. Fails as `expensive` does.
Result<AskResult> ask(const Index& index, int64_t label, std::span<const double> thresholds,
                      const ExpensiveFunction& expensive);

// How many calls ask() will take.
size_t calls_needed(const Index& index, int64_t label, std::span<const double> thresholds);

// Precision and recall of frames against the true ones, both ascending; 1 if there is nothing to
// find or nothing was found.
struct Retrieval {
  double precision = 1, recall = 1;
};
// See above.
Retrieval retrieval(std::span<const int64_t> found, std::span<const int64_t> truth);

// How a video is indexed. A value.
struct VideoIndexOptions {
  std::string source = {};       // as watch::open_source() takes it
  uint64_t frames = 0;           // only the first n; 0: all
  uint64_t every = 10;           // the expensive classifier sees every n-th frame
  size_t k = 2;                  // labels of each exit, where no expensive classifier chooses
  ClusterOptions clusters = {};  // how alike frames of a cluster are
  const std::atomic<bool>* cancel = nullptr;  // ends it with the frames so far; null: never
};

// An index, and how it was made.
struct VideoIndex {
  Index index;
  LabelConfig labels;
  size_t entries = 0;  // as Indexer::entries()
  double seconds = 0;  // without those of the expensive classifier
};

// Indexes all frames. With an expensive classifier, frames that both have seen determine the labels
// in the index and the thresholds of exits. Fails as watch::open_source() and the classifiers do.
Result<VideoIndex> index_video(Classifier& cheap, Classifier* expensive,
                               const VideoIndexOptions& options);

// The frames that show a class. The expensive classifier runs once on each needed frame, in video
// order: these are the calls of the answer. Fails as watch::open_source() and the classifier do;
// kInvalidArgument if the video has fewer frames than the index.
Result<AskResult> ask_video(const Index& index, int64_t label, std::span<const double> thresholds,
                            Classifier& expensive, const std::atomic<bool>* cancel = nullptr);

}  // namespace shoal::query

#pragma GCC visibility pop
