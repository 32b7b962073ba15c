// shoal train --cluster: the workers of a cluster learn one network together.
#include "apps/cluster_commands/train_on_cluster.h"

#include <unistd.h>

#include <cstdio>
#include <optional>

#include "cluster/cluster_access.h"
#include "exit_codes.h"
#include "facts.h"
#include "shoal/base/files/atomic_file.h"
#include "shoal/base/terminal/progress_bar.h"
#include "shoal/cluster/training/step_view.h"
#include "shoal/report/pages/training_page.h"
#include "train/cancel_on_signals.h"
#include "train/train_flags.h"
#ifdef SHOAL_MPI
#include "shoal/cluster/mpi/mpi.h"
#include "shoal/cluster/training/train_ranks.h"
#endif

namespace shoal::cli {
namespace {

using train_cluster::Figures;

Result<train_cluster::Options> training_options(const TrainFlags& flags) {
  SHOAL_ASSIGN(fit::TrainingOptions fit, flags.resolve());
  SHOAL_ASSIGN(auto options, train_cluster::resolve(flags.together, std::move(fit),
                                                    flags.federated.options.local_steps));
  constexpr int64_t kPoints = 12;  // of the curve of accuracy
  if (!flags.report.empty()) options.evaluations = kPoints;
  return options;
}

// A line on a terminal from the first step on, with the devices below it.
class StepLine {
 public:
  train_cluster::StepView::Show show() {
    return [this](const train_cluster::StepView::Picture& picture) {
      if (!line_) line_.emplace("train", picture.steps);
      line_->at(picture.done, picture.note, picture.table);
    };
  }
  void say(const std::string& note) {
    if (line_) return line_->say(note);
    std::fprintf(stderr, "%s\n", note.c_str());
  }
  void end() { line_.reset(); }

 private:
  std::optional<ProgressBar> line_;
};

// From the second step on, so that the first tells how fast they are.
void slow_down_in_turn(const ClusterAccess& access, double times, StepLine& line,
                       train_cluster::Options& options) {
  options.on_step = [&access, &line, times, then = options.on_step](int64_t step, double loss) {
    then(step, loss);
    const Status slowed = access.slow_down_in_turn(static_cast<uint64_t>(step), times);
    if (!slowed.ok()) line.say(std::string(slowed.message()));
  };
}

Status write_page(const TrainFlags& flags, const Figures& figures) {
  if (flags.report.empty()) return {};
  const std::string title = report::cluster_training_title(
      flags.model.model, flags.options.data.string(), figures.record.devices.size());
  return write_file(flags.report, report::cluster_training_page(title, figures.record));
}

#ifdef SHOAL_MPI
// Every rank learns; rank 0 reports.
Outcome train_on_ranks(const TrainFlags& flags) {
  if (!flags.report.empty()) return {Exit::kUsage, "--report needs a hub, which MPI has not"};
  SHOAL_OR_EXIT(train_cluster::Options options, Exit::kUsage, training_options(flags));
  options = train_cluster::for_ranks(std::move(options), !flags.options.checkpoint.empty());
  SHOAL_OR_EXIT(const auto ranks, Exit::kNetwork, mpi::Ranks::begin());
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.model));
  const bool is_first = ranks->rank() == 0;
  StepLine line;
  std::optional<train_cluster::StepView> view;
  if (is_first) view.emplace(options, false, line.show());
  const auto figures = train_cluster::train_as_rank(
      {ranks->rank(), ranks->size(), [&](auto mine) { return ranks->gather(mine); }}, *device,
      options);
  line.end();
  if (!figures.ok()) return fail(Doing::kTrain, figures.status());
  if (!is_first) return {};
  print_facts(facts_of(*figures, options.local_steps), flags.json);
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
  StepLine line;
  train_cluster::StepView view(options, !flags.json && isatty(STDERR_FILENO) != 0, line.show());
  options.on_note = [&line](const std::string& note) { line.say(note); };
  // In an emulated world examples lie on the devices, as weights do, before links are slow.
  if (access->deploys_ahead()) options.ahead = true;
  options.begins = [&] { access->shape(true); };
  if (flags.together.straggler > 1) {
    slow_down_in_turn(*access, flags.together.straggler, line, options);
  }
  options.cancelled = [cancel] { return cancel->load(); };
  const auto figures = train_cluster::train(access->connection(), *device, options);
  access->shape(false);
  line.end();
  if (!figures.ok()) return fail(Doing::kTrain, figures.status());
  for (const Status& why : figures->lost) {
    std::fprintf(stderr, "lost: %s\n", std::string(why.message()).c_str());
  }
  print_facts(facts_of(*figures, options.local_steps), flags.json);
  const Status page = write_page(flags, *figures);
  if (!page.ok()) return fail(Doing::kTrain, page);
  if (cancel->load()) {
    return {Exit::kInterrupted, options.fit.checkpoint.empty()
                                    ? "interrupted; nothing was written"
                                    : "interrupted; --resume goes on from the last checkpoint"};
  }
  return require_accuracy(figures->evaluation.top1(), flags.min_top1);
}

}  // namespace shoal::cli
