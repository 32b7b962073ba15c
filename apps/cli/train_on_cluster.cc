// shoal train --cluster: the workers of a cluster learn one network together.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "cluster/cluster_access.h"
#include "exit_codes.h"
#include "facts.h"
#include "shoal/base/atomic_file.h"
#include "shoal/base/printable.h"
#include "shoal/base/progress_bar.h"
#include "shoal/report/cluster_training_page.h"
#include "shoal/train_cluster/facts.h"
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
  SHOAL_ASSIGN(fit::TrainingOptions fit, flags.resolve());
  SHOAL_ASSIGN(auto options, train_cluster::resolve(flags.together, std::move(fit),
                                                    flags.federated.options.local_steps));
  constexpr int64_t kPoints = 12;  // of the curve of accuracy
  if (!flags.report.empty()) options.evaluations = kPoints;
  return options;
}

std::vector<std::string> lines_of(const learn::RunRecord& record) {
  Table table(learn::device_header());
  for (const auto& [worker, device] : record.devices) {
    constexpr size_t kMost = 24;
    std::vector<std::string> cells = device_cells(record, device);
    cells[0] = printable(cells[0], kMost);
    table.add(std::move(cells));
  }
  return table.lines();
}

// Shows the loss of every step, and for people the devices. Not copied: its callbacks refer to it.
class StepView {
 public:
  StepView(train_cluster::Options& options, bool has_table) : steps_(options.steps) {
    options.on_step = [this](int64_t step, double loss) {
      done_ = step + 1;
      note_ = "loss " + fixed(loss, 4);
      show();
    };
    if (!has_table) return;
    options.on_devices = [this](const learn::RunRecord& record) {
      steps_ = record.steps;
      table_ = lines_of(record);
      if (done_ > 0) show();
    };
  }
  StepView(const StepView&) = delete;
  StepView& operator=(const StepView&) = delete;
  void end() { line_.reset(); }
  void say(const std::string& note) {
    if (line_) return line_->say(note);
    std::fprintf(stderr, "%s\n", note.c_str());
  }

 private:
  void show() {
    if (!line_) line_.emplace("train", static_cast<size_t>(std::max<int64_t>(steps_, 1)));
    line_->at(static_cast<size_t>(done_), note_, table_);
  }

  int64_t steps_, done_ = 0;
  std::string note_;
  std::vector<std::string> table_;
  std::optional<ProgressBar> line_;
};

// From the second step on, so that the first tells how fast they are.
void slow_down_in_turn(const ClusterAccess& access, double times, StepView& view,
                       train_cluster::Options& options) {
  const auto workers = access.connection().workers();
  options.on_step = [&access, &view, workers, times, then = options.on_step](int64_t step,
                                                                             double loss) {
    then(step, loss);
    const auto slow = static_cast<size_t>(step) % workers.size();
    const Status slowed = access.slow_down(workers[slow].name, times);
    if (!slowed.ok()) view.say(std::string(slowed.message()));
  };
}

Status write_page(const TrainFlags& flags, const Figures& figures) {
  if (flags.report.empty()) return {};
  const size_t devices = figures.record.devices.size();
  const std::string title = flags.model.model + " on " + flags.options.data.string() + ", by " +
                            std::to_string(devices) + (devices == 1 ? " device" : " devices");
  return write_file(flags.report, report::cluster_training_page(title, figures.record));
}

#ifdef SHOAL_MPI
// Every rank learns; rank 0 reports.
Outcome train_on_ranks(const TrainFlags& flags) {
  if (!flags.report.empty()) return {Exit::kUsage, "--report needs a hub, which MPI has not"};
  SHOAL_OR_EXIT(train_cluster::Options options, Exit::kUsage, training_options(flags));
  if (!options.fit.resume && flags.options.checkpoint.empty()) options.fit.checkpoint.clear();
  SHOAL_OR_EXIT(const auto ranks, Exit::kNetwork, mpi::Ranks::begin());
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.model));
  const bool is_first = ranks->rank() == 0;
  std::optional<StepView> line;
  if (is_first) line.emplace(options, false);
  const auto figures = train_cluster::train_as_rank(
      {ranks->rank(), ranks->size(), [&](auto mine) { return ranks->gather(mine); }}, *device,
      options);
  line.reset();
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
  StepView view(options, !flags.json && isatty(STDERR_FILENO) != 0);
  options.on_note = [&view](const std::string& note) { view.say(note); };
  // In an emulated world examples lie on the devices, as weights do, before links are slow.
  if (access->emulated() && !access->deploys_really()) options.ahead = true;
  options.begins = [&] { access->shape(true); };
  if (flags.together.straggler > 1) {
    slow_down_in_turn(*access, flags.together.straggler, view, options);
  }
  options.cancelled = [cancel] { return cancel->load(); };
  const auto figures = train_cluster::train(access->connection(), *device, options);
  access->shape(false);
  view.end();
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
