// shoal catalog: variants of several tasks, how they are made, and a scheduler that chooses among
// them, in virtual time.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>

#include "cli.h"
#include "facts.h"
#include "shoal/config/schedule_files.h"
#include "shoal/schedule/days.h"
#include "train/build_catalog.h"

namespace shoal::cli {
namespace {

using schedule::DaysReport;
using schedule::Option;
using schedule::Task;

constexpr const char* kListExamples = R"(
Examples:
  shoal catalog list tasks.toml                variants of each task, and what they cost
  shoal catalog list lenet.variants --json     those of a folder that build or shrink --variants made)";
constexpr const char* kScheduleExamples = R"(
Examples:
  shoal catalog schedule tasks.toml day.toml               which variant answers how often, and where
  shoal catalog schedule tasks.toml day.toml --log day.log    every decision and its reasons)";
constexpr const char* kSimulateExamples = R"(
Examples:
  shoal catalog simulate tasks.toml day.toml --days 1000 --seed 1 --json
  shoal catalog simulate models/ day.toml --days 7 --log week.log)";

struct Flags {
  std::string catalog, trace, log;
  uint64_t days = 1, seed = 1;
  bool json = false;
};

double microseconds() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

// All days, by one scheduler that goes on learning.
Result<DaysReport> run_days(const Flags& flags, const schedule::Catalog& catalog,
                            const schedule::Trace& trace) {
  std::ofstream log;
  schedule::DaysOptions options{
      .days = flags.days, .seed = flags.seed, .microseconds = microseconds};
  if (!flags.log.empty()) {
    log.open(flags.log);
    if (!log) return invalid("cannot write " + flags.log);
    options.log = [&](const std::string& line) { log << line << "\n"; };
  }
  DaysReport days = schedule::simulate_days(catalog, trace, options);
  if (log.is_open() && !log.flush()) return invalid("cannot write " + flags.log);
  return days;
}

std::vector<Fact> facts_of(const DaysReport& days) {
  char hash[17];
  std::snprintf(hash, sizeof(hash), "%016llx", static_cast<unsigned long long>(days.log_hash));
  return {{"days", days.days, "days"},
          {"requests", days.requests, "requests"},
          {"answered", days.answered, "answered"},
          {"dropped", days.dropped},
          {"missed", days.missed},
          {"mean_accuracy", days.mean_accuracy, "accuracy", 4},
          {"lp_bound", days.bound, "bound", 4},
          {"lp_bound_free_paging", days.free_bound},
          {"mean_ratio", days.mean_ratio},
          {"worst_ratio", days.worst_ratio},
          {"worst_ratio_free_paging", days.worst_free_ratio},
          {"joules", days.joules, "J a day", 1},
          {"dollars", days.dollars, "$ a day", 4},
          {"page_ins", days.page_ins, "page-ins"},
          {"violations", days.violations, "violations"},
          {"decision_us_p50", days.decision_us.quantile(0.5)},
          {"decision_us_p99", days.decision_us.quantile(0.99), "us p99", 1},
          {"plan_us_p99", days.plan_us.quantile(0.99)},
          {"plans", days.plan_us.count()},
          {"log_hash", std::string(hash)}};
}

Outcome outcome_of(const DaysReport& days) {
  if (days.violations == 0) return {};
  return {Exit::kAccuracy, std::to_string(days.violations) + " violations of budgets"};
}

struct Read {
  schedule::Catalog catalog;
  schedule::Trace trace;
  DaysReport days;
};

Result<Read> read_and_run(const Flags& flags) {
  Read read;
  SHOAL_ASSIGN(read.catalog, config::read_tasks(flags.catalog));
  SHOAL_ASSIGN(read.trace, config::read_trace(flags.trace, read.catalog));
  SHOAL_ASSIGN(read.days, run_days(flags, read.catalog, read.trace));
  return read;
}

Outcome simulate(const Flags& flags) {
  SHOAL_OR_EXIT(const Read read, Exit::kUsage, read_and_run(flags));
  print_facts(facts_of(read.days), flags.json);
  return outcome_of(read.days);
}

Json json_of(const Option& option) {
  return {{"variant", option.variant},   {"place", name_of(option.place)},
          {"accuracy", option.accuracy}, {"ms", option.ms},
          {"joules", option.joules},     {"dollars", option.dollars},
          {"bytes", option.bytes}};
}

// The options of all tasks, for a table and as JSON; with `days`, those that answered, and how
// often.
Json list_options(const schedule::Catalog& catalog, const DaysReport* days, Table& table) {
  Json tasks = Json::array();
  for (size_t t = 0; t < catalog.tasks.size(); ++t) {
    const Task& task = catalog.tasks[t];
    Json options = Json::array();
    for (size_t i = 0; i < task.options.size(); ++i) {
      if (days != nullptr && !days->answers[t].contains(i)) continue;
      const Option& option = task.options[i];
      Json one = json_of(option);
      if (days != nullptr) one["answers"] = days->answers[t].at(i);
      options.push_back(std::move(one));
      table.add(
          {task.name, option.variant, name_of(option.place), fixed(option.accuracy, 4),
           fixed(option.ms, 2), fixed(option.joules, 4),
           days != nullptr ? std::to_string(days->answers[t].at(i)) : in_bytes(option.bytes)});
    }
    tasks.push_back({{"task", task.name}, {"options", std::move(options)}});
  }
  return tasks;
}

// One day, and how often each variant answers.
Outcome schedule_day(const Flags& flags) {
  SHOAL_OR_EXIT(const Read read, Exit::kUsage, read_and_run(flags));
  Table table({"task", "variant", "place", "accuracy", "ms", "J", "answers"});
  Json result = object_of(facts_of(read.days));
  result["tasks"] = list_options(read.catalog, &read.days, table);
  if (flags.json) {
    print_json(result);
  } else {
    table.print();
    std::printf("\n");
    print_facts(facts_of(read.days), false);
  }
  return outcome_of(read.days);
}

Outcome list(const Flags& flags) {
  SHOAL_OR_EXIT(const schedule::Catalog catalog, Exit::kUsage, config::read_tasks(flags.catalog));
  Table table({"task", "variant", "place", "accuracy", "ms", "J", "memory"});
  const Json tasks = list_options(catalog, nullptr, table);
  flags.json ? print_json(Json({{"tasks", tasks}})) : table.print();
  return {};
}

}  // namespace

void add_catalog(Command& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  Command* command = app.add_subcommand(
      "catalog", "Make variants of networks, and choose among them under a day's budgets");
  command->require_subcommand();
  add_catalog_build(*command, action);
  const auto add = [&](const char* name, const char* what, const char* examples, auto act) {
    Command* one = command->add_subcommand(name, what);
    one->footer(examples);
    one->add_option("CATALOG", flags->catalog, "A file of tasks, or a folder of variants")
        ->required();
    one->add_flag("--json", flags->json, "Print one JSON object");
    one->callback([flags, &action, act] { action = [flags, act] { return act(*flags); }; });
    return one;
  };
  const auto add_trace = [&](Command* one) {
    one->add_option("TRACE", flags->trace, "A file of budgets and requests")->required();
    one->add_setting("--seed", flags->seed, "Of what is drawn");
    one->add_option("--log", flags->log, "A file for every decision and its reasons");
  };
  add("list", "List tasks, variants and what they cost", kListExamples, list);
  add_trace(add("schedule", "One day: which variant answers, and where", kScheduleExamples,
                schedule_day));
  Command* days = add("simulate", "Many days in virtual time, against the best there could be",
                      kSimulateExamples, simulate);
  add_trace(days);
  days->add_setting("--days", flags->days, "How many", in_range(1, 1'000'000));
}

}  // namespace shoal::cli
