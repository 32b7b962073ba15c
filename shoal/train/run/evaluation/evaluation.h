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

// The sum of the answers seen so far. A value: it does no I/O and keeps no examples.
// Thread-compatible.
class Evaluation {
 public:
  // Mistakes that are kept, and classes up to which confusions are counted.
  static constexpr size_t kMaxMistakes = 24, kMaxClasses = 4096;

  // Counts one answer. `probabilities` says that the scores are behind a Softmax. A label that is
  // no class, or whose score is NaN, counts as a wrong answer. REQUIRES: scores are not empty, and
  // as many in each call.
  void add(std::span<const float> scores, bool probabilities, int64_t label, size_t example);

  // How many answers were counted, and how many were right.
  size_t images() const { return images_; }
  size_t correct() const { return correct_; }
  // How many answers had a score that is NaN.
  size_t with_nan() const { return with_nan_; }
  // Percent of answers that were right, or whose best five were; 0 if there were no images.
  double top1() const { return percent(correct_); }
  double top5() const { return percent(in_top5_); }
  double loss() const;  // the mean cross-entropy

  // How many classes the scores were of.
  size_t classes() const { return classes_; }
  // How many examples of a label got an answer. 0 where there are more than kMaxClasses. REQUIRES:
  // label and answer are less than classes().
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

  // How many examples of a data set that is.
  size_t examples_of(const Dataset& data) const {
    return limit > 0 ? std::min(limit, data.size()) : data.size();
  }
};

// Evaluates a model of one input, whose first output holds the scores of classes. Images are read
// and prepared on another thread while the model runs. Fails with kInvalidArgument if model and
// images do not fit, or as the data set or the session does.
Result<Evaluation> evaluate(Session& session, const Dataset& data,
                            const EvaluationOptions& options = {});

// The share of the examples that a session answers right, in [0, 1]; a failure is that of
// evaluate(). REQUIRES: `data` outlives it.
std::function<Result<double>(Session&)> share_right_of(const Dataset& data,
                                                       EvaluationOptions options);

}  // namespace shoal::fit

#pragma GCC visibility pop
