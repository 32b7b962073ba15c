#include "shoal/shrink/prune/shrink_facts.h"

#include <filesystem>

namespace shoal::shrink {
namespace {

Json json_of(const Figures& one) {
  return {{"ms", one.ms}, {"macs", one.size.macs}, {"top1", one.top1}};
}

Json json_of(const GroupLeft& group) {
  return {{"weights", group.weights},
          {"axis", group.axis},
          {"before", group.before},
          {"left", group.left}};
}

Json json_of(const RefusedAxis& axis) {
  return {{"weights", axis.weights},
          {"axis", axis.axis},
          {"indices", axis.indices},
          {"reason", axis.reason}};
}

Json json_of(const GroupSensitivity& group) {
  return {{"weights", group.weights},
          {"axis", group.axis},
          {"units", group.units},
          {"top1", group.top1}};
}

Json json_of(const BlockReport& block) {
  return {{"weights", block.weights},
          {"row", block.row},
          {"column", block.column},
          {"sparse_rows", block.rows},
          {"sparse_columns", block.columns}};
}

template <class T>
Json json_of(const std::vector<T>& all) {
  Json list = Json::array();
  for (const T& one : all) list.push_back(json_of(one));
  return list;
}

Json json_of(const Sensitivity& sensitivity) {
  return {{"top1", sensitivity.top1},
          {"examples", sensitivity.examples},
          {"seconds", sensitivity.seconds},
          {"groups", json_of(sensitivity.groups)}};
}

Json json_of(const InEightBits& int8) {
  return {{"top1_real", int8.top1_real}, {"left", int8.left}, {"notes", int8.notes}};
}

template <class T>
Json json_of(const std::optional<T>& one) {
  return one ? json_of(*one) : Json();
}

// A network and what it costs.
Facts row_of(const std::string& name, Fact score, const compress::Size& size, Fact ms) {
  return {shown("network", name), std::move(score),
          shown("MACs", fixed(static_cast<double>(size.macs) / 1e6, 3) + " M"),
          shown("parameters", std::to_string(size.parameters)), std::move(ms)};
}

std::string if_known(const std::optional<double>& number, int digits) {
  return number ? fixed(*number, digits) : "";
}

}  // namespace

Json to_json(const ShrinkResult& result, const ShrinkOptions& options) {
  std::error_code unknown;
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(options.out, unknown));
  return {{"top1", result.small.top1},
          {"top1_dense_control", result.dense.top1},
          {"top1_scratch", result.top1_scratch},
          {"top1_random", result.top1_random},
          {"top1_before", result.top1_before},
          {"top1_removed", result.top1_removed},
          {"held_out_top1", result.held_out_top1},
          {"held_out_top1_dense_control", result.held_out_top1_control},
          {"macs", result.small.size.macs},
          {"macs_before", result.dense.size.macs},
          {"parameters", result.small.size.parameters},
          {"parameters_before", result.dense.size.parameters},
          {"bytes", bytes},
          {"ms", result.small.ms},
          {"ms_before", result.dense.ms},
          {"ms_predicted", result.ms_predicted},
          {"ms_predicted_before", result.ms_predicted_before},
          {"device", options.device.empty() ? "here" : options.device},
          {"epochs", result.epochs},
          {"seconds", result.seconds},
          {"choosing_seconds", result.choosing_seconds},
          {"removed", json_of(result.removed)},
          {"refused", json_of(result.refused)},
          {"int8", json_of(result.int8)},
          {"lost_to", result.lost_to()},
          {"missed", json_of(result.missed)},
          {"sensitivity", json_of(result.sensitivity)},
          {"front", json_of(result.front())}};
}

std::vector<Facts> rows_of(const ShrinkResult& result, const ShrinkOptions&) {
  std::vector<Facts> rows;
  const auto add = [&](const std::string& name, double top1, const Figures& figures) {
    rows.push_back(row_of(name, shown("top-1", fixed(top1, 2) + " %"), figures.size,
                          shown("ms", if_known(figures.ms, 3))));
  };
  add("smaller", result.small.top1, result.small);
  for (const Figures& one : result.missed) add("lost too much", one.top1, one);
  add("dense control", result.dense.top1, result.dense);
  if (result.top1_scratch) add("from scratch", *result.top1_scratch, result.small);
  if (result.top1_random) add("random removal", *result.top1_random, result.small);
  return rows;
}

std::vector<std::string> lines_of(const ShrinkResult& result, const ShrinkOptions& options) {
  if (!result.ms_predicted) return {};
  return {"predicted: " + fixed(*result.ms_predicted, 4) + " ms, " +
          fixed(*result.ms_predicted_before, 4) + " ms before" +
          (options.device.empty() ? "" : ", on " + options.device)};
}

Json to_json(const TPruneResult& result) {
  return {{"score", result.score},
          {"score_before", result.score_before},
          {"score_sparse", result.score_sparse},
          {"score_removed", result.score_removed},
          {"score_dense_control", result.score_control},
          {"macs", result.size.macs},
          {"macs_before", result.before.macs},
          {"parameters", result.size.parameters},
          {"parameters_before", result.before.parameters},
          {"ms", result.ms},
          {"ms_before", result.ms_before},
          {"removed", json_of(result.removed)},
          {"blocks", json_of(result.blocks)}};
}

std::vector<Facts> rows_of(const TPruneResult& result) {
  const auto row = [](const char* name, const std::optional<double>& score,
                      const compress::Size& size, const std::optional<double>& ms) {
    return row_of(name, shown("score", if_known(score, 2)), size, shown("ms", if_known(ms, 4)));
  };
  std::vector<Facts> rows = {row("smaller", result.score, result.size, result.ms),
                             row("as given", result.score_before, result.before, result.ms_before)};
  if (result.score_control) {
    rows.push_back(row("dense control", result.score_control, result.before, {}));
  }
  return rows;
}

std::vector<std::string> lines_of(const TPruneResult& result) {
  std::vector<std::string> lines;
  for (const GroupLeft& group : result.removed) {
    lines.push_back(group.weights + ": " + std::to_string(group.left) + " of " +
                    std::to_string(group.before) + " left");
  }
  return lines;
}

}  // namespace shoal::shrink
