// Steps that do not wait for stragglers, in virtual time: eight workers train, of which another one
// takes ten times as long in each step (goal B12). One JSON line with the mean time of a step and
// what was learned, beside the same without a straggler.
//
//   bench_training_stragglers MODEL DATA FORMAT CODEC STEPS [SEED]
#include <cstdio>
#include <cstdlib>
#include <string>

#include "shoal/cluster/chaos/training/simulated_training.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/run/evaluation/evaluate_graph.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal {
namespace {

constexpr int kWorkers = 8, kLevels = 5;
constexpr int64_t kBatch = 128, kMicro = kBatch >> kLevels;
constexpr double kSlack = 1.05, kSlower = 10;
constexpr std::chrono::milliseconds kComputing{100};  // of a micro-batch

struct Arguments {
  std::string model, data, format;
  learn::CodecKind codec = learn::CodecKind::kF32;
  int64_t steps = 0;
  uint64_t seed = 1;
};

struct Learned {
  double step_ms = 0, top1 = 0, loss = 0;
};

Tensor part_of(const Tensor& whole, int64_t number) {
  Region region = Region::whole(whole.shape());
  region.begin[0] = number * kMicro;
  region.end[0] = region.begin[0] + kMicro;
  return crop(whole, region);
}

Result<double> top1_of(Device& device, const Graph& network, const Arguments& arguments) {
  SHOAL_ASSIGN(const auto data, open_dataset(arguments.data, arguments.format, Split::kHeldOut));
  const Batches batches(*data, fit::images_for(network, {}), {.batch = size_t{kMicro}});
  SHOAL_ASSIGN(const fit::Evaluation result, fit::evaluate(device, network, batches));
  return result.top1();
}

Result<Learned> train(Device& device, const Arguments& arguments, double straggler) {
  SHOAL_ASSIGN(Graph network,
               zoo::build(arguments.model, {.seed = arguments.seed, .batch = kMicro}));
  SHOAL_ASSIGN(const auto data, open_dataset(arguments.data, arguments.format, Split::kTraining));
  const Batches batches(*data, fit::images_for(network, {}),
                        {.batch = size_t{kBatch}, .seed = arguments.seed, .shuffle = true});
  int64_t kept = -1;
  Batch batch;
  const auto source = [&](int64_t step, int64_t number) -> Result<learn::MicroBatch> {
    const auto per_epoch = static_cast<int64_t>(batches.per_epoch());
    if (kept != step) {
      SHOAL_ASSIGN(batch, batches.at(static_cast<uint64_t>(step / per_epoch),
                                     static_cast<size_t>(step % per_epoch)));
      kept = step;
    }
    return learn::MicroBatch{part_of(batch.images, number), {part_of(batch.labels, number)}};
  };
  chaos::TrainingTask task;
  task.network = std::move(network);
  task.trainer.optimizer.rate = 0.02f;
  task.trainer.optimizer.momentum = 0.9f;
  task.source = source;
  chaos::SimulatedTrainingOptions options;
  options.exchange = {.codec = {.kind = arguments.codec, .seed = arguments.seed},
                      .levels = kLevels};
  options.hub.steps = arguments.steps;
  options.hub.slack = kSlack;
  options.workers = kWorkers;
  options.save_every = 0;
  options.computing.assign(kWorkers, kComputing);
  options.straggler = straggler;
  options.seed = arguments.seed;
  chaos::SimulatedTraining training(device, task, options);
  SHOAL_TRY(training.run());
  SHOAL_ASSIGN(const double top1, top1_of(device, training.network(), arguments));
  const double ms = std::chrono::duration<double, std::milli>(training.merges().back()).count();
  return Learned{ms / static_cast<double>(arguments.steps), top1, training.losses().back()};
}

Status compare(const Arguments& arguments) {
  const auto device = make_cpu_device({.threads = 1});
  SHOAL_ASSIGN(const Learned calm, train(*device, arguments, 1));
  SHOAL_ASSIGN(const Learned slow, train(*device, arguments, kSlower));
  std::printf(
      "{\"bench\":\"training_stragglers\",\"model\":\"%s\",\"codec\":\"%s\",\"steps\":%lld,"
      "\"seed\":%llu,\"calm_step_ms\":%.1f,\"step_ms\":%.1f,\"ratio\":%.3f,\"calm_top1\":%.2f,"
      "\"top1\":%.2f,\"calm_loss\":%.4f,\"loss\":%.4f}\n",
      arguments.model.c_str(), std::string(name_of(arguments.codec)).c_str(),
      static_cast<long long>(arguments.steps), static_cast<unsigned long long>(arguments.seed),
      calm.step_ms, slow.step_ms, slow.step_ms / calm.step_ms, calm.top1, slow.top1, calm.loss,
      slow.loss);
  return {};
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  const auto codec = argc < 6 ? std::nullopt : shoal::learn::find_codec(argv[4]);
  if (!codec) {
    std::fprintf(stderr, "usage: %s MODEL DATA FORMAT CODEC STEPS [SEED]\n", argv[0]);
    return 2;
  }
  const shoal::Status status =
      shoal::compare({argv[1], argv[2], argv[3], *codec, std::atoll(argv[5]),
                      argc > 6 ? std::strtoull(argv[6], nullptr, 10) : 1});
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
