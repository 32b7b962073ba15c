// Evaluation: how well a network does on labelled examples.
//
//   SHOAL_ASSIGN(const auto data, open_dataset("mnist", "idx"));
//   SHOAL_ASSIGN(const fit::Evaluation result, fit::evaluate(session, *data));
//   std::printf("%.2f %%\n", result.top1());
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/engine/session/session.h"
#include "shoal/train/data/dataset.h"

#pragma GCC visibility push(default)

namespace shoal::fit {

// A wrong answer.
struct Mistake {
  size_t example = 0;  // its index in the data set
  int64_t label = 0, answer = 0;
  double probability = 0;  // of the answer
};

// A running sum of answers. A value: no I/O, keeps no examples. Thread-compatible.
class Evaluation {
 public:
  // The most mistakes kept, and the most classes with confusion counts.
  static constexpr size_t kMaxMistakes = 24, kMaxClasses = 4096;

  // Counts one answer. `probabilities`: the scores come from a Softmax. A label that is no class,
  // or has a NaN score, counts as wrong. REQUIRES: scores are not empty, the same number in each
  // call.
  void add(std::span<const float> scores, bool probabilities, int64_t label, size_t example);

  // The number of answers, and of right ones.
  size_t images() const { return images_; }
  size_t correct() const { return correct_; }
  // The number of answers with a NaN score.
  size_t with_nan() const { return with_nan_; }
  // Percent of answers that were right, or whose best five were; 0 if there were no images.
  double top1() const { return percent(correct_); }
  double top5() const { return percent(in_top5_); }
  double loss() const;  // the mean cross-entropy

  // The number of classes.
  size_t classes() const { return classes_; }
  // The number of examples of `label` answered `answer`; 0 above kMaxClasses. REQUIRES: both are
  // less than classes().
  size_t confusions(size_t label, size_t answer) const;
  // Up to kMaxMistakes, those with the highest probability first.
  const std::vector<Mistake>& mistakes() const { return mistakes_; }

 private:
  double percent(size_t count) const;

  size_t images_ = 0, correct_ = 0, with_nan_ = 0, in_top5_ = 0, classes_ = 0;
  double loss_sum_ = 0;
  std::vector<size_t> confusions_;  // [label, answer]
  std::vector<Mistake> mistakes_;
};

// How to evaluate.
struct EvaluationOptions {
  Preprocess preprocess = {};
  size_t limit = 0;  // only the first n examples; 0: all
  size_t batch = 0;  // images per run; 0: what the model declares, or 16 if it takes any
  // Called after each run with the examples done and their number.
  std::function<void(size_t done, size_t total)> progress = {};
  // Set by any thread to end early: the result is that of the examples done. May be null.
  const std::atomic<bool>* cancel = nullptr;

  // The number of examples to evaluate.
  size_t examples_of(const Dataset& data) const {
    return limit > 0 ? std::min(limit, data.size()) : data.size();
  }
};

// Evaluates a model of one input whose first output holds the scores. Another thread reads and
// prepares images meanwhile. kInvalidArgument if model and images do not fit; fails as the data set
// or the session does.
Result<Evaluation> evaluate(Session& session, const Dataset& data,
                            const EvaluationOptions& options = {});

// The share of the examples that a session answers right, in [0, 1]; a failure is that of
// evaluate(). REQUIRES: `data` outlives it.
std::function<Result<double>(Session&)> share_right_of(const Dataset& data,
                                                       EvaluationOptions options);

}  // namespace shoal::fit

#pragma GCC visibility pop
