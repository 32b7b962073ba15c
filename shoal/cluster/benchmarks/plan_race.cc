#include "shoal/cluster/benchmarks/plan_race.h"

#include <algorithm>
#include <random>
#include <utility>

#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/tensor/compare.h"

namespace shoal::cluster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kFewestRounds = 3;

plan::Timeline undilated(plan::Timeline timeline, double dilation) {
  const auto shrink = [&](plan::Span& span) {
    span = {span.begin / dilation, span.end / dilation};
  };
  timeline.seconds /= dilation;
  for (auto& segment : timeline.tasks) std::ranges::for_each(segment, shrink);
  std::ranges::for_each(timeline.transfers, shrink);
  for (double& seconds : timeline.compute_seconds) seconds /= dilation;
  for (double& seconds : timeline.transfer_seconds) seconds /= dilation;
  return timeline;
}

plan::Timeline median(std::vector<plan::Timeline> runs) {
  std::ranges::sort(runs, {}, &plan::Timeline::seconds);
  return std::move(runs[runs.size() / 2]);
}

}  // namespace

std::chrono::milliseconds generous_timeout(double expected_seconds) {
  constexpr double kSlack = 60, kLongest = 24 * 3600;  // seconds; more could overflow a clock
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(std::min(5 * expected_seconds + kSlack, kLongest)));
}

Result<std::unique_ptr<PlanRace::Runner>> PlanRace::Runner::deploy(Coordinator& coordinator,
                                                                   Contender contender) {
  std::unique_ptr<Runner> runner(new Runner(std::move(contender)));
  SHOAL_ASSIGN(runner->deployment_,
               FailoverDeployment::start(
                   coordinator,
                   {.plan = [self = runner.get()](const Workers& set) { return self->plan(set); },
                    .retry_interval = std::chrono::seconds(1),
                    .traced = true}));
  return runner;
}

Result<Turns> PlanRace::Runner::plan(const Workers& set) {
  if (std::exchange(is_first_, false)) return Turns{made_.front().scheduled};
  if (!plan_again_) return Status(Code::kExhausted, "a worker was lost or has come");
  SHOAL_ASSIGN(plan::Prediction other, plan_again_(set));
  const std::lock_guard lock(mutex_);
  made_.push_back(std::move(other));
  return Turns{made_.back().scheduled};
}

plan::Prediction PlanRace::Runner::deployed() const {
  const plan::ScheduledPlan current = deployment_->current().front();
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(made_, current.plan(), &plan::Prediction::plan);
  return it == made_.end() ? made_.front() : *it;
}

Status PlanRace::Runner::ask(std::span<const Tensor> inputs, const RaceOptions& options) {
  const plan::Prediction prediction = deployed();
  const auto timeout = generous_timeout(prediction.timeline.seconds * options.dilation);
  if (options.before_request) options.before_request();
  std::vector<Tensor> outputs(prediction.graph().outputs().size());
  plan::Timeline timeline;
  SHOAL_TRY(deployment_->run(inputs, outputs, timeout, {}, &timeline));
  // Without times, the plan has changed meanwhile.
  if (!timeline.tasks.empty()) runs.push_back(undilated(std::move(timeline), options.dilation));
  answer = std::move(outputs);
  return {};
}

Result<std::unique_ptr<PlanRace>> PlanRace::deploy(Coordinator& coordinator, Contender first,
                                                   Contender second) {
  // A fixed seed: races can be repeated, and both plans get the same inputs.
  std::mt19937 rng(1);
  std::unique_ptr<PlanRace> race(new PlanRace(random_inputs(first.prediction.graph(), rng)));
  for (Contender* one : {&first, &second}) {
    SHOAL_ASSIGN(auto runner, Runner::deploy(coordinator, std::move(*one)));
    race->runners_.push_back(std::move(runner));
  }
  return race;
}

double PlanRace::least_seconds() const {
  const double seconds = first().timeline.seconds + second().timeline.seconds;
  return seconds * (kFewestRounds + 1);
}

void PlanRace::begin_again() {
  for (const auto& runner : runners_) runner->runs.clear();
}

Result<RaceResult> PlanRace::run(const RaceOptions& options) {
  constexpr int kMostRestarts = 5;
  SHOAL_TRY(runners_[1]->ask(inputs_, options));  // the first request finds caches cold
  begin_again();
  size_t seen = changes();
  auto begin = Clock::now();
  double passed = 0;
  const auto rounds = [&] { return std::min(runners_[0]->runs.size(), runners_[1]->runs.size()); };
  for (int restarts = 0; rounds() < kFewestRounds || passed < options.seconds;) {
    for (const auto& runner : runners_) SHOAL_TRY(runner->ask(inputs_, options));
    if (std::exchange(seen, changes()) != seen) {
      if (++restarts > kMostRestarts) {
        return Status(Code::kUnavailable, "workers come and go; nothing can be measured");
      }
      begin_again();
      if (options.begins_again) options.begins_again();
      begin = Clock::now();
    }
    passed = std::chrono::duration<double>(Clock::now() - begin).count();
    if (options.progress) options.progress(passed);
  }
  SHOAL_TRY(compare_answers());
  return RaceResult{median(runners_[0]->runs), median(runners_[1]->runs), rounds()};
}

Status PlanRace::compare_answers() const {
  const std::vector<Tensor>&want = runners_[0]->answer, &got = runners_[1]->answer;
  // A plan with a narrow wire format may differ by its own error bound.
  const double allowed = kSameAnswer + second().error;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!Floats::contains(got[i].dtype())) continue;  // rounding may decide integers
    if (relative_error(got[i], want[i]) <= allowed) continue;
    return Status(Code::kInternal, "the answers of the two plans differ");
  }
  return {};
}

}  // namespace shoal::cluster
