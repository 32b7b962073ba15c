// shoal catalog: variants of several tasks, how they are made, and a scheduler that chooses among
// them, in virtual time.
#include "apps/commands/catalog/catalog.h"

#include <cstdio>
#include <memory>

#include "apps/commands/catalog/schedule_files.h"
#include "cli.h"
#include "facts.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal catalog build lenet.toml -o lenet                  widths, int8 and what else the file asks for
  shoal catalog list lenet                                 what they cost
  shoal catalog simulate tasks.toml day.toml --days 7      which answer, under a day's budgets)";
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
  config::DaysSettings days;
  bool json = false;
};

Outcome outcome_of(const schedule::DaysReport& days) {
  if (days.violations == 0) return {};
  return {Exit::kAccuracy, std::to_string(days.violations) + " violations of budgets"};
}

Outcome simulate(const Flags& flags) {
  SHOAL_OR_EXIT(const auto days, Exit::kUsage, config::simulate_days(flags.days));
  print_facts(facts_of(days.report), flags.json);
  return outcome_of(days.report);
}

// One day, and how often each variant answers.
Outcome schedule_day(const Flags& flags) {
  SHOAL_OR_EXIT(const auto day, Exit::kUsage, config::simulate_days(flags.days));
  if (flags.json) {
    Json result = object_of(facts_of(day.report));
    result["tasks"] = tasks_json(day.catalog, &day.report);
    print_json(result);
  } else {
    table_of(option_rows(day.catalog, &day.report),
             {"task", "variant", "place", "accuracy", "ms", "J", "answers"})
        .print();
    std::printf("\n");
    print_facts(facts_of(day.report), false);
  }
  return outcome_of(day.report);
}

Outcome list(const Flags& flags) {
  SHOAL_OR_EXIT(const schedule::Catalog catalog, Exit::kUsage,
                config::read_tasks(flags.days.catalog));
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
  command->footer(kExamples);
  command->require_subcommand();
  add_catalog_build(*command, action);
  const auto add = [&](const char* name, const char* what, const char* examples, auto act) {
    Command* one = command->add_subcommand(name, what);
    one->footer(examples);
    one->add_option("CATALOG", flags->days.catalog, "A file of tasks, or a folder of variants")
        ->required();
    one->add_flag("--json", flags->json, "Print one JSON object");
    one->callback([flags, &action, act] { action = [flags, act] { return act(*flags); }; });
    return one;
  };
  const auto add_trace = [&](Command* one) {
    one->add_option("TRACE", flags->days.trace, "A file of budgets and requests")->required();
    one->add_setting("--seed", flags->days.seed, "Of what is drawn");
    one->add_option("--log", flags->days.log, "A file for every decision and its reasons");
  };
  add("list", "List tasks, variants and what they cost", kListExamples, list);
  add_trace(add("schedule", "One day: which variant answers, and where", kScheduleExamples,
                schedule_day));
  Command* days = add("simulate", "Many days in virtual time, against the best there could be",
                      kSimulateExamples, simulate);
  add_trace(days);
  days->add_setting("--days", flags->days.days, "How many", in_range(1, 1'000'000));
}

}  // namespace shoal::cli
