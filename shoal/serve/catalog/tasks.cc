
#include "shoal/serve/catalog/tasks.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/step/graph/step_graph.h"
#include "shoal/variants/catalog/as_task.h"
#include "shoal/variants/catalog/model_of.h"
#include "shoal/variants/catalog/specialists/special_maker.h"

namespace shoal::serve {
namespace {

namespace fs = std::filesystem;

// What a special network falls back to.
struct General {
  std::string name;
  size_t classes = 0;
  bool probabilities = false;  // are what it gives
};

Result<General> general_in(const fs::path& folder, const catalog::Variant& widest) {
  SHOAL_ASSIGN(const LoadedGraph loaded, catalog::open_variant(folder, widest, 1));
  const Graph& graph = loaded.graph;
  return General{widest.name, static_cast<size_t>(fit::classes_of(graph)),
                 train::scores_of(graph) != graph.outputs()[0]};
}

SpecialNetwork network_of(const catalog::Special& special) {
  return {.classes = special.classes, .threshold = special.threshold};
}

// The networks for a few classes, which have the widest one to fall back to: both are in memory.
Status add_specials(const fs::path& folder, const catalog::Catalog& found, size_t number,
                    schedule::Task& task, ChooserOptions& tasks) {
  for (size_t i = 0; i < found.variants.size(); ++i) {
    const auto& special = found.variants[i].special;
    if (!special) continue;
    task.options[i].bytes += task.options[0].bytes;
    SHOAL_ASSIGN(General general, general_in(folder, found.variants[0]));
    tasks.specials.push_back({.id = {number, i},
                              .network = network_of(*special),
                              .general = std::move(general.name),
                              .classes = general.classes,
                              .probabilities = general.probabilities});
  }
  return {};
}

Status check_names(const std::vector<ModelSource>& sources, const ChooserOptions& tasks) {
  std::set<std::string> names;
  for (const schedule::Task& task : tasks.catalog.tasks) names.insert(task.name);
  for (const ModelSource& source : sources) {
    if (!names.insert(source.name).second) {
      return invalid("a model and a task, or two models, are called " + source.name);
    }
  }
  return {};
}

// A name and a number. `example` is for the message.
Result<std::pair<std::string, double>> parse_amount(const std::string& flag,
                                                    const std::string& text,
                                                    const std::string& example) {
  const size_t equals = std::min(text.find('='), text.size());
  char* end = nullptr;
  const std::string digits = text.substr(std::min(equals + 1, text.size()));
  const double value = std::strtod(digits.c_str(), &end);
  if (digits.empty() || *end != 0 || !(value >= 0 && value <= 1e12)) {
    return invalid(flag + " " + text + ": write " + example);
  }
  return std::pair(text.substr(0, equals), value);
}

}  // namespace

Status add_tasks(const fs::path& folder, const Allowed& allowed,
                 const std::function<Status(ModelSource&)>& complete,
                 std::vector<ModelSource>& sources, ChooserOptions& tasks) {
  tasks.budgets = allowed.budgets;
  SHOAL_TRY(check(tasks.budgets));
  for (const fs::path& one : catalog::catalogs_in(folder)) {
    SHOAL_ASSIGN(const catalog::Catalog found, catalog::read_catalog(one));
    schedule::Task task = catalog::as_task(found, catalog::task_name(one));
    task.latency_ms = allowed.latency_ms;
    task.requests_per_day = allowed.requests;
    for (const catalog::Variant& variant : found.variants) {
      const std::string name = variant_model(task.name, variant.name);
      SHOAL_ASSIGN(ModelSource source, parse_model_source(name + "=" + one.string()));
      source.open = [one, variant] { return catalog::model_of(one, variant); };
      SHOAL_TRY(complete(source));
      sources.push_back(std::move(source));
    }
    SHOAL_TRY(add_specials(one, found, tasks.catalog.tasks.size(), task, tasks));
    tasks.catalog.tasks.push_back(std::move(task));
  }
  if (tasks.catalog.tasks.empty()) return invalid(folder.string() + " has no catalog in it");
  SHOAL_TRY(check_names(sources, tasks));
  return check(tasks.catalog);
}

Status add_specials_maker(const SpecialsOptions& specials, ServerOptions& options) {
  SHOAL_ASSIGN(const catalog::Catalog found, catalog::read_catalog(specials.folder));
  const catalog::Variant widest = found.variants[0];
  SHOAL_ASSIGN(General general, general_in(specials.folder, widest));
  SHOAL_TRY(check(specials.how.recipe));
  options.tasks.makes = {{.task = 0,
                          .general = std::move(general.name),
                          .classes = general.classes,
                          .probabilities = general.probabilities}};
  const auto maker = std::make_shared<catalog::SpecialMaker>(catalog::SpecialMakerOptions{
      .folder = specials.folder, .how = specials.how, .device = specials.device});
  options.make_special = [maker, widest](size_t, const std::vector<size_t>& classes,
                                         const std::atomic<bool>& cancel) -> Result<MadeSpecial> {
    SHOAL_ASSIGN(TemporaryFolder made_in, TemporaryFolder::make());
    const auto folder = std::make_shared<const TemporaryFolder>(std::move(made_in));
    const auto file = folder->path() / "special.onnx";
    SHOAL_ASSIGN(const catalog::Variant made,
                 maker->make({classes.begin(), classes.end()}, file, &cancel));
    const schedule::Task task = catalog::as_task({{widest, made}}, "");
    MadeSpecial special{.option = task.options[1],
                        .network = network_of(*made.special),
                        .open = [folder, file] { return open_model(file.string()); }};
    special.option.bytes += task.options[0].bytes;  // both are in memory
    return special;
  };
  return {};
}

Result<Allowed> parse_budgets(const std::string& flag, const std::vector<std::string>& texts) {
  Allowed allowed;
  for (const std::string& text : texts) {
    SHOAL_ASSIGN(const auto amount, parse_amount(flag, text, "energy=JOULES"));
    const auto& [name, value] = amount;
    if (name == "energy") {
      allowed.budgets.joules = value;
    } else if (name == "money") {
      allowed.budgets.dollars = value;
    } else if (name == "memory") {
      allowed.budgets.bytes = static_cast<int64_t>(value * 1e6);
    } else if (name == "latency") {
      allowed.latency_ms = value;
    } else if (name == "requests") {
      allowed.requests = value;
    } else if (name == "day") {
      allowed.budgets.seconds = value * 3600;
    } else {
      return invalid(flag + " takes energy, money, memory, latency, requests and day, not " + name);
    }
  }
  return allowed;
}

Status parse_costs(const std::string& flag, const std::vector<std::string>& texts,
                   schedule::Cloud& costs) {
  for (const std::string& text : texts) {
    SHOAL_ASSIGN(const auto amount, parse_amount(flag, text, "price=DOLLARS_AN_HOUR"));
    const auto& [name, value] = amount;
    if (name == "price") {
      costs.dollars_per_second = value / 3600;
    } else if (name == "mbit" && value > 0) {
      costs.bytes_per_second = value * 1e6 / 8;
    } else if (name == "radio") {
      costs.radio_watts = value;
    } else if (name == "speed" && value > 0) {
      costs.speed = value;
    } else if (name == "round-trip") {
      costs.round_trip_ms = value;
    } else {
      return invalid(flag + " takes price, mbit, radio, speed and round-trip, not " + text);
    }
  }
  return {};
}

}  // namespace shoal::serve
