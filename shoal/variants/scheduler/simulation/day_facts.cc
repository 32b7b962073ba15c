#include "shoal/variants/scheduler/simulation/day_facts.h"

#include <cstdio>

namespace shoal::schedule {
namespace {

Facts facts_of(const Task& task, const Option& option, const size_t* answers) {
  Facts facts = {shown("task", task.name),
                 {"variant", option.variant, "variant"},
                 {"place", std::string(name_of(option.place)), "place"},
                 {"accuracy", option.accuracy, "accuracy", 4},
                 {"ms", option.ms, "ms", 2},
                 {"joules", option.joules, "J", 4},
                 {"dollars", option.dollars}};
  if (answers == nullptr) {
    facts.push_back(sized("bytes", option.bytes, "memory"));
  } else {
    facts.push_back({"bytes", option.bytes});
    facts.push_back({"answers", *answers, "answers"});
  }
  return facts;
}

// Of the options of one task.
std::vector<Facts> rows_of(const Catalog& catalog, size_t t, const DaysReport* days) {
  const Task& task = catalog.tasks[t];
  std::vector<Facts> rows;
  for (size_t i = 0; i < task.options.size(); ++i) {
    if (days == nullptr) {
      rows.push_back(facts_of(task, task.options[i], nullptr));
    } else if (const auto found = days->answers[t].find(i); found != days->answers[t].end()) {
      rows.push_back(facts_of(task, task.options[i], &found->second));
    }
  }
  return rows;
}

}  // namespace

Facts facts_of(const DaysReport& days) {
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

std::vector<Facts> option_rows(const Catalog& catalog, const DaysReport* days) {
  std::vector<Facts> all;
  for (size_t t = 0; t < catalog.tasks.size(); ++t) {
    for (Facts& row : rows_of(catalog, t, days)) all.push_back(std::move(row));
  }
  return all;
}

Json tasks_json(const Catalog& catalog, const DaysReport* days) {
  Json tasks = Json::array();
  for (size_t t = 0; t < catalog.tasks.size(); ++t) {
    tasks.push_back(
        {{"task", catalog.tasks[t].name}, {"options", list_of(rows_of(catalog, t, days))}});
  }
  return tasks;
}

}  // namespace shoal::schedule
