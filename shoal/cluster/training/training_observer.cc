#include "shoal/cluster/training/training_observer.h"

#include <algorithm>

#include "shoal/train/step/weights/rebuild.h"

namespace shoal::train_cluster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostBytes = size_t{256} << 20;  // of all snapshots
constexpr size_t kMostExamples = 2000;

}  // namespace

void Observer::watch(cluster::TrainingRunOptions& run) {
  run.begins = [this] {
    options_.begins();
    recorder_.begin(Clock::now());
  };
  run.on_moment = [this](const cluster::TrainingMoment& moment) { take(moment); };
}

void Observer::take(const cluster::TrainingMoment& moment) {
  const Clock::time_point now = Clock::now();
  if (moment.is_step) {
    recorder_.end_step(moment.step, moment.hub.devices(), now);
    take_snapshot(moment, recorder_.seconds_at(now));
  } else {
    recorder_.update(moment.step.step, moment.hub.devices(), now);
  }
  options_.on_devices(recorder_.so_far());
}

// One at the end of each part of the run, or when statistics are measured after it. The last part
// needs none, as the run has its own evaluation.
void Observer::take_snapshot(const cluster::TrainingMoment& moment, double seconds) {
  const int64_t done = (moment.step.step + 1) * options_.local_steps;
  const int64_t part = done * parts_ / steps_;
  if (part <= last_part_ || done >= steps_ || !moment.hub.has_statistics()) return;
  const auto learned = moment.hub.replica().trainer().learned();
  size_t bytes = 0;
  for (const auto& [name, tensor] : learned) bytes += tensor.bytes().size();
  if ((snapshots_.size() + 1) * bytes > kMostBytes) return;
  last_part_ = part;
  snapshots_.push_back({.step = done, .seconds = seconds});
  for (const auto& [name, tensor] : learned) snapshots_.back().learned[name] = tensor.clone();
}

Result<learn::RunRecord> Observer::finish(const Figures& figures, Device& device,
                                          const Setup& setup) const {
  learn::RunRecord record = recorder_.record();
  record.step_seconds = figures.step_seconds;
  record.bytes = figures.bytes;
  for (const Snapshot& one : snapshots_) {
    SHOAL_ASSIGN(const Graph network, train::with_constants(setup.network(), one.learned));
    SHOAL_ASSIGN(const fit::Evaluation found, setup.evaluate(device, network, kMostExamples));
    record.accuracies.push_back({one.step, one.seconds, found.top1()});
  }
  if (!record.moments.empty()) {
    const learn::RunRecord::Moment& last = record.moments.back();
    record.accuracies.push_back({last.step, last.seconds, figures.evaluation.top1()});
  }
  return record;
}

}  // namespace shoal::train_cluster
