#include "shoal/variants/scheduler/simulation/days.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "shoal/base/math/hash.h"
#include "shoal/base/math/random.h"
#include "shoal/variants/scheduler/packing.h"
#include "shoal/variants/scheduler/scheduler.h"

namespace shoal::schedule {
namespace {

constexpr double kHour = 3600;
constexpr double kMostRate = 1e7;  // inputs an hour
constexpr size_t kMostParts = 10'000;

class Draws {
 public:
  explicit Draws(RandomStream stream) : stream_(stream) {}

  double uniform() {  // above 0, at most 1
    return (static_cast<double>(stream_[next_++] >> 11) + 1) * 0x1p-53;
  }
  double exponential(double mean) { return -mean * std::log(uniform()); }

 private:
  RandomStream stream_;
  uint64_t next_ = 0;
};

// When the link changes, beginning with its first outage.
std::vector<double> link_changes(const Usage& usage, double seconds, Draws draws) {
  std::vector<double> changes;
  if (usage.down <= 0) return changes;
  const double up_seconds = usage.down_seconds * (1 - usage.down) / usage.down;
  double at = 0;
  bool up = draws.uniform() > usage.down;
  if (!up) changes.push_back(0);
  while (at < seconds) {
    at += draws.exponential(up ? up_seconds : usage.down_seconds);
    changes.push_back(at);
    up = !up;
  }
  return changes;
}

bool is_up(const std::vector<double>& changes, double at) {
  return (std::ranges::upper_bound(changes, at) - changes.begin()) % 2 == 0;
}

// Tasks that have a variant with the fragment.
std::vector<double> users_of_fragments(const Catalog& catalog) {
  std::vector<double> users(catalog.fragments.size(), 0);
  for (const Task& task : catalog.tasks) {
    std::set<size_t> own;
    for (const Option& option : task.options) {
      if (option.fragment) own.insert(*option.fragment);
    }
    for (const size_t fragment : own) users[fragment] += 1;
  }
  return users;
}

struct GroupKey {
  size_t task;
  bool up, worker_up;
  size_t sharing;  // requests of the same input

  friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

// An option of `count` requests, `of_task` of them for one task.
Choice choice_of(const Catalog& catalog, const std::vector<double>& users, const GroupKey& key,
                 const Option& option, double count, double of_task) {
  double accuracy = option.accuracy, joules = option.joules, dollars = option.dollars;
  auto bytes = static_cast<double>(option.bytes);
  if (option.fallback) {
    const Fallback& next = *option.fallback;
    accuracy += next.share * (next.accuracy - accuracy);
    joules += next.share * next.joules;
    dollars += next.share * next.dollars;
  }
  if (option.fragment) {
    const Fragment& fragment = catalog.fragments[*option.fragment];
    joules += fragment.joules / static_cast<double>(key.sharing);
    bytes += static_cast<double>(fragment.bytes) / users[*option.fragment];
  }
  return {.value = count * catalog.tasks[key.task].weight * accuracy,
          .costs = {count * joules, count * dollars, bytes * count / of_task}};
}

constexpr uint64_t kFallStream = 0x66616c6c;  // "fall"
constexpr double kRounding = 1e-9;

// What decisions come to, by what they say that is done.
class Accounts {
 public:
  Accounts(const Catalog& catalog, const Budgets& budgets, const Paging& paging)
      : catalog_(catalog), budgets_(budgets), paging_(paging) {}

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

// Sums of days, which finish() turns into means.
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
    for (double* dollar :
         {&sum_.mean_accuracy, &sum_.bound, &sum_.free_bound, &sum_.joules, &sum_.dollars}) {
      *dollar /= days;
    }
    sum_.mean_ratio /= static_cast<double>(std::max<size_t>(judged_, 1));
    return std::move(sum_);
  }

 private:
  DaysReport sum_;
  size_t judged_ = 0;  // days in which there was a bound above 0
};

}  // namespace

Status check(const Usage& usage, size_t tasks) {
  if (!(usage.down >= 0 && usage.down <= 0.99) ||
      !(usage.down_seconds >= 1 && usage.down_seconds <= 1e9)) {
    return invalid("outages take a share of the time from 0 to 0.99, and a second or more each");
  }
  for (const Stream& stream : usage.streams) {
    if (stream.tasks.empty() || stream.per_hour.empty() || stream.per_hour.size() > kMostParts) {
      return invalid("a stream has no task, no rate or too many rates");
    }
    if (!(stream.spread >= 0 && stream.spread <= 1)) return invalid("a spread is not from 0 to 1");
    for (const size_t task : stream.tasks) {
      if (task >= tasks) return invalid("a stream is for a task that does not exist");
    }
    for (const double rate : stream.per_hour) {
      if (!(rate >= 0 && rate <= kMostRate)) return invalid("a rate is negative or too high");
    }
  }
  return {};
}

std::vector<Request> draw_day(const Usage& usage, double seconds, uint64_t seed, uint64_t day) {
  const RandomStream all = RandomStream(seed, day);
  const std::vector<double> changes = link_changes(usage, seconds, Draws(all.child(0)));
  std::vector<Request> requests;
  for (size_t s = 0; s < usage.streams.size(); ++s) {
    const Stream& stream = usage.streams[s];
    Draws draws(all.child(s + 1));
    const double part = seconds / static_cast<double>(stream.per_hour.size());
    for (size_t p = 0; p < stream.per_hour.size(); ++p) {
      const double level = 1 + stream.spread * (2 * draws.uniform() - 1);
      const double rate = level * stream.per_hour[p] / kHour;
      if (rate <= 0) continue;
      const double begin = static_cast<double>(p) * part;
      for (double at = begin; (at += draws.exponential(1 / rate)) < begin + part;) {
        const uint64_t input = (uint64_t{s} << 40) + requests.size();
        for (const size_t task : stream.tasks) requests.push_back({at, task, input, true});
      }
    }
  }
  std::ranges::stable_sort(requests, {}, &Request::at);
  for (Request& request : requests) request.cloud_up = is_up(changes, request.at);
  return requests;
}

std::vector<double> requests_per_day(const Usage& usage, size_t tasks, double seconds) {
  std::vector<double> requests(tasks, 0);
  for (const Stream& stream : usage.streams) {
    const double part = seconds / static_cast<double>(stream.per_hour.size()) / kHour;
    double sum = 0;
    for (const double rate : stream.per_hour) sum += rate * part;
    for (const size_t task : stream.tasks) requests[task] += sum;
  }
  return requests;
}

Bound bound_of(const Catalog& catalog, const Budgets& budgets, std::span<const Request> requests) {
  std::map<uint64_t, size_t> sharing;
  if (!catalog.fragments.empty()) {
    for (const Request& request : requests) ++sharing[request.input];
  }
  std::map<GroupKey, double> counts;
  std::vector<double> of_task(catalog.tasks.size(), 0);
  double weight = 0;
  for (const Request& request : requests) {
    const size_t shared = catalog.fragments.empty() ? 1 : sharing[request.input];
    counts[{request.task, request.cloud_up, request.worker_up, shared}] += 1;
    of_task[request.task] += 1;
    weight += catalog.tasks[request.task].weight;
  }
  if (weight <= 0) return {};
  const std::vector<double> users = users_of_fragments(catalog);
  std::vector<ChoiceGroup> groups;
  for (const auto& [key, count] : counts) {
    ChoiceGroup& group = groups.emplace_back();
    const Task& task = catalog.tasks[key.task];
    for (const Option& option : task.options) {
      if (option.ms > task.latency_ms || option.bytes > budgets.bytes) continue;
      if ((option.needs_cloud() && !key.up) || (option.needs_worker() && !key.worker_up)) continue;
      group.push_back(choice_of(catalog, users, key, option, count, of_task[key.task]));
    }
  }
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  const auto bytes = static_cast<double>(budgets.bytes);
  return {pack(groups, {budgets.joules, budgets.dollars, bytes}).value / weight,
          pack(groups, {budgets.joules, budgets.dollars, kNoLimit}).value / weight};
}

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
