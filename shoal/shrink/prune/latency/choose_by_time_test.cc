#include "shoal/shrink/prune/latency/choose_by_time.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "shoal/base/math/random.h"

namespace shoal::shrink {
namespace {

// Groups of units without cells: only their numbers matter here.
compress::Groups groups_of(const std::vector<size_t>& sizes) {
  compress::Groups groups;
  for (size_t size : sizes) {
    groups.groups.push_back({groups.units.size(), groups.units.size() + size});
    groups.units.resize(groups.units.size() + size);
  }
  return groups;
}

// One step per group: some milliseconds for each block of 16 begun, and a little per unit.
LatencyTable stairs(const std::vector<double>& per_block, double per_unit = 0.001) {
  LatencyTable table{.steps = {}, .surfaces = {}, .outside_ms = 0.5};
  for (size_t g = 0; g < per_block.size(); ++g) {
    std::vector<WidthSample> samples;
    for (int64_t width = 1; width <= 64; ++width) {
      const int64_t blocks = (width + 15) / 16;
      for (int i = 0; i < 20; ++i) {
        samples.push_back(
            {{width, 0},
             static_cast<double>(blocks) * per_block[g] + static_cast<double>(width) * per_unit});
      }
    }
    table.surfaces.push_back(WidthSurface::fit(samples, 16));
    table.steps.push_back({.value = "v", .extents = {{0, {{g, 1}}}}, .surface = g});
  }
  return table;
}

std::vector<double> random_worth(size_t count) {
  std::vector<double> worth(count);
  for (size_t i = 0; i < count; ++i) {
    worth[i] = static_cast<double>(1 + RandomStream(1, 1).below(1000, i));
  }
  return worth;
}

TEST(ChooseByTime, EndsWhereStairsEnd) {
  const auto groups = groups_of({64, 64});
  const LatencyTable table = stairs({1, 1});
  const auto units = choose_by_time(groups, random_worth(128), table, 0.6 * table.ms(Kept{64, 64}));
  ASSERT_TRUE(units.ok()) << units.status().message();
  const Kept kept = kept_without(groups, *units);
  EXPECT_LE(table.ms(kept), 0.6 * table.ms(Kept{64, 64}));
  EXPECT_EQ(kept[0] % 16, 0u) << kept[0];
  EXPECT_EQ(kept[1] % 16, 0u) << kept[1];
  EXPECT_EQ(kept[0] + kept[1], 64u);
}

// The law: no width is left whose next larger one would still be in time.
TEST(ChooseByTime, LeavesNoTimeUnused) {
  const auto groups = groups_of({64, 40, 16});
  const LatencyTable table = stairs({1, 2, 0.5}, 0);
  for (double share : {0.9, 0.7, 0.5, 0.4}) {
    const double most = share * table.ms(all_kept(groups));
    const auto units = choose_by_time(groups, random_worth(120), table, most);
    ASSERT_TRUE(units.ok()) << units.status().message();
    const Kept kept = kept_without(groups, *units);
    EXPECT_LE(table.ms(kept), most);
    for (size_t g = 0; g < kept.size(); ++g) {
      Kept wider = kept;
      if (++wider[g] > groups.groups[g].size()) continue;
      EXPECT_GT(table.ms(wider), most) << g;
    }
  }
}

TEST(ChooseByTime, SetsWorthAgainstTime) {
  const auto groups = groups_of({32, 32});
  const LatencyTable table = stairs({1, 10});
  const std::vector<double> equal(64, 1);
  const double most = table.ms(Kept{32, 32}) - 1;
  const auto kept = [&](Order order) {
    return kept_without(groups, *choose_by_time(groups, equal, table, most, {}, order));
  };
  EXPECT_EQ(kept(Order::kPerMillisecond), (Kept{16, 32}));  // all that is needed
  const double much = table.ms(Kept{32, 32}) - 5;
  EXPECT_EQ(kept_without(groups, *choose_by_time(groups, equal, table, much)), (Kept{32, 16}));
  // Those of the second group are worth less, whatever the others would save.
  std::vector<double> less = equal;
  for (size_t unit = 32; unit < 64; ++unit) less[unit] = 1e-3;
  const auto by_worth = choose_by_time(groups, less, table, most, {}, Order::kWorth);
  EXPECT_EQ(kept_without(groups, *by_worth), (Kept{32, 16}));
}

TEST(ChooseByTime, TakesTheLeastOfAGroupAndKeepsWhatIsGone) {
  const auto groups = groups_of({32});
  const LatencyTable table = stairs({1});
  std::vector<double> worth = random_worth(32);
  for (size_t unit = 8; unit < 24; ++unit) worth[unit] += 2000;
  const std::vector<size_t> gone = {9};
  auto units = choose_by_time(groups, worth, table, 1.6, gone);
  ASSERT_TRUE(units.ok()) << units.status().message();
  std::ranges::sort(*units);
  EXPECT_EQ(units->size(), 16u);
  EXPECT_TRUE(std::ranges::binary_search(*units, 9u));
  EXPECT_EQ(std::ranges::count_if(*units, [](size_t u) { return u >= 8 && u < 24; }), 1);
  EXPECT_TRUE(choose_by_time(groups, worth, table, 100)->empty());
}

TEST(ChooseByTime, SaysHowFastItCanBe) {
  const auto units = choose_by_time(groups_of({32}), random_worth(32), stairs({1}), 0.7);
  EXPECT_EQ(units.status().code(), Code::kUnsupported);
  EXPECT_NE(units.status().message().find("at least 1.5"), std::string::npos)
      << units.status().message();
}

// What is exact is half as much again as the table says, and does not fall in proportion.
TEST(ChooseByTime, MeetsTheExactTimeWhereTheTableIsWrong) {
  const auto groups = groups_of({64, 64});
  const LatencyTable plain = stairs({1, 2}, 0.02);
  const auto exact = [&](std::span<const size_t> units) -> Result<double> {
    return 2 + 1.5 * plain.ms(kept_without(groups, units));
  };
  const std::vector<double> worth = random_worth(128);
  const double before = *exact({});
  LatencyTable table = plain;
  table.exact_ms = exact;
  for (const double share : {0.8, 0.6, 0.4}) {
    const auto units = choose_by_exact_time(groups, worth, table, share * before);
    ASSERT_TRUE(units.ok()) << units.status().message();
    EXPECT_LE(*exact(*units), share * before);
    EXPECT_GE(*exact(*units), 0.8 * share * before);  // a step of the stairs at most
    EXPECT_GT(*exact(*choose_by_time(groups, worth, plain, share * before)), share * before);
  }
}

// Without anything that knows better the table decides, and is not changed.
TEST(ChooseByTime, TakesTheTableForExactWhereNothingElseIs) {
  const auto groups = groups_of({64, 64});
  LatencyTable table = stairs({1, 1});
  const std::vector<double> worth = random_worth(128);
  EXPECT_EQ(*choose_by_exact_time(groups, worth, table, 5),
            *choose_by_time(groups, worth, table, 5));
  EXPECT_EQ(table.scale, 1);
}

}  // namespace
}  // namespace shoal::shrink
