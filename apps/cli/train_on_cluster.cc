#include "train_on_cluster.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "apps/flags/json.h"
#include "cluster/cluster_access.h"
#include "exit_codes.h"
#include "progress.h"
#include "shoal/train_cluster/train_cluster.h"
#include "table.h"
#include "train/cancel_on_signals.h"
#include "train/train_flags.h"

namespace shoal::cli {
namespace {

using train_cluster::Figures;

Result<train_cluster::Options> options_of(const TrainFlags& flags) {
  train_cluster::Options options;
  SHOAL_ASSIGN(options.fit, flags.resolve());
  options.fit.checkpoint.clear();
  options.steps = flags.together.steps;
  options.levels = 0;
  while (int64_t{1} << options.levels < flags.together.micro_batches) ++options.levels;
  options.codec = learn::find_codec(flags.together.codec);  // nothing: "auto"
  options.keep_awake = !flags.together.lets_sleep;
  options.all_workers = flags.together.all_workers;
  SHOAL_TRY(train_cluster::check(options));
  return options;
}

Json to_json(const Figures& figures) {
  return {{"steps", figures.steps},
          {"step_ms", 1e3 * figures.step_seconds},
          {"step_ms_predicted", 1e3 * figures.predicted_seconds},
          {"single_step_ms", 1e3 * figures.single_seconds},
          {"speedup", figures.speedup()},
          {"bytes_per_step", figures.bytes},
          {"example_bytes_per_step", figures.example_bytes},
          {"workers_used", figures.workers},
          {"together", figures.together},
          {"codec", std::string(name_of(figures.codec))},
          {"weights_sha256", figures.weights_sha256},
          {"replicas_differed", figures.differing},
          {"workers_lost", figures.lost.size()},
          {"loss", figures.loss},
          {"top1", figures.evaluation.top1()}};
}

void print(const Figures& figures) {
  Table table({"steps", "workers", "codec", "step ms", "predicted ms", "one alone ms", "speed-up",
               "bytes/step", "loss", "held-out top-1"});
  table.add({std::to_string(figures.steps), std::to_string(figures.workers),
             std::string(name_of(figures.codec)), fixed(1e3 * figures.step_seconds, 1),
             fixed(1e3 * figures.predicted_seconds, 1), fixed(1e3 * figures.single_seconds, 1),
             fixed(figures.speedup(), 2), with_commas(static_cast<long long>(figures.bytes)),
             fixed(figures.loss, 4), fixed(figures.evaluation.top1(), 2) + " %"});
  table.print();
}

}  // namespace

Outcome train_on_cluster(const TrainFlags& flags) {
  SHOAL_OR_EXIT(train_cluster::Options options, Exit::kUsage, options_of(flags));
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.model));
  PlanFlags cluster;
  cluster.network = flags.together.network;
  SHOAL_OR_EXIT(const auto access, Exit::kNetwork, ClusterAccess::open(cluster));
  const std::atomic<bool>* const cancel = cancel_on_signals();
  std::optional<ProgressBar> line;
  options.on_note = [](const std::string& note) { std::fprintf(stderr, "%s\n", note.c_str()); };
  // In an emulated world examples lie on the devices, as weights do, before links are slow.
  if (access->emulated() && !access->deploys_really()) options.ahead = true;
  options.begins = [&] { access->shape(true); };
  options.on_step = [&](int64_t step, double loss) {
    if (!line) line.emplace("train", static_cast<size_t>(std::max<int64_t>(options.steps, 1)));
    line->at(static_cast<size_t>(step) + 1, "loss " + fixed(loss, 4));
  };
  options.cancelled = [cancel] { return cancel->load(); };
  const auto figures = train_cluster::train(access->connection(), *device, options);
  access->shape(false);
  line.reset();
  if (!figures.ok()) return fail(Doing::kTrain, figures.status());
  for (const Status& why : figures->lost) {
    std::fprintf(stderr, "lost: %s\n", std::string(why.message()).c_str());
  }
  if (flags.json) {
    std::printf("%s\n", to_json(*figures).dump().c_str());
  } else {
    print(*figures);
  }
  if (cancel->load()) return {Exit::kInterrupted, "interrupted; nothing was written"};
  return require_accuracy(figures->evaluation.top1(), flags.min_top1);
}

}  // namespace shoal::cli
