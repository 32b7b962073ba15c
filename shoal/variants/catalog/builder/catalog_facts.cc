#include "shoal/variants/catalog/builder/catalog_facts.h"

#include <cstdio>

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

}  // namespace shoal::catalog
