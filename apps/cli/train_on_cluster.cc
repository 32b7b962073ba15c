// shoal train --cluster: the workers of a cluster learn one network together.
#include <algorithm>
#include <cstdio>
#include <optional>

#include "cluster/cluster_access.h"
#include "exit_codes.h"
#include "facts.h"
#include "progress.h"
#include "shoal/train_cluster/train_cluster.h"
#include "train/cancel_on_signals.h"
#include "train/train_flags.h"
#ifdef SHOAL_MPI
#include "shoal/mpi/mpi.h"
#include "shoal/train_cluster/train_ranks.h"
#endif

namespace shoal::cli {
namespace {

using train_cluster::Figures;

Result<train_cluster::Options> training_options(const TrainFlags& flags) {
  train_cluster::Options options;
  if (!flags.report.empty()) return invalid("--report is for training on one device");
  SHOAL_ASSIGN(options.fit, flags.resolve());
  if (options.fit.out.empty() && flags.options.checkpoint.empty()) options.fit.checkpoint.clear();
  options.steps = flags.together.steps;
  options.local_steps = std::max<int64_t>(flags.federated.options.local_steps, 1);
  options.levels = 0;
  while (int64_t{1} << options.levels < flags.together.micro_batches) ++options.levels;
  options.codec = learn::find_codec(flags.together.codec);  // nothing: "auto"
  options.keep_awake = !flags.together.lets_sleep;
  options.all_workers = flags.together.all_workers;
  options.fixed_shares = flags.together.fixed_shares;
  options.slack = flags.together.slack;
  SHOAL_TRY(train_cluster::check(options));
  return options;
}

// Shows the loss of every step. Not copied: its callbacks refer to it.
class StepLine {
 public:
  explicit StepLine(train_cluster::Options& options) {
    options.on_step = [this, &options](int64_t step, double loss) {
      if (!line_) line_.emplace("train", static_cast<size_t>(std::max<int64_t>(options.steps, 1)));
      line_->at(static_cast<size_t>(step) + 1, "loss " + fixed(loss, 4));
    };
  }
  StepLine(const StepLine&) = delete;
  StepLine& operator=(const StepLine&) = delete;
  void end() { line_.reset(); }

 private:
  std::optional<ProgressBar> line_;
};

std::vector<Fact> facts_of(const Figures& figures, int64_t local_steps) {
  return {{"steps", figures.steps, "steps"},
          {"workers_used", figures.workers, "workers"},
          {"codec", std::string(name_of(figures.codec)), "codec"},
          {"step_ms", 1e3 * figures.step_seconds, "step ms", 1},
          {"step_ms_mean", 1e3 * figures.mean_seconds},
          {"step_ms_predicted", 1e3 * figures.predicted_seconds, "predicted ms", 1},
          {"single_step_ms", 1e3 * figures.single_seconds, "one alone ms", 1},
          {"speedup", figures.speedup(), "speed-up", 2},
          counted("bytes_per_step", figures.bytes, "bytes/step"),
          {"example_bytes_per_step", figures.example_bytes},
          {"together", figures.together},
          {"local_steps", local_steps},
          {"weights_sha256", figures.weights_sha256},
          {"replicas_differed", figures.differing},
          {"workers_lost", figures.lost.size()},
          {"lost_norms", figures.lost_norms},
          {"resumed_at", figures.resumed_at},
          {"loss", figures.loss, "loss", 4},
          {"top1", figures.evaluation.top1(), "held-out top-1", 2, " %"}};
}

// From the second step on, so that the first tells how fast they are.
void slow_down_in_turn(const ClusterAccess& access, double times, train_cluster::Options& options) {
  const auto workers = access.connection().workers();
  options.on_step = [&access, workers, times, then = options.on_step](int64_t step, double loss) {
    then(step, loss);
    const auto slow = static_cast<size_t>(step) % workers.size();
    const Status slowed = access.slow_down(workers[slow].name, times);
    if (!slowed.ok()) std::fprintf(stderr, "%s\n", std::string(slowed.message()).c_str());
  };
}

void report(const TrainFlags& flags, const Figures& figures) {
  const int64_t local_steps = std::max<int64_t>(flags.federated.options.local_steps, 1);
  print_facts(facts_of(figures, local_steps), flags.json);
}

#ifdef SHOAL_MPI
// Every rank learns; rank 0 reports.
Outcome train_on_ranks(const TrainFlags& flags) {
  SHOAL_OR_EXIT(train_cluster::Options options, Exit::kUsage, training_options(flags));
  if (!options.fit.resume && flags.options.checkpoint.empty()) options.fit.checkpoint.clear();
  SHOAL_OR_EXIT(const auto ranks, Exit::kNetwork, mpi::Ranks::begin());
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.model));
  const bool is_first = ranks->rank() == 0;
  std::optional<StepLine> line;
  if (is_first) line.emplace(options);
  const auto figures = train_cluster::train_as_rank(
      {ranks->rank(), ranks->size(), [&](auto mine) { return ranks->gather(mine); }}, *device,
      options);
  line.reset();
  if (!figures.ok()) return fail(Doing::kTrain, figures.status());
  if (!is_first) return {};
  report(flags, *figures);
  return require_accuracy(figures->evaluation.top1(), flags.min_top1);
}
#endif

}  // namespace

Outcome train_on_cluster(const TrainFlags& flags) {
#ifdef SHOAL_MPI
  if (flags.together.network == "mpi") return train_on_ranks(flags);
#endif
  SHOAL_OR_EXIT(train_cluster::Options options, Exit::kUsage, training_options(flags));
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.model));
  PlanFlags cluster;
  cluster.network = flags.together.network;
  SHOAL_OR_EXIT(const auto access, Exit::kNetwork, open_access(cluster));
  const std::atomic<bool>* const cancel = cancel_on_signals();
  StepLine line(options);
  options.on_note = [](const std::string& note) { std::fprintf(stderr, "%s\n", note.c_str()); };
  // In an emulated world examples lie on the devices, as weights do, before links are slow.
  if (access->emulated() && !access->deploys_really()) options.ahead = true;
  options.begins = [&] { access->shape(true); };
  if (flags.together.straggler > 1) slow_down_in_turn(*access, flags.together.straggler, options);
  options.cancelled = [cancel] { return cancel->load(); };
  const auto figures = train_cluster::train(access->connection(), *device, options);
  access->shape(false);
  line.end();
  if (!figures.ok()) return fail(Doing::kTrain, figures.status());
  for (const Status& why : figures->lost) {
    std::fprintf(stderr, "lost: %s\n", std::string(why.message()).c_str());
  }
  report(flags, *figures);
  if (cancel->load()) {
    return {Exit::kInterrupted, options.fit.checkpoint.empty()
                                    ? "interrupted; nothing was written"
                                    : "interrupted; --resume goes on from the last checkpoint"};
  }
  return require_accuracy(figures->evaluation.top1(), flags.min_top1);
}

}  // namespace shoal::cli
