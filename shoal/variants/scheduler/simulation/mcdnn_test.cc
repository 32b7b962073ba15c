// The checks of docs/references.md that compare policies over whole days: MC-6, MC-8 to MC-10,
// MC-12 to MC-17, MC-19 and MC-20.
#include <gtest/gtest.h>

#include <cstdio>
#include <deque>
#include <optional>

#include "shoal/variants/scheduler/class_watch.h"
#include "shoal/variants/scheduler/explain.h"
#include "shoal/variants/scheduler/simulation/bound.h"
#include "shoal/variants/scheduler/simulation/day_testing.h"
#include "shoal/variants/scheduler/simulation/simulate_day.h"
#include "shoal/variants/scheduler/specialiser.h"

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
    EXPECT_EQ(all.dropped, 0U) << seed;
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
    EXPECT_EQ(report.dropped, 0U) << seed;
    EXPECT_GT(report.mean_accuracy, 0.95 * always.mean_accuracy) << seed;
    EXPECT_GT(spent_afterwards, 0.5 * load.budgets.dollars) << seed;
    EXPECT_GT(report.dollars, 0.7 * load.budgets.dollars) << seed;
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

// How a network for some classes answers: 97 % of their images, of which 93 % rightly, and 4 % of
// others, all wrongly. The general one is right in 90 %.
class Cascade {
 public:
  static constexpr double kRight = 0.9;

  Option option() const {
    return {.variant = "special",
            .accuracy = 0.93,
            .ms = 2,
            .joules = 0.2,
            .fallback = Fallback{.share = 0.15, .accuracy = kRight, .ms = 10, .joules = 1}};
  }
  bool falls(const std::vector<size_t>& special, size_t seen) {
    own_ = std::ranges::find(special, seen) != special.end();
    return random_() % 100 >= (own_ ? 97U : 4U);
  }
  bool is_right(bool by_special) {
    if (by_special) return own_ && random_() % 100 < 93;
    return random_() % 100 < 90;
  }

 private:
  std::mt19937 random_{9};
  bool own_ = false;
};

struct SpecialDay {
  double joules = 0, right = 0, specials = 0, fallen = 0;
  double worst_window = 1;            // mean accuracy of 500 answers one after another
  std::vector<double> made, retired;  // seconds
};

// A day of one task with a request a second. `draw` gives the class of each.
template <class Draw>
SpecialDay run_special(size_t requests, Draw draw) {
  Cascade cascade;
  Catalog catalog;
  catalog.tasks = {{.name = "objects",
                    .requests_per_day = double(requests),
                    .options = {{.variant = "general", .accuracy = 0.9, .ms = 10, .joules = 1},
                                cascade.option()}}};
  const Budgets budgets{
      .joules = 1.1 * double(requests), .bytes = 1000, .seconds = double(requests)};
  Scheduler scheduler(catalog, budgets, {});
  const OptionId special{0, 1};
  scheduler.set_in_use(special, false);
  scheduler.plan(0);
  Specialiser specialiser(Drift::kClasses, {.watch = {.most = 7}});
  SpecialDay day;
  std::deque<bool> window;
  double in_window = 0;
  for (size_t i = 0; i < requests; ++i) {
    const double now = double(i);
    const size_t seen = draw(i);
    const Decision& decision = scheduler.decide({now, 0, i, true});
    SHOAL_CHECK(decision.option.has_value());
    const bool is_special = *decision.option == special.option;
    const bool fell = is_special && cascade.falls(specialiser.classes(), seen);
    const bool right = cascade.is_right(is_special && !fell);
    scheduler.settle(decision, fell);
    day.joules += is_special ? 0.2 + (fell ? 1 : 0) : 1;
    day.specials += is_special ? 1 : 0;
    day.fallen += fell ? 1 : 0;
    day.right += right ? 1 : 0;
    window.push_back(right);
    in_window += right ? 1 : 0;
    if (window.size() > 500) {
      in_window -= window.front() ? 1 : 0;
      window.pop_front();
      day.worst_window = std::min(day.worst_window, in_window / 500);
    }
    specialiser.note(seen, now);
    const SpecialAdvice advice =
        specialiser.advise(scheduler.fallback_share(special), break_even(cascade.option()), now);
    if (advice.kind == SpecialAdvice::Kind::kMake) {
      scheduler.replace(special, cascade.option());
      scheduler.set_in_use(special, true);
      scheduler.plan(now);
      specialiser.made(advice.classes);
      day.made.push_back(now);
    } else if (advice.kind == SpecialAdvice::Kind::kRetire) {
      scheduler.set_in_use(special, false);
      day.retired.push_back(now);
    }
    if (scheduler.plan_due()) scheduler.plan(now);
  }
  EXPECT_NEAR(budgets.joules - scheduler.joules_left(), day.joules, 1e-6);
  return day;
}

TEST(Mcdnn, CascadeCostsWhatTheFormulaSaysAndLessThanTheGeneralNetwork) {  // MC-12
  Drift stream;
  const SpecialDay day = run_special(20'000, [&](size_t) { return stream.draw(false); });
  ASSERT_EQ(day.made.size(), 1U);
  EXPECT_TRUE(day.retired.empty());
  // 92.5 % of what is seen after that is of the five classes.
  const double own = 0.9 + 0.1 * 5 / 200, falls = own * 0.03 + (1 - own) * 0.96;
  const double formula = 0.2 + falls, measured = 0.2 + day.fallen / day.specials;
  std::printf("MC-12: cost %.4f, by the formula %.4f; accuracy %.4f of %.4f\n", measured, formula,
              day.right / 20'000, Cascade::kRight);
  EXPECT_NEAR(measured, formula, 0.1 * formula);
  EXPECT_LE(measured, 0.6);
  EXPECT_GE(day.specials, 0.95 * 19'000);
  EXPECT_GE(day.right / 20'000, Cascade::kRight - 0.01);
}

TEST(Mcdnn, DriftRetiresTheSpecialNetworkAndMakesAnother) {  // MC-13
  Drift stream;
  constexpr size_t kRequests = 30'000;
  const SpecialDay day =
      run_special(kRequests, [&](size_t i) { return stream.draw(i / 10'000 % 2 == 1); });
  ASSERT_EQ(day.made.size(), 3U);
  ASSERT_EQ(day.retired.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    const double change = 10'000 * double(i + 1);
    EXPECT_GT(day.retired[i], change);
    EXPECT_LT(day.retired[i], change + 200);
    EXPECT_GT(day.made[i + 1], day.retired[i]);
    EXPECT_LT(day.made[i + 1], change + 4000);
  }
  // The general network's worst window of as many answers by the same draws.
  Cascade general;
  double worst = 1, sum = 0;
  std::deque<bool> window;
  for (size_t i = 0; i < kRequests; ++i) {
    window.push_back(general.is_right(false));
    sum += window.back() ? 1 : 0;
    if (window.size() <= 500) continue;
    sum -= window.front() ? 1 : 0;
    window.pop_front();
    worst = std::min(worst, sum / 500);
  }
  std::printf("MC-13: retired after %.0f and %.0f s, worst window %.4f, of the general one %.4f\n",
              day.retired[0] - 10'000, day.retired[1] - 20'000, day.worst_window, worst);
  EXPECT_GE(day.worst_window, worst - 0.02);
  EXPECT_LE(day.joules, 0.6 * kRequests);
}

TEST(Mcdnn, NothingIsSpecialisedWhereAllClassesAreSeen) {  // MC-14
  std::mt19937 random(1);
  const SpecialDay day = run_special(5000, [&](size_t) { return random() % Drift::kClasses; });
  EXPECT_TRUE(day.made.empty());
  EXPECT_EQ(day.joules, 5000);
}

// A network that cannot be made is asked for again, but not at once.
TEST(Specialiser, AsksAgainAfterAPause) {
  Specialiser specialiser(Drift::kClasses, {.pause = 100});
  std::vector<double> asked;
  for (size_t i = 0; i < 1000; ++i) {
    const double now = double(i);
    specialiser.note(i % 5, now);
    if (specialiser.advise(0, 1, now).kind != SpecialAdvice::Kind::kMake) continue;
    EXPECT_EQ(specialiser.classes(), (std::vector<size_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(specialiser.advise(0, 1, now).kind, SpecialAdvice::Kind::kNothing);
    asked.push_back(now);
    specialiser.failed(now);
  }
  ASSERT_GE(asked.size(), 3U);
  for (size_t i = 1; i < asked.size(); ++i) EXPECT_EQ(asked[i] - asked[i - 1], 100);
}

// Nearby, in the cloud, split and here: each is taken where the others cannot be or cost too much.
TEST(Mcdnn, TakesThePlaceThatLinksBudgetsAndLatencyAllow) {  // MC-17 and the places of [Han 2016]
  const Option big{.variant = "big", .accuracy = 0.9, .ms = 100, .joules = 2, .bytes = 50};
  const Option small{.variant = "small", .accuracy = 0.7, .ms = 10, .joules = 0.2, .bytes = 10};
  const Cloud cloud{
      .round_trip_ms = 20, .bytes_per_second = 1e6, .speed = 10, .dollars_per_second = 0.1};
  const Cut cut{.nodes = 4, .share = 0.25, .bytes = 5, .sent_bytes = 10e3};
  const Option split = in_split(big, cloud, cut);
  EXPECT_NEAR(split.ms, 25 + 20 + 10 + 7.5, 1e-9);
  EXPECT_NEAR(split.joules, 0.5 + 0.01, 1e-9);
  EXPECT_NEAR(split.dollars, 0.1 * 0.0075, 1e-12);
  EXPECT_EQ(split.sent_bytes, 10e3);
  Catalog catalog;
  catalog.tasks = {
      {.name = "a",
       .requests_per_day = 10,
       .options = {
           big, small, in_cloud(big, cloud, 100e3), split,
           on_worker(big,
                     {.round_trip_ms = 1, .bytes_per_second = 1e7, .radio_watts = 0.1, .speed = 1},
                     100e3)}}};
  ASSERT_TRUE(check(catalog).ok());
  const auto taken = [&](Budgets budgets, Request request) -> std::string {
    Scheduler scheduler(catalog, budgets, {});
    const Decision decision = scheduler.decide(request);
    if (!decision.option) return "none";
    const Option& option = catalog.tasks[0].options[*decision.option];
    return option.variant + " " + name_of(option.place);
  };
  const Budgets plenty{.joules = 1e6, .dollars = 1e6, .bytes = 100, .seconds = 10};
  Budgets poor = plenty;
  poor.dollars = 0;
  EXPECT_EQ(taken({.joules = 5, .dollars = 1e6, .bytes = 100, .seconds = 10}, {}), "big worker");
  Request request{.worker_up = false};
  EXPECT_EQ(taken({.joules = 6, .dollars = 1e6, .bytes = 100, .seconds = 10}, request),
            "big cloud");
  request.latency_ms = 70;  // the upload takes too long
  EXPECT_EQ(taken({.joules = 6, .dollars = 1e6, .bytes = 100, .seconds = 10}, request),
            "big split");
  request.cloud_up = false;
  EXPECT_EQ(taken(plenty, request), "small here");
  EXPECT_EQ(taken(poor, {.worker_up = false}), "big here");
  poor.joules = 1.9;
  EXPECT_EQ(taken(poor, {.worker_up = false}), "small here");
}

TEST(Scheduler, GivesMoneyBackWhereNoAnswerCame) {
  Catalog catalog;
  catalog.tasks = {{.name = "a",
                    .requests_per_day = 10,
                    .options = {{.variant = "v",
                                 .place = Place::kCloud,
                                 .accuracy = 0.9,
                                 .joules = 0.1,
                                 .dollars = 0.5}}}};
  Scheduler scheduler(catalog, {.joules = 10, .dollars = 5, .bytes = 0, .seconds = 10}, {});
  const Decision decision = scheduler.decide({});
  ASSERT_TRUE(decision.option.has_value());
  EXPECT_EQ(scheduler.dollars_left(), 4.5);
  scheduler.give_back(decision);
  EXPECT_EQ(scheduler.dollars_left(), 5);
  EXPECT_EQ(scheduler.joules_left(), 9.9);
  EXPECT_FALSE(scheduler.decide({.cloud_up = false}).option.has_value());
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
