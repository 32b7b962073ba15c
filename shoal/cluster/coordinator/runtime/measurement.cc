// Times of one request, merged from all machines. Clocks of machines differ, so each worker's times
// are shifted by the offset that PlanDeployer measured, t = t_worker - ahead. The error is at most
// half of the quickest round trip.
#include "shoal/cluster/coordinator/runtime/measurement.h"

#include <algorithm>

#include "messages.pb.h"
#include "shoal/cluster/messages/wire.h"
#include "shoal/cluster/tasks/recorder.h"

namespace shoal::cluster {
namespace {

// Times come from peers: each piece and each count is checked against the plan.
Status foreign() { return Status(Code::kCorrupt, "times of what is not in the plan"); }

// Seconds that are covered by at least one span.
double covered(std::vector<plan::Span> spans) {
  std::ranges::sort(spans, {}, &plan::Span::begin);
  double sum = 0, end = 0;
  for (const plan::Span& span : spans) {
    // Transfers overlap; time in which several are on their way counts once.
    sum += std::max(0.0, span.end - std::max(span.begin, end));
    end = std::max(end, span.end);
  }
  return sum;
}

}  // namespace

Measurement::Measurement(plan::ScheduledPlan scheduled, int workers)
    : scheduled_(std::move(scheduled)),
      begin_(std::chrono::steady_clock::now()),
      tasks_(static_cast<size_t>(workers)),
      spoken_(static_cast<size_t>(workers)) {
  const plan::Plan& plan = scheduled_.plan();
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    timeline_.tasks.emplace_back(plan.segments[s].tasks.size());
    for (size_t t = 0; t < plan.segments[s].tasks.size(); ++t) {
      tasks_[static_cast<size_t>(plan.segments[s].tasks[t].worker)].push_back({s, t});
    }
  }
  missing_ = static_cast<size_t>(
      std::ranges::count_if(tasks_, [](const auto& tasks) { return !tasks.empty(); }));
  timeline_.transfers.resize(scheduled_.schedule().transfers.size());
}

double Measurement::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

// Sets the time when a piece left a worker for a peer or, if `arrived`, when it reached the worker.
// In a redundant plan a reader does not know which copy counts, so all of them get the time.
Status Measurement::set(bool arrived, int worker, const plan::Piece& piece, int peer, double at) {
  bool known = false;
  for (size_t i = 0; i < scheduled_.schedule().transfers.size(); ++i) {
    const plan::Transfer& transfer = scheduled_.schedule().transfers[i];
    if (transfer.piece != piece) continue;
    if (arrived ? transfer.to != worker : transfer.from != worker || transfer.to != peer) continue;
    known = true;
    plan::Span& span = timeline_.transfers[i];
    (arrived ? span.end : span.begin) = at;
  }
  return known ? Status() : foreign();
}

void Measurement::received(const plan::Piece& piece, int from) {
  const double at = now();
  for (size_t i = 0; i < scheduled_.schedule().transfers.size(); ++i) {
    const plan::Transfer& transfer = scheduled_.schedule().transfers[i];
    if (transfer.to == plan::kCoordinator && transfer.from == from && transfer.piece == piece) {
      timeline_.transfers[i].end = at;
    }
  }
}

Status Measurement::add(int worker, const message::Traced& traced, int64_t ahead) {
  const auto w = static_cast<size_t>(worker);
  // A worker that speaks twice, or has no part in the plan, was not counted in missing_.
  if (spoken_[w] || tasks_[w].empty()) return foreign();
  if (static_cast<size_t>(traced.tasks_size()) != tasks_[w].size()) return foreign();
  // As many as a Recorder writes. Each is looked up among all transfers.
  constexpr int kMostTimes = 1 << 15;
  if (traced.sent_size() > kMostTimes || traced.received_size() > kMostTimes) return foreign();
  const int64_t begin = nanoseconds(begin_);
  const auto seconds = [&](int64_t at) {
    return (static_cast<double>(at) - static_cast<double>(ahead) - static_cast<double>(begin)) /
           1e9;
  };
  for (size_t i = 0; i < tasks_[w].size(); ++i) {
    const message::Traced::TaskTime& time = traced.tasks(static_cast<int>(i));
    timeline_.tasks[tasks_[w][i].segment][tasks_[w][i].task] = {seconds(time.begin()),
                                                                seconds(time.end())};
  }
  for (const bool arrived : {false, true}) {
    for (const auto& time : arrived ? traced.received() : traced.sent()) {
      SHOAL_ASSIGN(const plan::Piece piece, decode(time.piece()));
      SHOAL_TRY(set(arrived, worker, piece, time.peer(), seconds(time.at())));
    }
  }
  spoken_[w] = true;
  --missing_;
  return {};
}

void Measurement::excuse(int worker) {
  const auto w = static_cast<size_t>(worker);
  if (spoken_[w] || tasks_[w].empty()) return;
  spoken_[w] = true;
  --missing_;
}

plan::Timeline Measurement::timeline() const {
  plan::Timeline timeline = timeline_;
  for (size_t w = 0; w < tasks_.size(); ++w) {
    double compute = 0;
    for (const TaskAt& at : tasks_[w]) {
      const plan::Span& span = timeline.tasks[at.segment][at.task];
      compute += span.end - span.begin;
    }
    std::vector<plan::Span> mine;
    for (size_t i = 0; i < scheduled_.schedule().transfers.size(); ++i) {
      const plan::Transfer& transfer = scheduled_.schedule().transfers[i];
      const int worker = static_cast<int>(w);
      if (transfer.from == worker || transfer.to == worker) mine.push_back(timeline.transfers[i]);
    }
    timeline.compute_seconds.push_back(compute);
    timeline.transfer_seconds.push_back(covered(std::move(mine)));
  }
  return timeline;
}

}  // namespace shoal::cluster
