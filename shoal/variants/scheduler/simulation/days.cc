#include "shoal/variants/scheduler/simulation/days.h"

#include <algorithm>

namespace shoal::schedule {
namespace {

// Sums of days, of which finish() makes means.
class Summing {
 public:
  explicit Summing(size_t tasks) { sum_.answers.resize(tasks); }

  void count(const Decision& decision) {
    if (decision.option) ++sum_.answers[decision.request.task][*decision.option];
  }

  void add(const DayReport& day, const Bound& bound) {
    ++sum_.days;
    sum_.requests += day.requests;
    sum_.answered += day.answered;
    sum_.dropped += day.dropped;
    sum_.missed += day.missed;
    sum_.violations += day.violations;
    sum_.page_ins += day.page_ins;
    sum_.mean_accuracy += day.mean_accuracy;
    sum_.bound += bound.without_paging;
    sum_.free_bound += bound.free_paging;
    sum_.joules += day.joules;
    sum_.dollars += day.dollars;
    sum_.log_hash = sum_.log_hash * 31 + day.log_hash;
    sum_.decision_us += day.decision_us;
    sum_.plan_us += day.plan_us;
    if (bound.without_paging <= 0) return;
    const double ratio = day.mean_accuracy / bound.without_paging,
                 free_ratio = day.mean_accuracy / bound.free_paging;
    const bool first = judged_++ == 0;
    sum_.mean_ratio += ratio;
    sum_.worst_ratio = first ? ratio : std::min(sum_.worst_ratio, ratio);
    sum_.worst_free_ratio = first ? free_ratio : std::min(sum_.worst_free_ratio, free_ratio);
  }

  DaysReport finish() && {
    const auto days = static_cast<double>(std::max<size_t>(sum_.days, 1));
    for (double* one :
         {&sum_.mean_accuracy, &sum_.bound, &sum_.free_bound, &sum_.joules, &sum_.dollars}) {
      *one /= days;
    }
    sum_.mean_ratio /= static_cast<double>(std::max<size_t>(judged_, 1));
    return std::move(sum_);
  }

 private:
  DaysReport sum_;
  size_t judged_ = 0;  // days in which there was a bound above 0
};

}  // namespace

DaysReport simulate_days(const Catalog& catalog, const Trace& trace, const DaysOptions& options) {
  Summing sum(catalog.tasks.size());
  Scheduler scheduler(catalog, trace.budgets, trace.paging);
  for (uint64_t day = 0; day < options.days; ++day) {
    if (day > 0) scheduler.begin_day(trace.budgets);
    const auto requests = draw_day(trace.usage, trace.budgets.seconds, options.seed, day);
    const DayReport report =
        simulate_day(scheduler, trace.budgets, trace.paging, requests,
                     {.seed = options.seed + day,
                      .microseconds = options.microseconds,
                      .log = options.log,
                      .decided = [&](const Decision& decision) { sum.count(decision); },
                      .hash_log = true});
    sum.add(report, bound_of(catalog, trace.budgets, requests));
  }
  return std::move(sum).finish();
}

}  // namespace shoal::schedule
