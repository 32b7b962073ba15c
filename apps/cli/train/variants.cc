#include "variants.h"

#include <cstdio>

#include "../table.h"
#include "apps/flags/json.h"
#include "print_result.h"
#include "shoal/catalog/make_variants.h"
#include "shrink_progress.h"

namespace shoal::cli {
namespace {

using catalog::Variant;
using catalog::VariantsResult;

Json variants_json(const VariantsResult& result) {
  return {{"variants", json_of(result.catalog.variants)},
          {"dominated", result.dominated},
          {"top1_before", result.top1_before},
          {"folder_bytes", result.folder_bytes},
          {"largest_bytes", result.largest_bytes},
          {"bytes_ratio", ratio(result.folder_bytes, result.largest_bytes)},
          {"energy_model", std::string(catalog::energy_model())},
          {"epochs", result.epochs},
          {"seconds", result.seconds}};
}

void print_table(const VariantsResult& result) {
  table_of(result.catalog.variants).print();
  std::printf("all of them in %.3f x the bytes of the largest; top-1 %.2f %% before\n",
              ratio(result.folder_bytes, result.largest_bytes), result.top1_before);
  for (const std::string& name : result.dominated) {
    std::printf("%s is left out: another one is as good and costs less\n", name.c_str());
  }
}

}  // namespace

double ratio(int64_t a, int64_t b) {
  return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 0;
}

Json json_of(const std::vector<Variant>& variants) {
  Json all = Json::array();
  for (const Variant& variant : variants) all.push_back(*Json::parse(catalog::to_json(variant)));
  return all;
}

Table table_of(const std::vector<Variant>& variants) {
  Table table({"variant", "method", "top-1", "MACs", "weights MB", "memory MB", "ms", "mJ"});
  for (const Variant& variant : variants) {
    const catalog::VariantFigures& f = variant.figures;
    const auto millions = [](int64_t n) { return fixed(static_cast<double>(n) / 1e6, 3); };
    table.add({variant.name, variant.method, fixed(f.top1, 2) + " %", millions(f.size.macs) + " M",
               millions(f.size.bytes), millions(f.memory), fixed(f.ms, 3),
               fixed(f.millijoules, 4)});
  }
  return table;
}

Outcome make_and_print_variants(const shrink::ShrinkDevices& devices, const Model& model,
                                const fit::JudgedData& data, size_t count,
                                const shrink::ShrinkOptions& options, bool json) {
  NetworkLine line;
  const auto result =
      catalog::make_variants(devices, model, data, count, options, shrink_callbacks(line));
  return print_result(result, json, variants_json, print_table);
}

}  // namespace shoal::cli
