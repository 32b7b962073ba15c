#include "shoal/shrink/fit_cluster/fit_cluster_facts.h"

namespace shoal::fit_cluster {
namespace {

std::string percent(const std::optional<double>& top1) {
  return top1 ? fixed(*top1, 2) + " %" : "";
}

Facts facts_of(const Attempt& attempt) {
  return {{"name", attempt.name, "attempt"},
          {"ms", attempt.ms, "ms", 2},
          sized("bytes", attempt.bytes, "bytes"),
          {"macs", attempt.macs, "MACs", macs_of(attempt)},
          {"top1", attempt.top1, "top-1", top1_of(attempt)},
          {"top1_dense_control", attempt.top1_control, "control", control_of(attempt)},
          {"fast_enough", attempt.fast_enough},
          {"accurate_enough", attempt.accurate_enough},
          {"note", attempt.note},
          shown("verdict", verdict_of(attempt))};
}

}  // namespace

std::string top1_of(const Attempt& attempt) { return percent(attempt.top1); }
std::string control_of(const Attempt& attempt) { return percent(attempt.top1_control); }

std::string macs_of(const Attempt& attempt) {
  return attempt.macs > 0 ? fixed(static_cast<double>(attempt.macs) / 1e6, 1) + " M" : "";
}

std::string verdict_of(const Attempt& attempt) {
  if (attempt.meets()) return "meets the target";
  if (!attempt.note.empty()) return attempt.note;
  return attempt.fast_enough ? "loses too much" : "too slow";
}

std::vector<Facts> rows_of(const FitResult& result) {
  std::vector<Facts> rows;
  for (const Attempt& attempt : result.attempts) rows.push_back(facts_of(attempt));
  return rows;
}

std::vector<std::string> lines_of(const FitResult& result) {
  return {"wanted: " + fixed(result.target_ms, 2) +
          " ms; top-1 of the model as given: " + fixed(result.top1_before, 2) + " %"};
}

Json to_json(const FitResult& result) {
  return {{"met", result.met()},
          {"ms_target", result.target_ms},
          {"top1_before", result.top1_before},
          {"attempts", list_of(rows_of(result))}};
}

}  // namespace shoal::fit_cluster
