// What all kinds of distributed training open first: model, data, and the batches of every step.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "shoal/cluster/training/train_cluster.h"
#include "shoal/engine/session/model.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/distributed/run/worker_session.h"
#include "shoal/train/run/evaluation/evaluation.h"
#include "shoal/train/run/setup/training_data.h"
#include "shoal/train/step/optimizer/schedule.h"

namespace shoal::train_cluster {

// Not thread-safe.
class Setup {
 public:
  // Fails as check(options), the model and the data do. REQUIRES: the options outlive it.
  static Result<std::unique_ptr<Setup>> open(const Options& options);
  // With an opened model and data.
  static Result<std::unique_ptr<Setup>> open(const Options& options, Model model,
                                             fit::TrainingData data);

  const Model& model() const { return model_; }
  const Graph& network() const { return network_; }  // for a micro-batch
  const train::Schedule& rate() const { return rate_; }
  size_t steps_per_epoch() const { return batches_.per_epoch(); }
  learn::ExchangeOptions exchange(learn::CodecKind codec) const;
  train::TrainerOptions trainer(learn::CodecKind codec) const;

  // A part of a batch. Keeps the last few batches: all workers need parts of one.
  Result<learn::MicroBatch> examples(int64_t step, int64_t number);

  // The loss and accuracy of a trained network() on the held-out examples, or on the first `most`.
  Result<fit::Evaluation> evaluate(Device& device, const Graph& trained, size_t most = 0) const;

 private:
  Setup(const Options& options, Model model, fit::TrainingData data, Graph network);
  Result<const Batch*> batch_of(int64_t step);

  const Options& options_;
  const Model model_;
  const fit::TrainingData data_;
  const Graph network_;
  const Batches batches_;
  train::Schedule rate_;
  std::map<int64_t, Batch> kept_;
};

learn::CodecOptions codec_options(const Options& options, learn::CodecKind kind);
// The median and the mean of the times of steps, without the first; 0 if there are none.
double median_step(const std::vector<double>& seconds);
double mean_step(const std::vector<double>& seconds);

}  // namespace shoal::train_cluster
