// Plans for C.
#include <cstdlib>

#include "handles.h"
#include "shoal/plan/summary.h"

namespace shoal::c {
namespace {

Result<plan::SummaryOptions> summary_options(const shoal_plan_options* given) {
  SHOAL_ASSIGN(const auto options,
               read_options<shoal_plan_options>(given, SHOAL_PLAN_OPTIONS_INIT));
  if (options.workers < 0) return invalid("workers are negative");
  plan::SummaryOptions summary{.survive = options.survive};
  if (options.workers > 0) summary.workers = static_cast<size_t>(options.workers);
  if (options.device != nullptr) summary.device = options.device;
  if (options.link != nullptr) summary.link = options.link;
  return summary;
}

// By malloc, as C's strdup would.
Result<char*> copy_of(const std::string& text) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return Status(Code::kExhausted, "out of memory");
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

Status plan_model(const shoal_model* model, const shoal_plan_options* given, char** json) {
  SHOAL_TRY(require(model, "model"));
  SHOAL_TRY(require(json, "json"));
  SHOAL_ASSIGN(const plan::SummaryOptions options, summary_options(given));
  SHOAL_ASSIGN(const LoadedGraph loaded, model->model.graph());
  SHOAL_ASSIGN(plan::Summary summary, plan::summarize(loaded.graph, options));
  summary.model = model->model.name();
  SHOAL_ASSIGN(*json, copy_of(plan::to_json(summary)));
  return {};
}

}  // namespace
}  // namespace shoal::c

shoal_status* shoal_plan(const shoal_model* model, const shoal_plan_options* options, char** json) {
  return shoal::c::guarded([&] { return shoal::c::plan_model(model, options, json); });
}

void shoal_string_free(char* string) { std::free(string); }
