// The checks of mcdnn 8 that compare policies over whole days: MC-6, MC-8 to MC-10, MC-12 to MC-16,
// MC-19 and MC-20.
#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "shoal/schedule/bound.h"
#include "shoal/schedule/class_watch.h"
#include "shoal/schedule/explain.h"
#include "shoal/schedule/simulate.h"
#include "shoal/schedule/testing.h"

namespace shoal::schedule {
namespace {

DayReport run(const Workload& load, const std::vector<Request>& day,
              const SimulateOptions& options = {}) {
  Scheduler scheduler(load.catalog, load.budgets, load.paging);
  return simulate_day(scheduler, load.budgets, load.paging, day, options);
}

// Six tasks with ten variants each, whose rates change by the hour.
Workload six_tasks(uint64_t seed, bool with_cloud) {
  std::mt19937_64 random(seed);
  Workload all;
  double joules = 0, bytes = 0;
  for (size_t t = 0; t < 6; ++t) {
    Task task{.name = "t" + std::to_string(t)};
    task.options = family(random, 10, 20, {.dollars_per_second = 1e-3});
    if (!with_cloud) std::erase_if(task.options, [](const Option& o) { return o.needs_cloud(); });
    Stream stream{.tasks = {t}, .spread = 0.2};
    for (size_t hour = 0; hour < 10; ++hour) {
      stream.per_hour.push_back(10 + double((hour * 7 + t * 5) % 10) * 4);
    }
    all.usage.streams.push_back(stream);
    const double count = requests_per_day(all.usage, 6, 36'000)[t];
    task.requests_per_day = count;
    joules += count * task.options[0].joules;
    bytes += double(task.options[0].bytes);
    all.catalog.tasks.push_back(std::move(task));
  }
  all.budgets = {.joules = 0.3 * joules, .bytes = int64_t(bytes), .seconds = 36'000};
  all.paging = {.joules_per_byte = 2 / bytes, .seconds_per_byte = 1e-9};
  return all;
}

struct FixedReport {
  double mean_accuracy = 0;
  int64_t page_in_bytes = 0;
  double last_answer = 0;
};

// One variant of each task, never another, in a cache that evicts what was not used for longest.
FixedReport run_fixed(const Workload& load, const std::vector<size_t>& variants,
                      const std::vector<Request>& day) {
  FixedReport report;
  std::deque<size_t> cache;  // tasks, the last used one last
  double joules = load.budgets.joules;
  int64_t used = 0;
  const auto of = [&](size_t task) -> const Option& {
    return load.catalog.tasks[task].options[variants[task]];
  };
  for (const Request& request : day) {
    const Option& option = of(request.task);
    if (option.bytes > load.budgets.bytes) continue;
    const auto found = std::ranges::find(cache, request.task);
    const bool loads = found == cache.end();
    const double page = loads ? load.paging.joules_per_byte * double(option.bytes) : 0;
    if (option.joules + page > joules) continue;
    if (!loads) cache.erase(found);
    for (; loads && used + option.bytes > load.budgets.bytes; cache.pop_front()) {
      used -= of(cache.front()).bytes;
    }
    cache.push_back(request.task);
    joules -= option.joules + page;
    if (loads) {
      used += option.bytes;
      report.page_in_bytes += option.bytes;
    }
    report.mean_accuracy += option.accuracy / double(day.size());
    report.last_answer = request.at;
  }
  return report;
}

// The variant farthest above the line from the cheapest to the dearest.
size_t knee(const Task& task) {
  size_t best = 0, count = 0;
  while (count < task.options.size() && !task.options[count].needs_cloud()) ++count;
  const Option &dear = task.options[0], &cheap = task.options[count - 1];
  double most = -1;
  for (size_t i = 0; i < count; ++i) {
    const Option& one = task.options[i];
    const double x = (one.joules - cheap.joules) / (dear.joules - cheap.joules);
    const double y = (one.accuracy - cheap.accuracy) / (dear.accuracy - cheap.accuracy);
    if (y - x > most) {
      most = y - x;
      best = i;
    }
  }
  return best;
}

std::vector<size_t> knees(const Catalog& catalog) {
  std::vector<size_t> all;
  for (const Task& task : catalog.tasks) all.push_back(knee(task));
  return all;
}

TEST(Mcdnn, AllVariantsBeatTheBestFixedOnesWhichBeatTheOriginals) {  // MC-6
  for (uint64_t seed = 1; seed <= cases(2, 20); ++seed) {
    Workload load = six_tasks(seed, false);
    const auto day = load.day(seed);
    double knee_joules = 0;
    for (const Request& request : day) {
      const Task& task = load.catalog.tasks[request.task];
      knee_joules += task.options[knee(task)].joules;
    }
    load.budgets.joules = 0.8 * knee_joules;  // not enough for either
    const FixedReport original = run_fixed(load, std::vector<size_t>(6, 0), day);
    const FixedReport best = run_fixed(load, knees(load.catalog), day);
    const DayReport all = run(load, day);
    EXPECT_GT(all.mean_accuracy, best.mean_accuracy) << seed;
    EXPECT_GT(best.mean_accuracy, original.mean_accuracy) << seed;
    EXPECT_LT(best.last_answer, 0.95 * load.budgets.seconds) << seed;
    EXPECT_LT(original.last_answer, 0.95 * load.budgets.seconds) << seed;
    EXPECT_LE(all.dropped, day.size() / 100) << seed;
    EXPECT_EQ(all.violations, 0U);
  }
}

TEST(Mcdnn, CacheThatShrinksVariantsBeatsCachesThatOnlyEvict) {  // MC-8
  for (uint64_t seed = 1; seed <= cases(1, 20); ++seed) {
    for (const double part : {0.25, 0.5, 0.75, 1.0}) {
      Workload load = six_tasks(seed, false);
      load.budgets.bytes = int64_t(part * double(load.budgets.bytes));
      load.budgets.joules *= 4.5;  // more than the originals take, if they need not be read again
      load.paging.joules_per_byte *= 30;
      const auto day = load.day(seed);
      const FixedReport original = run_fixed(load, std::vector<size_t>(6, 0), day);
      const FixedReport best = run_fixed(load, knees(load.catalog), day);
      const DayReport all = run(load, day);
      EXPECT_GE(all.mean_accuracy, original.mean_accuracy - 1e-9) << seed << " " << part;
      EXPECT_GE(all.mean_accuracy, best.mean_accuracy - 1e-9) << seed << " " << part;
      if (part >= 1) continue;
      EXPECT_LT(all.page_in_bytes, original.page_in_bytes) << seed << " " << part;
      EXPECT_GT(all.mean_accuracy, best.mean_accuracy) << seed << " " << part;
    }
  }
}

TEST(Mcdnn, OutagesCostLittleAndMoneyIsSpentAfterwards) {  // MC-9
  for (uint64_t seed = 1; seed <= cases(2, 20); ++seed) {
    Workload load = six_tasks(seed, true);
    load.budgets.dollars = 0.002;
    const DayReport always = run(load, load.day(seed));
    load.usage.down = 0.3;
    load.usage.down_seconds = 1200;
    const auto day = load.day(seed);
    bool was_down = false;
    double spent_afterwards = 0;
    SimulateOptions options;
    options.decided = [&](const Decision& decision) {
      was_down = was_down || !decision.request.cloud_up;
      if (was_down) spent_afterwards += decision.dollars;
    };
    const DayReport report = run(load, day, options);
    EXPECT_EQ(report.answered + report.dropped, day.size());
    EXPECT_LE(report.dropped, day.size() / 100) << seed;
    EXPECT_GT(report.mean_accuracy, 0.95 * always.mean_accuracy) << seed;
    EXPECT_GT(spent_afterwards, 0.5 * load.budgets.dollars) << seed;
    EXPECT_EQ(report.violations, 0U);
  }
}

TEST(Mcdnn, EndsTheDayWithoutCloudAndTakesTheBestWithOneForNothing) {  // MC-10
  Workload load = six_tasks(1, true);
  const auto day = load.day(1);
  const DayReport none = run(load, day);  // no dollars
  EXPECT_GE(none.answered, day.size() - day.size() / 100);
  for (Task& task : load.catalog.tasks) {
    for (Option& option : task.options) {
      if (option.place == Place::kCloud) option.dollars = option.joules = 0;
    }
  }
  const DayReport free = run(load, day);
  double best = 0;
  for (const Request& request : day) {
    best += load.catalog.tasks[request.task].options[0].accuracy / double(day.size());
  }
  EXPECT_LT(none.mean_accuracy, free.mean_accuracy);
  EXPECT_NEAR(free.mean_accuracy, best, 1e-9);
}

TEST(Mcdnn, SameSeedGivesTheSameLogAndTheLogNamesEveryOption) {  // MC-19
  Workload load = draw_workload(7, 500);
  const auto day = load.day(7);
  const DayReport first = run(load, day, {.hash_log = true});
  size_t lines = 0;
  SimulateOptions options{.hash_log = true};
  options.log = [&](const std::string& line) {
    const Request& request = day[lines++];
    for (const Option& option : load.catalog.tasks[request.task].options) {
      EXPECT_NE(line.find(option.variant + " " + name_of(option.place) + ": "), std::string::npos);
    }
    EXPECT_NE(line.find("left "), std::string::npos);
    EXPECT_NE(line.find("prices "), std::string::npos);
  };
  EXPECT_EQ(run(load, day, options).log_hash, first.log_hash);
  EXPECT_EQ(lines, day.size());
  load.budgets.joules *= 0.9;
  EXPECT_NE(run(load, day, {.hash_log = true}).log_hash, first.log_hash);
}

TEST(Mcdnn, SteadyRequestsChangeTheVariantOfATaskAtMostOnceAfterAnHour) {  // MC-20
  for (uint64_t seed = 1; seed <= cases(2, 20); ++seed) {
    Workload load = six_tasks(seed, false);
    load.budgets.bytes /= 2;
    std::vector<Request> day;
    for (size_t i = 0; i < 6000; ++i) day.push_back({6.0 * double(i), i % 6, i, true});
    for (Task& task : load.catalog.tasks) task.requests_per_day = 1000;
    std::vector<size_t> changes(6, 0);
    std::vector<std::optional<size_t>> last(6);
    SimulateOptions options;
    options.decided = [&](const Decision& decision) {
      const size_t task = decision.request.task;
      if (decision.request.at > 3600 && last[task] != decision.option) ++changes[task];
      last[task] = decision.option;
    };
    run(load, day, options);
    for (const size_t count : changes) EXPECT_LE(count, 1U) << seed;
  }
}

// Four tasks about the same faces. The fragment takes so much of each network.
Workload faces(double depth, bool shared) {
  Workload load;
  const Fragment prefix{"faces", 10 * depth, depth, int64_t(1e6 * depth)};
  if (shared) load.catalog.fragments = {prefix};
  Stream stream{.tasks = {}, .per_hour = {60}};
  for (size_t t = 0; t < 4; ++t) {
    Option option{.variant = "v", .accuracy = 0.9, .ms = 10, .joules = 1, .bytes = 1'000'000};
    if (shared) {
      option.ms -= prefix.ms;
      option.joules -= prefix.joules;
      option.bytes -= prefix.bytes;
      option.fragment = 0;
    }
    load.catalog.tasks.push_back(
        {.name = "t" + std::to_string(t), .requests_per_day = 60, .options = {option}});
    stream.tasks.push_back(t);
  }
  load.usage.streams = {stream};
  load.budgets = {.joules = 1e6, .bytes = 10'000'000, .seconds = 3600};
  return load;
}

TEST(Mcdnn, SharedFragmentsAreStoredOnceAndRunOnceForAnInput) {  // MC-15, MC-16
  double before = 0;
  for (const double depth : {0.25, 0.5, 0.75}) {
    const Workload shared = faces(depth, true), apart = faces(depth, false);
    const auto day = shared.day(1);
    const double inputs = double(day.size()) / 4;
    Scheduler scheduler(shared.catalog, shared.budgets, shared.paging);
    const DayReport together = simulate_day(scheduler, shared.budgets, shared.paging, day);
    const DayReport alone = run(apart, day);
    EXPECT_NEAR(shared.budgets.joules - scheduler.joules_left(), together.joules, 1e-6);
    EXPECT_EQ(together.peak_bytes, int64_t(1e6 * depth) + 4 * int64_t(1e6 * (1 - depth)));
    EXPECT_EQ(alone.peak_bytes, 4'000'000);
    EXPECT_NEAR(together.joules, inputs * (depth + 4 * (1 - depth)), 1e-6);
    EXPECT_NEAR(alone.joules, inputs * 4, 1e-6);
    const double saved = 1 - together.joules / alone.joules;
    EXPECT_GT(saved, before);
    before = saved;
  }
}

// 200 classes, of which five are most of what is seen; later five others.
class Drift {
 public:
  static constexpr size_t kClasses = 200;

  size_t draw(bool later) {
    if (random_() % 10 == 0) return random_() % kClasses;
    return (later ? 100 : 0) + random_() % 5;
  }
  std::mt19937& random() { return random_; }

 private:
  std::mt19937 random_{5};
};

// A cascade of a network for these classes: it answers 97 % of their images, and 4 % of others.
bool falls(const std::vector<size_t>& special, size_t seen, std::mt19937& random) {
  const bool is_one = std::ranges::find(special, seen) != special.end();
  return random() % 100 >= (is_one ? 97U : 4U);
}

TEST(Mcdnn, SpecialNetworkSavesEnergyAndIsReplacedAfterDrift) {  // MC-12, MC-13
  const Option general{.variant = "general", .accuracy = 0.9, .ms = 10, .joules = 1};
  const Option unused{.variant = "special", .accuracy = 0, .ms = 10, .joules = 10};
  Catalog catalog;
  catalog.tasks = {{.name = "objects", .requests_per_day = 20'000, .options = {general, unused}}};
  const Budgets budgets{.joules = 12'000, .bytes = 1000, .seconds = 20'000};
  Scheduler scheduler(catalog, budgets, {});
  ClassWatch watch(Drift::kClasses);
  Drift stream;
  std::vector<size_t> special;
  std::vector<double> switched;
  double joules = 0, specials = 0, fallen = 0;
  for (size_t i = 0; i < 20'000; ++i) {
    const double now = double(i);
    const size_t seen = stream.draw(i >= 10'000);
    const Decision& decision = scheduler.decide({now, 0, i, true});
    ASSERT_TRUE(decision.option.has_value()) << i;
    const bool is_special = *decision.option == 1;
    const bool fell = is_special && falls(special, seen, stream.random());
    scheduler.settle(decision, fell);
    joules += is_special ? 0.2 + (fell ? 1 : 0) : 1;
    specials += is_special ? 1 : 0;
    fallen += fell ? 1 : 0;
    watch.note(seen, now);
    if (const auto few = watch.few(); !few.empty() && few != special &&
                                      (special.empty() || scheduler.fallback_share({0, 1}) > 0.5)) {
      special = few;
      switched.push_back(now);
      scheduler.replace(
          {0, 1}, {.variant = "special",
                   .accuracy = 0.93,
                   .ms = 2,
                   .joules = 0.2,
                   .fallback = Fallback{.share = 0.15, .accuracy = 0.9, .ms = 10, .joules = 1}});
    }
    if (scheduler.plan_due()) scheduler.plan(now);
  }
  ASSERT_EQ(switched.size(), 2U);
  EXPECT_GT(switched[1], 10'000);
  EXPECT_NEAR(budgets.joules - scheduler.joules_left(), joules, 1e-6);
  const double expected = specials * 0.2 + fallen + (20'000 - specials);
  EXPECT_NEAR(joules, expected, 0.1 * expected);
  EXPECT_LE(joules, 0.6 * 20'000);
}

TEST(ClassWatch, CallsForNothingWhereAllClassesAreSeen) {  // MC-14
  ClassWatch watch(200);
  std::mt19937 random(1);
  for (size_t i = 0; i < 5000; ++i) {
    watch.note(random() % 200, double(i));
    ASSERT_TRUE(watch.few().empty());
  }
}

TEST(ClassWatch, NamesTheClassesThatAreSeenNow) {
  ClassWatch watch(200);
  Drift stream;
  for (size_t i = 0; i < 5000; ++i) watch.note(stream.draw(false), double(i));
  const std::vector<size_t> few = watch.few();
  EXPECT_GE(few.size(), 5U);
  EXPECT_TRUE(std::ranges::includes(few, std::vector<size_t>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace shoal::schedule
