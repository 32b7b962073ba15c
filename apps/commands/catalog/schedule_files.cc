// The files are written by hand: unknown keys and numbers that make no sense are errors that name
// the key.
#include "apps/commands/catalog/schedule_files.h"

#include <algorithm>
#include <utility>

#include "apps/commands/toml_file.h"
#include "shoal/base/text/printable.h"
#include "shoal/variants/catalog/as_task.h"

namespace shoal::config {
namespace {

using schedule::Option;
using schedule::Place;
using schedule::Task;
using schedule::Trace;

constexpr double kMost = 1e15, kMegabyte = 1e6, kHour = 3600;

// Not negative; `fallback` if it is not there.
Result<double> number(const toml::table& table, std::string_view key, double fallback) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return fallback;
  const auto value = node->value<double>();
  if (!value || !(*value >= 0 && *value <= kMost)) {
    return invalid(std::string(key) + " is not a number that makes sense");
  }
  return *value;
}

Result<double> number(const toml::table& table, std::string_view key) {
  if (table.get(key) == nullptr) return invalid(std::string(key) + " is missing");
  return number(table, key, 0);
}

Result<double> positive_number(const toml::table& table, std::string_view key, double fallback) {
  SHOAL_ASSIGN(const double value, number(table, key, fallback));
  if (value <= 0) return invalid(std::string(key) + " must be above 0");
  return value;
}

Result<std::string> text(const toml::table& table, std::string_view key) {
  const auto value = table[key].value<std::string>();
  if (!value) return invalid(std::string(key) + " is missing, or no text");
  return *value;
}

// Each table of [[key]].
template <class Read>
Status each_table(const toml::table& root, std::string_view key, Read read) {
  if (root.get(key) == nullptr) return {};
  const toml::array* entries = root[key].as_array();
  if (entries == nullptr) return invalid(std::string(key) + " is no list: write [[...]]");
  for (const toml::node& entry : *entries) {
    if (!entry.is_table()) return invalid(std::string(key) + " is not a list of tables");
    SHOAL_TRY(read(*entry.as_table()));
  }
  return {};
}

// The table [key]; an empty one if it is not there.
Result<toml::table> table_of(const toml::table& root, std::string_view key) {
  if (root.get(key) == nullptr) return toml::table();
  if (!root[key].is_table()) return invalid(std::string(key) + " is no table");
  return *root[key].as_table();
}

Result<Place> place_of(const std::string& name) {
  for (const Place place : {Place::kHere, Place::kCloud, Place::kSplit, Place::kWorker}) {
    if (name == name_of(place)) return place;
  }
  return invalid("there is no place " + printable(name) + "; here, worker, cloud or split");
}

class TasksReader {
 public:
  explicit TasksReader(const toml::table& root) : root_(root) {}

  Result<schedule::Catalog> run() {
    SHOAL_TRY(allow(root_, {"fragment", "task"}));
    SHOAL_TRY(each_table(root_, "fragment", [&](const auto& table) { return fragment(table); }));
    SHOAL_TRY(each_table(root_, "task", [&](const auto& table) { return task(table); }));
    SHOAL_TRY(check(catalog_));
    return std::move(catalog_);
  }

 private:
  Status fragment(const toml::table& table) {
    SHOAL_TRY(allow(table, {"name", "ms", "joules", "bytes"}));
    schedule::Fragment one;
    SHOAL_ASSIGN(one.name, text(table, "name"));
    SHOAL_ASSIGN(one.ms, number(table, "ms"));
    SHOAL_ASSIGN(one.joules, number(table, "joules"));
    SHOAL_ASSIGN(const double bytes, number(table, "bytes"));
    one.bytes = static_cast<int64_t>(bytes);
    catalog_.fragments.push_back(std::move(one));
    return {};
  }

  Status task(const toml::table& table) {
    SHOAL_TRY(allow(table, {"name", "latency_ms", "weight", "variant"}));
    Task one;
    SHOAL_ASSIGN(one.name, text(table, "name"));
    if (table.get("latency_ms") != nullptr) {
      SHOAL_ASSIGN(one.latency_ms, number(table, "latency_ms"));
    }
    SHOAL_ASSIGN(one.weight, number(table, "weight", 1));
    SHOAL_TRY(each_table(table, "variant", [&](const auto& row) { return variant(row, one); }));
    catalog_.tasks.push_back(std::move(one));
    return {};
  }

  Status variant(const toml::table& table, Task& task) {
    SHOAL_TRY(allow(table, {"name", "place", "accuracy", "ms", "joules", "dollars", "bytes",
                            "fragment", "fallback"}));
    Option one;
    SHOAL_ASSIGN(one.variant, text(table, "name"));
    SHOAL_ASSIGN(one.place, place_of(table["place"].value_or(std::string("here"))));
    SHOAL_ASSIGN(one.accuracy, number(table, "accuracy"));
    SHOAL_ASSIGN(one.ms, number(table, "ms"));
    SHOAL_ASSIGN(one.joules, number(table, "joules"));
    SHOAL_ASSIGN(one.dollars, number(table, "dollars", 0));
    SHOAL_ASSIGN(const double bytes, number(table, "bytes", 0));
    one.bytes = static_cast<int64_t>(bytes);
    if (table.get("fragment") != nullptr) {
      SHOAL_ASSIGN(const std::string name, text(table, "fragment"));
      const auto found = std::ranges::find(catalog_.fragments, name, &schedule::Fragment::name);
      if (found == catalog_.fragments.end()) return invalid("no fragment " + printable(name));
      one.fragment = static_cast<size_t>(found - catalog_.fragments.begin());
    }
    if (table.get("fallback") != nullptr) {
      SHOAL_ASSIGN(const toml::table next, table_of(table, "fallback"));
      SHOAL_ASSIGN(one.fallback, fallback(next));
    }
    task.options.push_back(std::move(one));
    return {};
  }

  static Result<schedule::Fallback> fallback(const toml::table& table) {
    SHOAL_TRY(allow(table, {"share", "accuracy", "ms", "joules", "dollars"}));
    schedule::Fallback next;
    SHOAL_ASSIGN(next.share, number(table, "share"));
    SHOAL_ASSIGN(next.accuracy, number(table, "accuracy"));
    SHOAL_ASSIGN(next.ms, number(table, "ms"));
    SHOAL_ASSIGN(next.joules, number(table, "joules"));
    SHOAL_ASSIGN(next.dollars, number(table, "dollars", 0));
    return next;
  }

  const toml::table& root_;
  schedule::Catalog catalog_;
};

class TraceReader {
 public:
  TraceReader(const toml::table& root, schedule::Catalog& catalog)
      : root_(root), catalog_(catalog) {}

  Result<Trace> run() {
    SHOAL_TRY(allow(root_, {"budget", "paging", "cloud", "link", "stream"}));
    SHOAL_TRY(read_budget());
    SHOAL_TRY(read_paging());
    SHOAL_TRY(read_cloud());
    SHOAL_ASSIGN(const toml::table link, table_of(root_, "link"));
    SHOAL_TRY(allow(link, {"down", "down_seconds"}));
    SHOAL_ASSIGN(trace_.usage.down, number(link, "down", 0));
    SHOAL_ASSIGN(trace_.usage.down_seconds, number(link, "down_seconds", 600));
    SHOAL_TRY(each_table(root_, "stream", [&](const auto& table) { return stream(table); }));
    SHOAL_TRY(check(trace_.usage, catalog_.tasks.size()));
    const auto expected =
        requests_per_day(trace_.usage, catalog_.tasks.size(), trace_.budgets.seconds);
    for (size_t t = 0; t < expected.size(); ++t) catalog_.tasks[t].requests_per_day = expected[t];
    SHOAL_TRY(check(catalog_));
    return std::move(trace_);
  }

 private:
  Status read_budget() {
    SHOAL_ASSIGN(const toml::table table, table_of(root_, "budget"));
    SHOAL_TRY(allow(table, {"joules", "dollars", "memory_mb", "hours"}));
    schedule::Budgets& budgets = trace_.budgets;
    SHOAL_ASSIGN(budgets.joules, number(table, "joules"));
    SHOAL_ASSIGN(budgets.dollars, number(table, "dollars", 0));
    SHOAL_ASSIGN(const double memory, number(table, "memory_mb"));
    SHOAL_ASSIGN(const double hours, positive_number(table, "hours", 24));
    budgets.bytes = static_cast<int64_t>(std::min(memory * kMegabyte, kMost));
    budgets.seconds = hours * kHour;
    return check(budgets);
  }

  Status read_paging() {
    SHOAL_ASSIGN(const toml::table table, table_of(root_, "paging"));
    SHOAL_TRY(allow(table, {"joules_per_mb", "mb_per_second"}));
    SHOAL_ASSIGN(const double joules, number(table, "joules_per_mb", 0));
    trace_.paging.joules_per_byte = joules / kMegabyte;
    if (table.get("mb_per_second") == nullptr) return {};
    SHOAL_ASSIGN(const double rate, positive_number(table, "mb_per_second", 1));
    trace_.paging.seconds_per_byte = 1 / (rate * kMegabyte);
    return {};
  }

  Status read_cloud() {
    if (root_.get("cloud") == nullptr) return {};
    SHOAL_ASSIGN(const toml::table table, table_of(root_, "cloud"));
    SHOAL_TRY(allow(table, {"round_trip_ms", "mbit", "radio_watts", "speed", "dollars_per_hour",
                            "input_bytes"}));
    schedule::Cloud cloud;
    SHOAL_ASSIGN(cloud.round_trip_ms, number(table, "round_trip_ms", cloud.round_trip_ms));
    SHOAL_ASSIGN(const double mbit, positive_number(table, "mbit", 8));
    SHOAL_ASSIGN(cloud.radio_watts, number(table, "radio_watts", cloud.radio_watts));
    SHOAL_ASSIGN(cloud.speed, positive_number(table, "speed", cloud.speed));
    SHOAL_ASSIGN(const double price, number(table, "dollars_per_hour", 0));
    SHOAL_ASSIGN(const double input, number(table, "input_bytes"));
    cloud.bytes_per_second = mbit * 1e6 / 8;
    cloud.dollars_per_second = price / kHour;
    for (Task& task : catalog_.tasks) {
      const std::vector<Option> own = task.options;
      for (const Option& option : own) {
        if (option.place != Place::kHere || option.fallback || option.fragment) continue;
        task.options.push_back(in_cloud(option, cloud, input));
      }
    }
    return {};
  }

  Status stream(const toml::table& table) {
    SHOAL_TRY(allow(table, {"tasks", "per_hour", "spread"}));
    schedule::Stream one;
    const toml::array *tasks = table["tasks"].as_array(), *rates = table["per_hour"].as_array();
    if (tasks == nullptr || rates == nullptr) return invalid("a stream needs tasks and per_hour");
    for (const toml::node& entry : *tasks) {
      const std::string name = entry.value_or(std::string());
      const auto found = std::ranges::find(catalog_.tasks, name, &Task::name);
      if (found == catalog_.tasks.end()) return invalid("there is no task " + printable(name));
      one.tasks.push_back(static_cast<size_t>(found - catalog_.tasks.begin()));
    }
    for (const toml::node& entry : *rates) {
      const auto rate = entry.value<double>();
      if (!rate) return invalid("per_hour is no list of numbers");
      one.per_hour.push_back(*rate);
    }
    SHOAL_ASSIGN(one.spread, number(table, "spread", 0));
    trace_.usage.streams.push_back(std::move(one));
    return {};
  }

  const toml::table& root_;
  schedule::Catalog& catalog_;
  Trace trace_;
};

Result<schedule::Catalog> tasks_in(const std::filesystem::path& folder) {
  schedule::Catalog catalog;
  for (const auto& path : catalog::catalogs_in(folder)) {
    SHOAL_ASSIGN(const catalog::Catalog found, catalog::read_catalog(path));
    catalog.tasks.push_back(catalog::as_task(found, catalog::task_name(path)));
  }
  if (const Status status = check(catalog); !status.ok()) return status.at(folder.string());
  return catalog;
}

}  // namespace

Result<schedule::Catalog> parse_tasks(std::string_view text, const std::string& name) {
  SHOAL_ASSIGN(const toml::table root, parse_toml(text, name));
  auto catalog = TasksReader(root).run();
  if (!catalog.ok()) return catalog.status().at(name);
  return catalog;
}

Result<schedule::Catalog> read_tasks(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return tasks_in(path);
  return read_toml(path, parse_tasks);
}

Result<schedule::Trace> parse_trace(std::string_view text, const std::string& name,
                                    schedule::Catalog& catalog) {
  SHOAL_ASSIGN(const toml::table root, parse_toml(text, name));
  auto trace = TraceReader(root, catalog).run();
  if (!trace.ok()) return trace.status().at(name);
  return trace;
}

Result<schedule::Trace> read_trace(const std::filesystem::path& path, schedule::Catalog& catalog) {
  return read_toml(path, [&](std::string_view text, const std::string& name) {
    return parse_trace(text, name, catalog);
  });
}

}  // namespace shoal::config
