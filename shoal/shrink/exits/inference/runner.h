// Runner: answers with a multi-exit network. Stage after stage runs until each image has an exit
// that is confident.
//
//   SHOAL_ASSIGN(const Model model, open_model("multi.onnx"));
//   const auto network = exits::multi_exit_in(model);
//   SHOAL_ASSIGN(const auto runner, exits::Runner::create(*device, network));
//   const double thresholds[] = {0.9, 0.95};
//   SHOAL_ASSIGN(const auto answers, runner.run(images, thresholds));
//
// Images that have their answer leave the batch; the rest goes on without them. What stages before
// have computed is never computed again.
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

#pragma GCC visibility push(default)

namespace shoal::exits {

// The answer to one image.
struct Answer {
  size_t exit = 0;                 // which gave it: from 0, the last classifier after all exits
  int64_t best = 0;                // the class with the highest score
  double probability = 0;          // of that class
  std::vector<float> scores = {};  // as the exit gave them
};

// What one image's answer is to be: the first exit that is this sure of it, or the one after which
// nobody waits any longer. The last classifier comes after all exits.
struct ExitWish {
  double confidence = kNever;                        // a probability; kNever: no exit is
  size_t last = std::numeric_limits<size_t>::max();  // exit to run; beyond the last classifier: it
};

// Images on their way through the network. A value: a copy goes on independently.
struct Progress {
  size_t next = 0;                          // the stage that runs next
  size_t images = 0;                        // in the batch
  std::map<std::string, Tensor> live = {};  // what later stages read, by the network's names
};

// Thread-safe, but for moving. Stages are compiled for batches of 1, 2, 4, 8 ... images when they
// are first needed; a batch of another size runs as a sum of such, so that no image is padding.
class Runner {
 public:
  // Fails as `network` and stages_of do; kUnsupported if stages depend on the size of the batch
  // other than by types. REQUIRES: `device` outlives the runner, and so does what `network` refers
  // to.
  static Result<Runner> create(Device& device, MultiExitForBatch network);
  // The same for one image at a time only: for networks of one batch, whose exits may give anything
  // [1, n] instead of scores. run() then needs scores.
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

  // Images [n, ...] before the first stage. kInvalidArgument if they are none for this network.
  Result<Progress> start(const Tensor& images) const;
  // Runs the next stage: the scores [n, classes] of its exit. Fails as the device does. REQUIRES:
  // there is a stage left.
  Result<Tensor> advance(Progress& progress) const;

  // Answers each image of [n, ...], in their order: by the first exit whose probability reaches its
  // threshold, else by the last classifier. Bit by bit the answers of one image at a time, on a
  // device that computes an image of a batch as it computes it alone. Fails as above. REQUIRES: as
  // many thresholds as exits().
  Result<std::vector<Answer>> run(const Tensor& images, std::span<const double> thresholds) const;
  // The same by the wishes of each image: what several need is computed for all of them together,
  // and those that wish for more go on from there [Huynh 2019, 5]. REQUIRES: a wish for each image.
  Result<std::vector<Answer>> run(const Tensor& images, std::span<const ExitWish> wishes) const;

 private:
  class State;
  // Whether an image, by its number, takes an answer.
  using Takes = std::function<bool(size_t image, const Answer& answer)>;
  Result<std::vector<Answer>> run_until(const Tensor& images, const Takes& takes) const;
  explicit Runner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shoal::exits

#pragma GCC visibility pop
