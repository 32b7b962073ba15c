#include "shoal/plan/summary.h"

#include <algorithm>
#include <set>
#include <span>

#include "shoal/base/text/json_text.h"
#include "shoal/base/text/printable.h"
#include "shoal/model/passes/passes.h"
#include "shoal/plan/comparison/comparison_summary.h"
#include "shoal/plan/device_presets.h"

namespace shoal::plan {
namespace {

// Sizes come from users: the search takes longer with every worker, and codes have two parities.
constexpr size_t kMaxWorkers = 1024;
constexpr int kMaxLosses = 2;

// Written by hand: this part depends on no JSON library. Names come from models, and may hold any
// bytes.
class JsonObject {
 public:
  JsonObject& add(std::string_view name, std::string_view text) {
    return add_value(name, json_text(valid_utf8(text)));
  }
  JsonObject& add(std::string_view name, double number) {
    return add_value(name, json_number(number));
  }
  JsonObject& add_count(std::string_view name, int64_t count) {
    return add_value(name, std::to_string(count));
  }
  JsonObject& add_value(std::string_view name, const std::string& value) {
    members_ += (members_.empty() ? "" : ",") + json_text(name) + ":" + value;
    return *this;
  }
  std::string text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

std::string to_json(const WorkerSummary& worker) {
  return JsonObject()
      .add("name", worker.name)
      .add("compute_ms", 1e3 * worker.compute_seconds)
      .add("transfer_ms", 1e3 * worker.transfer_seconds)
      .add("memory_bytes", worker.memory_bytes)
      .text();
}

std::string to_json(const KindSummary& kind) {
  return JsonObject()
      .add("name", kind.kind)
      .add("predicted_ms", 1e3 * kind.seconds)
      .add("why_slower", kind.why_slower)
      .text();
}

std::string to_json(const PriceSummary& price) {
  return JsonObject()
      .add("unprotected_ms", 1e3 * price.unprotected_seconds)
      .add("repeated_ms", 1e3 * price.repeated_seconds)
      .add("compute", price.compute)
      .add("repeated_compute", price.repeated_compute)
      .add("wire_bytes", price.wire_bytes)
      .add("memory_bytes", price.memory_bytes)
      .add_count("codes", static_cast<int64_t>(price.codes))
      .add("bounded_ms", 1e3 * price.bounded_seconds)
      .add("bounded_compute", price.bounded_compute)
      .text();
}

template <class T>
std::string list_of(std::span<const T> all) {
  std::string list;
  for (const T& one : all) list += (list.empty() ? "" : ",") + to_json(one);
  return "[" + list + "]";
}

template <class Presets>
std::vector<std::string_view> names_of(const Presets& presets) {
  std::vector<std::string_view> names;
  for (const auto& preset : presets) names.push_back(preset.name);
  return names;
}

Status check_options(const SummaryOptions& options) {
  if (options.workers < 1 || options.workers > kMaxWorkers) {
    return invalid("there can be 1 to " + std::to_string(kMaxWorkers) + " workers");
  }
  if (options.survive < 0 || options.survive > kMaxLosses) {
    return invalid("0 to " + std::to_string(kMaxLosses) + " losses can be survived");
  }
  // A set, so that a worker listed twice counts once.
  const std::set<int> excluded(options.excluded.begin(), options.excluded.end());
  for (int worker : excluded) {
    if (worker < 0 || static_cast<size_t>(worker) >= options.workers) {
      return invalid("there is no worker " + std::to_string(worker) + " to exclude");
    }
  }
  return check_survival(options.workers, excluded.size(), options.survive);
}

}  // namespace

Result<Summary> summarize(const Graph& graph, const SummaryOptions& options) {
  SHOAL_TRY(check_options(options));
  SHOAL_ASSIGN(const DevicePreset device, find_device(options.device));
  SHOAL_ASSIGN(const LinkPreset link, find_link(options.link));
  // Workers run optimised graphs, so the plan is made for one.
  SHOAL_ASSIGN(const Graph optimized, passes::optimize(graph));
  SHOAL_ASSIGN(const Comparison comparison,
               compare_plans(optimized, uniform_cluster(options.workers, device, link),
                             {.excluded = options.excluded, .survive = options.survive}));
  return summarize(comparison);
}

std::string to_json(const Summary& summary) {
  constexpr size_t kAlternatives = 2;  // for comparison
  const std::span<const KindSummary> kinds = summary.kinds;
  const std::span<const KindSummary> others = kinds.subspan(std::min<size_t>(1, kinds.size()));
  JsonObject object;
  object.add("model", summary.model)
      .add("kind", summary.kind)
      .add("predicted_ms", 1e3 * summary.seconds)
      .add("cluster_ms", 1e3 * summary.seconds)
      .add("single_ms", 1e3 * summary.single_seconds)
      .add("speedup", summary.speedup())
      .add("wire_bytes", summary.wire_bytes)
      .add_count("halo_bytes", summary.halo_bytes)
      .add_count("messages", static_cast<int64_t>(summary.messages))
      .add("error", summary.error)
      .add_count("survive", summary.survives)
      .add_value("workers", list_of<WorkerSummary>(summary.workers))
      .add_value("alternatives", list_of(others.first(std::min(kAlternatives, others.size()))))
      .add("advice", summary.advice)
      .add("plan", summary.text);
  if (summary.clusters) {
    object.add_count("fc_bytes", summary.clusters->bytes)
        .add_count("fc_bytes_dense", summary.clusters->dense_bytes);
  }
  if (summary.price) object.add_value("price", to_json(*summary.price));
  return object.text();
}

std::vector<std::string_view> device_names() { return names_of(device_presets()); }
std::vector<std::string_view> link_names() { return names_of(link_presets()); }

}  // namespace shoal::plan
