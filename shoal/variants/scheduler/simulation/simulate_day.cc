#include "shoal/variants/scheduler/simulation/simulate_day.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "shoal/base/math/hash.h"
#include "shoal/base/math/random.h"
#include "shoal/variants/scheduler/explain.h"

namespace shoal::schedule {
namespace {

constexpr uint64_t kFallStream = 0x66616c6c;  // "fall"
constexpr double kRounding = 1e-9;

// What decisions come to, by what they say that is done.
class Accounts {
 public:
  Accounts(const Catalog& catalog, const Budgets& budgets, const Paging& paging)
      : catalog_(catalog), budgets_(budgets), paging_(paging) {}

  // What was in memory before the day.
  void hold(const Memory& memory) {
    for (size_t t = 0; t < catalog_.tasks.size(); ++t) {
      for (size_t i = 0; i < catalog_.tasks[t].options.size(); ++i) {
        if (memory.has({t, i})) resident_.insert({t, i});
      }
    }
  }

  void book(const Decision& decision, bool fell, DayReport& report) {
    for (const OptionId id : decision.evicted) resident_.erase({id.task, id.option});
    const size_t task = decision.request.task;
    if (decision.loads) load({task, *decision.option}, report);
    if (decision.preload) load({task, *decision.preload}, report);
    report.peak_bytes = std::max(report.peak_bytes, bytes());
    if (bytes() > budgets_.bytes) ++report.violations;
    if (decision.option) answer(decision, fell, report);
    if (is_over(report.joules, budgets_.joules) || is_over(report.dollars, budgets_.dollars)) {
      ++report.violations;
    }
  }

 private:
  using Key = std::pair<size_t, size_t>;  // task, option

  static bool is_over(double spent, double budget) { return spent > budget * (1 + kRounding); }
  const Option& option(Key key) const { return catalog_.tasks[key.first].options[key.second]; }

  int64_t bytes() const {
    int64_t sum = 0;
    std::set<size_t> fragments;
    for (const Key& key : resident_) {
      sum += option(key).bytes;
      if (option(key).fragment) fragments.insert(*option(key).fragment);
    }
    for (const size_t fragment : fragments) sum += catalog_.fragments[fragment].bytes;
    return sum;
  }

  void load(Key key, DayReport& report) {
    const int64_t before = bytes();
    resident_.insert(key);
    const int64_t read = bytes() - before;
    ++report.page_ins;
    report.page_in_bytes += read;
    report.joules += paging_.joules_per_byte * static_cast<double>(read);
  }

  void answer(const Decision& decision, bool fell, DayReport& report) {
    const Key key{decision.request.task, *decision.option};
    const Option& one = option(key);
    const Task& task = catalog_.tasks[key.first];
    report.joules += one.joules;
    report.dollars += one.dollars;
    report.sent_bytes += one.sent_bytes;
    if (input_ != decision.request.input) ran_.clear();
    input_ = decision.request.input;
    if (one.fragment && ran_.insert(*one.fragment).second) {
      report.joules += catalog_.fragments[*one.fragment].joules;
    }
    double ms = decision.ms;
    if (fell) {
      report.joules += one.fallback->joules;
      report.dollars += one.fallback->dollars;
      ms += one.fallback->ms;
    }
    const bool is_there = !one.needs_memory() || resident_.contains(key);
    const bool is_linked = (!one.needs_cloud() || decision.request.cloud_up) &&
                           (!one.needs_worker() || decision.request.worker_up);
    if (!is_there || !is_linked || ms > task.latency_ms) ++report.violations;
    ++report.answered;
    report.mean_accuracy += task.weight * (fell ? one.fallback->accuracy : one.accuracy);
    auto& last = last_[key.first];
    if (last && *last != key.second) ++report.changes;
    last = key.second;
  }

  const Catalog& catalog_;
  const Budgets& budgets_;
  const Paging& paging_;
  std::set<Key> resident_;
  std::optional<uint64_t> input_;
  std::set<size_t> ran_;  // fragments, for this input
  std::map<size_t, std::optional<size_t>> last_;
};

bool is_missed(const Decision& decision) {
  return std::ranges::all_of(decision.judged, [](const Judged& judged) {
    return judged.verdict == Verdict::kTooSlow || judged.verdict == Verdict::kNoLink;
  });
}

}  // namespace

DayReport simulate_day(Scheduler& scheduler, const Budgets& budgets, const Paging& paging,
                       std::span<const Request> requests, const SimulateOptions& options) {
  const Catalog& catalog = scheduler.catalog();
  DayReport report;
  Accounts accounts(catalog, budgets, paging);
  accounts.hold(scheduler.memory());
  const RandomStream falls(options.seed, kFallStream);
  const auto now = [&] { return options.microseconds ? options.microseconds() : 0; };
  double weight = 0;
  for (const Request& request : requests) {
    const double begin = now();
    const Decision& decision = scheduler.decide(request);
    const double decided = now();
    bool fell = false;
    if (decision.option) {
      const auto& fallback = catalog.tasks[request.task].options[*decision.option].fallback;
      const double drawn = static_cast<double>(falls[report.requests] >> 11) * 0x1p-53;
      fell = fallback && drawn < fallback->share;
    } else {
      ++report.dropped;
      report.missed += is_missed(decision) ? 1 : 0;
    }
    ++report.requests;
    weight += catalog.tasks[request.task].weight;
    accounts.book(decision, fell, report);
    if (options.decided) options.decided(decision);
    if (options.log || options.hash_log) {
      const std::string line = explain(catalog, decision);
      if (options.log) options.log(line);
      const std::string chained = std::to_string(report.log_hash) + line;
      report.log_hash = hash_of(std::as_bytes(std::span(chained)));
    }
    scheduler.settle(decision, fell);
    if (options.microseconds) report.decision_us.add(decided - begin);
    if (!scheduler.plan_due()) continue;
    const double from = now();
    scheduler.plan(request.at);
    if (options.microseconds) report.plan_us.add(now() - from);
  }
  if (weight > 0) report.mean_accuracy /= weight;
  return report;
}

}  // namespace shoal::schedule
