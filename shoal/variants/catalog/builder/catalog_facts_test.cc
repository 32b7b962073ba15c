// Results for scripts and for people.
#include "shoal/variants/catalog/builder/catalog_facts.h"

#include <gtest/gtest.h>

#include "shoal/variants/catalog/catalog.h"

namespace shoal::catalog {
namespace {

Variant a_variant() {
  Variant variant;
  variant.name = "v0";
  variant.figures.top1 = 97.5;
  variant.figures.size = {.macs = 1'500'000, .parameters = 3, .bytes = 2'000'000};
  variant.figures.memory = 250'000;
  variant.figures.ms = 0.5;
  return variant;
}

TEST(CatalogFacts, AreARowForEachVariant) {
  const auto rows = rows_of(std::vector{a_variant()});
  ASSERT_EQ(rows.size(), 1u);
  std::vector<std::string> cells;
  for (const Fact& fact : rows[0]) cells.push_back(fact.cell);
  EXPECT_EQ(cells, (std::vector<std::string>{"v0", a_variant().method, "97.50 %", "1.500 M",
                                             "2.000", "0.250", "0.500", "0.0000"}));
}

TEST(CatalogFacts, CompareBytesWithTheLargest) {
  VariantsResult made;
  made.catalog.variants = {a_variant()};
  made.dominated = {"v3"};
  made.folder_bytes = 1'100;
  made.largest_bytes = 1'000;
  made.top1_before = 98;
  EXPECT_EQ(lines_of(made),
            (std::vector<std::string>{
                "all of them in 1.100 x the bytes of the largest; top-1 98.00 % before",
                "v3 is left out: another one is as good and costs less"}));
  Json json = to_json(made);
  EXPECT_EQ(json["bytes_ratio"].dump(), "1.1");
  EXPECT_EQ(json["variants"][0].dump(), Json::parse(to_json(a_variant()))->dump());
  made.largest_bytes = 0;
  EXPECT_EQ(to_json(made)["bytes_ratio"].dump(), "0.0");
  BuildResult built;
  built.folder_bytes = 3'000'000;
  built.nested_bytes = 500;
  built.largest_bytes = 1'000;
  EXPECT_EQ(lines_of(built).at(0),
            "all widths in 0.500 x the bytes of the largest, all files 3.000 MB");
  EXPECT_EQ(to_json(built)["nested_ratio"].dump(), "0.5");
}

TEST(CatalogFacts, CompareACascadeWithTheGeneralNetwork) {
  SpecialiseResult result;
  result.top1 = 99;
  result.top1_general = 98;
  result.macs = 1'000'000;
  result.macs_general = 4'000'000;
  result.cascade = {.top1 = 98.5, .share = {0.75, 0.25}, .precision = {99.5, 95}, .mean_macs = 2e6};
  result.warm = true;
  result.seconds_features = 0.5;
  result.seconds_head = 0.25;
  Json json = to_json(result);
  EXPECT_EQ(json["cascade_cost"].dump(), "0.5");
  EXPECT_EQ(json["answered"].dump(), "0.75");
  EXPECT_EQ(json["seconds"].dump(), "0.75");
  EXPECT_EQ(json.dump().find("seconds_full"), std::string::npos);
  const auto rows = rows_of(result);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1][3].cell, "25.0 %");
  EXPECT_EQ(rows[2][2].cell, "2.000 M");
  EXPECT_EQ(lines_of(result),
            std::vector<std::string>{"features: 0.50 s from the cache, head: 0.25 s"});
  result.controls = SpecialiseControls{
      .seconds_warm = 0.125, .seconds_full = 2, .top1_full = 99.25, .weights_error = 2.5e-7};
  EXPECT_EQ(lines_of(result).at(1),
            "from the cache: 0.12 s; all layers: 2.00 s, top-1 99.25 %; weights differ by 2.5e-07");
  EXPECT_EQ(to_json(result)["seconds_cold"].dump(), "0.75");
}

}  // namespace
}  // namespace shoal::catalog
