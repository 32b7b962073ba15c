// What a network learns in a group of replicas with a codec, beside one that learns with f32: one
// JSON line. All replicas are in this process, so that the time says nothing about a cluster.
//
//   bench_replicas MODEL DATA FORMAT WORKERS CODEC EPOCHS [SEED [feedback|no-feedback [THREADS]]]
#include <cstdio>
#include <cstdlib>
#include <string>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/run/evaluation/evaluate_graph.h"
#include "shoal/train/run/setup/training_network.h"
#include "tests/learn/replica_group.h"

namespace shoal::learn {
namespace {

constexpr int64_t kBatch = 128;

struct Arguments {
  std::string model, data, format;
  int64_t workers = 8;
  CodecOptions codec = {};
  int64_t epochs = 1;
  int threads = 1;
};

Result<double> top1_of(Device& device, const Graph& network, const Arguments& arguments) {
  SHOAL_ASSIGN(const auto data, open_dataset(arguments.data, arguments.format, Split::kHeldOut));
  const Batches batches(*data, fit::images_for(network, {}),
                        {.batch = static_cast<size_t>(kBatch / arguments.workers)});
  SHOAL_ASSIGN(const fit::Evaluation result, fit::evaluate(device, network, batches));
  return result.top1();
}

Status train(const Arguments& arguments) {
  const auto device = make_cpu_device({.threads = arguments.threads});
  int levels = 0;
  while (int64_t{1} << levels < arguments.workers) ++levels;
  SHOAL_ASSIGN(const Graph network,
               zoo::build(arguments.model,
                          {.seed = arguments.codec.seed, .batch = kBatch / arguments.workers}));
  SHOAL_ASSIGN(const auto data, open_dataset(arguments.data, arguments.format, Split::kTraining));
  const Batches batches(*data, fit::images_for(network, {}),
                        {.batch = kBatch, .seed = arguments.codec.seed, .shuffle = true});
  // The sender has topk's momentum.
  const float momentum = arguments.codec.kind == CodecKind::kTopK ? 0 : 0.9f;
  SHOAL_ASSIGN(ReplicaGroup group,
               ReplicaGroup::create(
                   *device, network, {.optimizer = {.rate = 0.02f, .momentum = momentum}},
                   {.exchange = {.codec = arguments.codec, .levels = levels},
                    .shares = std::vector<int64_t>(static_cast<size_t>(arguments.workers), 1)}));
  const auto steps =
      static_cast<double>(batches.per_epoch()) * static_cast<double>(arguments.epochs);
  ReplicaGroup::Step last;
  double done = 0;
  for (int64_t epoch = 0; epoch < arguments.epochs; ++epoch) {
    for (size_t i = 0; i < batches.per_epoch(); ++i, ++done) {
      SHOAL_ASSIGN(const Batch batch, batches.at(static_cast<uint64_t>(epoch), i));
      SHOAL_ASSIGN(last, group.step(batch.images, std::span(&batch.labels, 1), 1 - done / steps));
    }
  }
  SHOAL_ASSIGN(const Graph learned, group.replica(0).trainer().network());
  SHOAL_ASSIGN(const double top1, top1_of(*device, learned, arguments));
  std::printf(
      "{\"bench\":\"replicas\",\"model\":\"%s\",\"workers\":%lld,\"codec\":\"%s\","
      "\"feedback\":%s,\"seed\":%llu,\"steps\":%.0f,\"sent_bytes\":%zu,\"loss\":%.4f,"
      "\"top1\":%.2f}\n",
      arguments.model.c_str(), static_cast<long long>(arguments.workers),
      std::string(name_of(arguments.codec.kind)).c_str(),
      arguments.codec.feedback ? "true" : "false",
      static_cast<unsigned long long>(arguments.codec.seed), steps, last.sent_bytes, last.loss,
      top1);
  return {};
}

}  // namespace
}  // namespace shoal::learn

int main(int argc, char** argv) {
  const auto kind = argc < 7 ? std::nullopt : shoal::learn::find_codec(argv[5]);
  if (!kind) {
    std::fprintf(stderr,
                 "usage: %s MODEL DATA FORMAT WORKERS CODEC EPOCHS [SEED [feedback|no-feedback "
                 "[THREADS]]]\n",
                 argv[0]);
    return 2;
  }
  shoal::learn::CodecOptions codec{.kind = *kind};
  if (argc > 8) codec.feedback = std::string(argv[8]) != "no-feedback";
  if (argc > 7) codec.seed = std::strtoull(argv[7], nullptr, 10);
  const shoal::Status status =
      shoal::learn::train({argv[1], argv[2], argv[3], std::atoll(argv[4]), codec,
                           std::atoll(argv[6]), argc > 9 ? std::atoi(argv[9]) : 1});
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
