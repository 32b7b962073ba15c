#include "shoal/cluster/plan_race.h"

#include <algorithm>
#include <random>

#include "shoal/graph/random_inputs.h"
#include "shoal/tensor/compare.h"

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

Result<std::unique_ptr<PlanRace>> PlanRace::deploy(Coordinator& coordinator, plan::Prediction first,
                                                   plan::Prediction second) {
  // A fixed seed: races can be repeated, and both plans get the same inputs.
  std::mt19937 rng(1);
  std::unique_ptr<PlanRace> race(new PlanRace(random_inputs(first.graph(), rng)));
  for (plan::Prediction* one : {&first, &second}) {
    SHOAL_ASSIGN(auto deployed, coordinator.deploy(one->scheduled, /*traced=*/true));
    race->runners_.push_back({std::move(*one), std::move(deployed)});
  }
  return race;
}

double PlanRace::least_seconds() const {
  double seconds = 0;
  for (const Runner& runner : runners_) seconds += runner.prediction.timeline.seconds;
  return seconds * (kFewestRounds + 1);
}

Result<RaceResult> PlanRace::run(const RaceOptions& options) {
  SHOAL_TRY(ask(runners_[1], options));  // the first request finds caches cold
  for (Runner& runner : runners_) runner.runs.clear();
  const auto begin = Clock::now();
  double passed = 0;
  while (runners_[0].runs.size() < kFewestRounds || passed < options.seconds) {
    for (Runner& runner : runners_) SHOAL_TRY(ask(runner, options));
    passed = std::chrono::duration<double>(Clock::now() - begin).count();
    if (options.progress) options.progress(passed);
  }
  SHOAL_TRY(compare_answers());
  return RaceResult{median(runners_[0].runs), median(runners_[1].runs), runners_[0].runs.size()};
}

Status PlanRace::ask(Runner& runner, const RaceOptions& options) const {
  const plan::Prediction& prediction = runner.prediction;
  const auto timeout = generous_timeout(prediction.timeline.seconds * options.dilation);
  if (options.before_request) options.before_request();
  std::vector<Tensor> outputs(prediction.graph().outputs().size());
  plan::Timeline timeline;
  SHOAL_TRY(runner.deployed->run(inputs_, outputs, timeout, &timeline));
  runner.runs.push_back(undilated(std::move(timeline), options.dilation));
  runner.answer = std::move(outputs);
  return {};
}

Status PlanRace::compare_answers() const {
  const std::vector<Tensor>&want = runners_[0].answer, &got = runners_[1].answer;
  // A plan with a narrow wire format may differ by its own error bound.
  const double allowed = kSameAnswer + runners_[1].prediction.error;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!Floats::contains(got[i].dtype())) continue;  // rounding may decide integers
    if (relative_error(got[i], want[i]) <= allowed) continue;
    return Status(Code::kInternal, "the answers of the two plans differ");
  }
  return {};
}

}  // namespace shoal::cluster
