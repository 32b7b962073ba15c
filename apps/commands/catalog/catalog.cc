#include "apps/commands/catalog/catalog.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "apps/commands/catalog/schedule_files.h"
#include "shoal/variants/catalog/catalog.h"

namespace shoal::catalog {
namespace {

double ratio(double part, int64_t whole) {
  return whole > 0 ? part / static_cast<double>(whole) : 0;
}

Json json_of(const std::vector<Variant>& variants) {
  Json all = Json::array();
  for (const Variant& variant : variants) all.push_back(*Json::parse(to_json(variant)));
  return all;
}

std::string percent(double top1) { return fixed(top1, 2) + " %"; }

template <class Number>
std::string millions(Number count) {
  return fixed(static_cast<double>(count) / 1e6, 3);
}

double bytes_ratio(int64_t bytes, int64_t largest) {
  return ratio(static_cast<double>(bytes), largest);
}

std::vector<std::string> with_dominated(std::string first,
                                        const std::vector<std::string>& dominated) {
  std::vector<std::string> lines = {std::move(first)};
  for (const std::string& name : dominated) {
    lines.push_back(name + " is left out: another one is as good and costs less");
  }
  return lines;
}

}  // namespace

std::vector<Facts> rows_of(const std::vector<Variant>& variants) {
  std::vector<Facts> rows;
  for (const Variant& variant : variants) {
    const VariantFigures& f = variant.figures;
    rows.push_back({shown("variant", variant.name), shown("method", variant.method),
                    shown("top-1", percent(f.top1)), shown("MACs", millions(f.size.macs) + " M"),
                    shown("weights MB", millions(f.size.bytes)),
                    shown("memory MB", millions(f.memory)), shown("ms", fixed(f.ms, 3)),
                    shown("mJ", fixed(f.millijoules, 4))});
  }
  return rows;
}

Json to_json(const VariantsResult& result) {
  return {{"variants", json_of(result.catalog.variants)},
          {"dominated", result.dominated},
          {"top1_before", result.top1_before},
          {"folder_bytes", result.folder_bytes},
          {"largest_bytes", result.largest_bytes},
          {"bytes_ratio", bytes_ratio(result.folder_bytes, result.largest_bytes)},
          {"energy_model", energy_model()},
          {"epochs", result.epochs},
          {"seconds", result.seconds}};
}

std::vector<Facts> rows_of(const VariantsResult& result) {
  return rows_of(result.catalog.variants);
}

std::vector<std::string> lines_of(const VariantsResult& result) {
  const double times = bytes_ratio(result.folder_bytes, result.largest_bytes);
  return with_dominated("all of them in " + fixed(times, 3) +
                            " x the bytes of the largest; top-1 " + percent(result.top1_before) +
                            " before",
                        result.dominated);
}

Json to_json(const BuildResult& result) {
  return {{"variants", json_of(result.catalog.variants)},
          {"dominated", result.dominated},
          {"kept", result.kept},
          {"folder_bytes", result.folder_bytes},
          {"nested_bytes", result.nested_bytes},
          {"largest_bytes", result.largest_bytes},
          {"nested_ratio", bytes_ratio(result.nested_bytes, result.largest_bytes)},
          {"energy_model", energy_model()},
          {"seconds", result.seconds}};
}

std::vector<Facts> rows_of(const BuildResult& result) { return rows_of(result.catalog.variants); }

std::vector<std::string> lines_of(const BuildResult& result) {
  const double times = bytes_ratio(result.nested_bytes, result.largest_bytes);
  return with_dominated("all widths in " + fixed(times, 3) +
                            " x the bytes of the largest, all files " +
                            millions(result.folder_bytes) + " MB",
                        result.dominated);
}

Json to_json(const SpecialiseResult& result) {
  const double seconds = result.seconds_features + result.seconds_head;
  Json json = {{"top1", result.top1},
               {"top1_general", result.top1_general},
               {"top1_cascade", result.cascade.top1},
               {"cascade_cost", ratio(result.cascade.mean_macs, result.macs_general)},
               {"answered", result.cascade.share[0]},
               {"precision", result.cascade.precision[0]},
               {"threshold", result.threshold},
               {"held_out_top1_cascade", result.held_out.top1},
               {"held_out_cascade_cost", ratio(result.held_out.mean_macs, result.macs_general)},
               {"at", result.at},
               {"macs", result.macs},
               {"macs_general", result.macs_general},
               {"warm", result.warm},
               {"seconds_features", result.seconds_features},
               {"seconds_head", result.seconds_head},
               {"seconds_rest", result.seconds_rest},
               {"seconds", seconds}};
  if (result.controls) {
    json.update({{"seconds_cold", seconds},
                 {"seconds_warm", result.controls->seconds_warm},
                 {"seconds_full", result.controls->seconds_full},
                 {"top1_full", result.controls->top1_full},
                 {"weights_error", result.controls->weights_error}});
  }
  return json;
}

std::vector<Facts> rows_of(const SpecialiseResult& result) {
  const auto row = [](const char* network, double top1, double macs, const std::string& answers) {
    return Facts{shown("network", network), shown("top-1", percent(top1)),
                 shown("MACs", millions(macs) + " M"), shown("answers", answers)};
  };
  const auto share = [&](size_t i) { return fixed(100 * result.cascade.share[i], 1) + " %"; };
  return {row("special", result.top1, static_cast<double>(result.macs), share(0)),
          row("general", result.top1_general, static_cast<double>(result.macs_general), share(1)),
          row("cascade", result.cascade.top1, result.cascade.mean_macs, "")};
}

std::vector<std::string> lines_of(const SpecialiseResult& result) {
  std::vector<std::string> lines = {"features: " + fixed(result.seconds_features, 2) + " s" +
                                    (result.warm ? " from the cache" : "") +
                                    ", head: " + fixed(result.seconds_head, 2) + " s"};
  if (!result.controls) return lines;
  char error[16];
  std::snprintf(error, sizeof error, "%.1e", result.controls->weights_error);
  lines.push_back("from the cache: " + fixed(result.controls->seconds_warm, 2) +
                  " s; all layers: " + fixed(result.controls->seconds_full, 2) + " s, top-1 " +
                  percent(result.controls->top1_full) + "; weights differ by " + error);
  return lines;
}

SettingList settings_of(SpecialiseSettings& s) {
  SpecialiseOptions& o = s.options;
  return {
      {"classes", o.classes, "The classes that are seen now: 0,3,5"},
      Setting("other", o.other, "Share of images of other classes").in(0, 0.9),
      Setting("per-class", o.per_class,
              "Images of each class that it learns from; 0: all that there are")
          .not_negative(),
      {"at", o.at,
       "The value whose features it reads; auto: after a third of the work; head: before the "
       "last layer"},
      {"general", s.general,
       "The model that answers where it is not sure (default: the model itself)"},
      Setting("max-drop", o.max_drop, "Points that the two together may lose, on held-out images")
          .not_negative(),
      {"controls", o.controls,
       "Compare with learning without a cache, and with learning of all layers"}};
}

SpecialiseOptions resolve(const SpecialiseSettings& settings, fit::TrainingOptions recipe) {
  SpecialiseOptions options = settings.options;
  options.out = recipe.out;
  options.recipe = std::move(recipe);
  if (options.cache.empty()) {
    options.cache = std::filesystem::path(options.out).replace_extension(".features");
  }
  return options;
}

}  // namespace shoal::catalog

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

namespace shoal::config {
namespace {

double microseconds() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Result<SimulatedDays> simulate_days(const DaysSettings& settings) {
  SimulatedDays all;
  SHOAL_ASSIGN(all.catalog, read_tasks(settings.catalog));
  SHOAL_ASSIGN(all.trace, read_trace(settings.trace, all.catalog));
  schedule::DaysOptions options{
      .days = settings.days, .seed = settings.seed, .microseconds = microseconds};
  std::ofstream log;
  if (!settings.log.empty()) {
    log.open(settings.log);
    if (!log) return invalid("cannot write " + settings.log);
    options.log = [&](const std::string& line) { log << line << "\n"; };
  }
  all.report = schedule::simulate_days(all.catalog, all.trace, options);
  if (log.is_open() && !log.flush()) return invalid("cannot write " + settings.log);
  return all;
}

}  // namespace shoal::config
