// shoal catalog: variants of several tasks, how they are made, and a scheduler that chooses among
// them, in virtual time.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>

#include "cli.h"
#include "facts.h"
#include "shoal/config/schedule_files.h"
#include "shoal/schedule/facts.h"
#include "train/build_catalog.h"

namespace shoal::cli {
namespace {

using schedule::DaysReport;

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

// One day, and how often each variant answers.
Outcome schedule_day(const Flags& flags) {
  SHOAL_OR_EXIT(const Read read, Exit::kUsage, read_and_run(flags));
  if (flags.json) {
    Json result = object_of(facts_of(read.days));
    result["tasks"] = tasks_json(read.catalog, &read.days);
    print_json(result);
  } else {
    table_of(option_rows(read.catalog, &read.days),
             {"task", "variant", "place", "accuracy", "ms", "J", "answers"})
        .print();
    std::printf("\n");
    print_facts(facts_of(read.days), false);
  }
  return outcome_of(read.days);
}

Outcome list(const Flags& flags) {
  SHOAL_OR_EXIT(const schedule::Catalog catalog, Exit::kUsage, config::read_tasks(flags.catalog));
  if (flags.json) {
    print_json({{"tasks", tasks_json(catalog)}});
  } else {
    table_of(option_rows(catalog), {"task", "variant", "place", "accuracy", "ms", "J", "memory"})
        .print();
  }
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
