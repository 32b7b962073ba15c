#include "shoal/cluster/training/training_inputs.h"

#include <algorithm>
#include <numeric>

#include "shoal/cluster/messages/running_hash.h"
#include "shoal/cluster/net/hex.h"
#include "shoal/train/run/evaluation/evaluate_graph.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::train_cluster {
namespace {

std::vector<double> without_first(const std::vector<double>& seconds) {
  return {seconds.begin() + (seconds.size() > 1 ? 1 : 0), seconds.end()};
}

}  // namespace

learn::CodecOptions codec_options(const Options& options, learn::CodecKind kind) {
  learn::CodecOptions codec{.kind = kind, .seed = options.fit.seed};
  if (kind == learn::CodecKind::kTopK) codec.momentum = options.fit.optimizer.momentum;
  return codec;
}

std::string sha256_of(const std::map<std::string, Tensor>& learned) {
  cluster::RunningHash hash;
  for (const auto& [name, tensor] : learned) hash.add(tensor.bytes());
  const cluster::Hash digest = hash.finish();
  return net::to_hex(std::as_bytes(std::span(digest)));
}

double median_step(const std::vector<double>& seconds) {
  std::vector<double> sorted = without_first(seconds);
  if (sorted.empty()) return 0;
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2];
}

double mean_step(const std::vector<double>& seconds) {
  const std::vector<double> all = without_first(seconds);
  if (all.empty()) return 0;
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

Result<std::unique_ptr<Setup>> Setup::open(const Options& options) {
  SHOAL_TRY(check(options));
  SHOAL_ASSIGN(fit::TrainingData data, fit::open_training_data(options.fit));
  SHOAL_ASSIGN(Model model, open_model(options.fit.model, {.seed = options.fit.seed}));
  return open(options, std::move(model), std::move(data));
}

Result<std::unique_ptr<Setup>> Setup::open(const Options& options, Model model,
                                           fit::TrainingData data) {
  SHOAL_TRY(check(options));
  SHOAL_ASSIGN(LoadedGraph micro,
               fit::network_to_train(model, options.fit,
                                     static_cast<int64_t>(options.fit.batch) >> options.levels));
  std::unique_ptr<Setup> setup(
      new Setup(options, std::move(model), std::move(data), std::move(micro.graph)));
  if (setup->steps_per_epoch() == 0) return invalid("there are not enough examples for a batch");
  setup->rate_ = fit::schedule_of(options.fit, setup->steps_per_epoch());
  if (options.steps > 0) setup->rate_.total = options.steps;
  setup->rate_.total -= setup->rate_.total % options.local_steps;
  if (setup->rate_.total == 0) return invalid("there are fewer steps than local steps");
  return setup;
}

Setup::Setup(const Options& options, Model model, fit::TrainingData data, Graph network)
    : options_(options),
      model_(std::move(model)),
      data_(std::move(data)),
      network_(std::move(network)),
      batches_(*data_.training, fit::images_for(network_, options.fit.preprocess),
               fit::training_batches(options.fit, fit::classes_of(network_))) {}

learn::ExchangeOptions Setup::exchange(learn::CodecKind codec) const {
  return {codec_options(options_, codec), options_.levels, options_.local_steps, options_.outer};
}

// Where the codec has the momentum, the optimiser has none.
train::TrainerOptions Setup::trainer(learn::CodecKind codec) const {
  train::TrainerOptions trainer = fit::trainer_options(options_.fit);
  if (codec == learn::CodecKind::kTopK) trainer.optimizer.momentum = 0;
  return trainer;
}

Result<const Batch*> Setup::batch_of(int64_t step) {
  // Workers are given the examples of all local steps one after the other.
  const size_t most = 4 + static_cast<size_t>(options_.local_steps);
  if (const auto found = kept_.find(step); found != kept_.end()) return &found->second;
  const auto per_epoch = static_cast<int64_t>(batches_.per_epoch());
  SHOAL_ASSIGN(Batch batch, batches_.at(static_cast<uint64_t>(step / per_epoch),
                                        static_cast<size_t>(step % per_epoch)));
  if (kept_.size() >= most) kept_.erase(kept_.begin());
  return &(kept_[step] = std::move(batch));
}

Result<learn::MicroBatch> Setup::examples(int64_t step, int64_t number) {
  SHOAL_ASSIGN(const Batch* batch, batch_of(step));
  const int64_t count = int64_t{1} << options_.levels;
  return learn::MicroBatch{micro_batch(batch->images, number, count),
                           {micro_batch(batch->labels, number, count)}};
}

Result<fit::Evaluation> Setup::evaluate(Device& device, const Graph& trained, size_t most) const {
  fit::TrainingOptions by_micro = options_.fit;
  by_micro.batch >>= options_.levels;
  std::shared_ptr<const Dataset> examples = data_.held_out;
  if (most > 0 && most < examples->size()) {
    std::vector<size_t> first(most);
    std::iota(first.begin(), first.end(), size_t{0});
    examples = make_subset(examples, std::move(first));
  }
  const Batches held_out(*examples, fit::images_for(network_, options_.fit.preprocess),
                         fit::evaluation_batches(by_micro, fit::classes_of(network_)));
  return fit::evaluate(device, trained, held_out);
}

}  // namespace shoal::train_cluster
