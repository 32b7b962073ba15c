// Runner: runs a multi-exit network stage by stage, until each image has a confident exit.
//
//   SHOAL_ASSIGN(const Model model, open_model("multi.onnx"));
//   const auto network = exits::multi_exit_in(model);
//   SHOAL_ASSIGN(const auto runner, exits::Runner::create(*device, network));
//   const double thresholds[] = {0.9, 0.95};
//   SHOAL_ASSIGN(const auto answers, runner.run(images, thresholds));
//
// Answered images leave the batch; nothing is computed twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/exits/network/multi_exit.h"
#include "shoal/shrink/exits/thresholds/thresholds.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/run/evaluation/evaluation.h"

#pragma GCC visibility push(default)

namespace shoal::exits {

// The answer to one image.
struct Answer {
  size_t exit = 0;                 // index from 0; the last classifier comes after all exits
  int64_t best = 0;                // the class with the highest score
  double probability = 0;          // of that class
  std::vector<float> scores = {};  // as the exit gave them
};

// What one image needs: the first exit that is this confident, or at the latest exit `last`.
struct ExitWish {
  double confidence = kNever;                        // a probability; kNever: no exit is
  size_t last = std::numeric_limits<size_t>::max();  // exit to run; beyond the last classifier: it
};

// A batch on its way through the network. A value: copies are independent.
struct Progress {
  size_t next = 0;                          // the stage that runs next
  size_t images = 0;                        // in the batch
  std::map<std::string, Tensor> live = {};  // what later stages read, by the network's names
};

// Thread-safe, except moves. Stages are compiled for batches of 1, 2, 4, 8 ... images when first
// needed; other batches are split into these, without padding.
class Runner {
 public:
  // Fails as `network` and stages_of do; kUnsupported if stages depend on the batch size other than
  // by types. REQUIRES: `device` outlives the runner, and so does what `network` refers to.
  static Result<Runner> create(Device& device, MultiExitForBatch network);
  // For one image at a time: the exits of the network may give any [1, n]. run() still needs
  // scores.
  static Result<Runner> create(Device& device, MultiExit network);

  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;
  ~Runner();

  // The exits as the network names them, without the last classifier.
  const std::vector<Exit>& exits() const;
  // The name of the network's input, and its type for one image.
  const std::string& input() const;
  const TensorType& input_type() const;
  // Multiply-accumulates of each stage for one image: one stage per exit, and the last.
  const std::vector<int64_t>& stage_macs() const;

  // Images [n, ...] before the first stage. kInvalidArgument if they do not fit the network.
  Result<Progress> start(const Tensor& images) const;
  // Runs the next stage: the scores [n, classes] of its exit. Fails as the device does. REQUIRES:
  // there is a stage left.
  Result<Tensor> advance(Progress& progress) const;

  // Answers each image of [n, ...], in order: by the first exit whose probability reaches its
  // threshold, else by the last classifier. Equal, bit by bit, to one image at a time on a device
  // whose results do not depend on the batch. Fails as above. REQUIRES: as many thresholds as
  // exits().
  Result<std::vector<Answer>> run(const Tensor& images, std::span<const double> thresholds) const;
  // The same with a wish per image: what several need is computed together, and those that need
  // more go on [Huynh 2019, 5]. REQUIRES: a wish for each image.
  Result<std::vector<Answer>> run(const Tensor& images, std::span<const ExitWish> wishes) const;

 private:
  class State;
  // Whether image number `image` accepts an answer.
  using Takes = std::function<bool(size_t image, const Answer& answer)>;
  Result<std::vector<Answer>> run_until(const Tensor& images, const Takes& takes) const;
  explicit Runner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The answers that were given, each by the first exit that was confident.
struct ExitsEvaluation {
  fit::Evaluation answers;
  Figures figures;
};

// Evaluates as the runner serves: later stages do not run. kInvalidArgument if network and images
// do not fit; fails as data set and runner do. REQUIRES: as many thresholds as runner.exits().
Result<ExitsEvaluation> evaluate(const Runner& runner, std::span<const double> thresholds,
                                 const Dataset& data, const fit::EvaluationOptions& options = {});

}  // namespace shoal::exits

#pragma GCC visibility pop
