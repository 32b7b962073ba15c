#include "shoal/variants/scheduler/packing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "shoal/variants/scheduler/memory.h"

namespace shoal::schedule {
namespace {

struct Case {
  std::vector<ChoiceGroup> groups;
  Amounts budgets;
};

Case draw_case(std::mt19937& random) {
  const auto uniform = [&] { return std::uniform_real_distribution(0.0, 1.0)(random); };
  Case drawn;
  drawn.groups.resize(random() % 12);
  for (ChoiceGroup& group : drawn.groups) {
    group.resize(random() % 20);
    for (Choice& choice : group) {
      choice.value = uniform();
      for (double& cost : choice.costs) cost = random() % 4 == 0 ? 0 : uniform();
    }
  }
  for (double& budget : drawn.budgets) {
    const auto kind = random() % 6;
    budget = kind == 0   ? 0
             : kind == 1 ? std::numeric_limits<double>::infinity()
                         : uniform() * static_cast<double>(drawn.groups.size());
  }
  return drawn;
}

// A solution within the budgets, and prices at which no choice is worth more than its group and the
// resources that it takes, of the same value: each proves that the other is optimal.
TEST(Packing, IsProvedOptimalByItsPrices) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const Case drawn = draw_case(random);
    const Packing packing = pack(drawn.groups, drawn.budgets);
    Amounts spent = {};
    double value = 0, dual = 0;
    for (size_t g = 0; g < drawn.groups.size(); ++g) {
      double sum = 0;
      EXPECT_GE(packing.group_prices[g], -1e-9);
      dual += packing.group_prices[g];
      for (size_t c = 0; c < drawn.groups[g].size(); ++c) {
        const Choice& choice = drawn.groups[g][c];
        const double share = packing.shares[g][c];
        ASSERT_GE(share, 0);
        sum += share;
        value += share * choice.value;
        double price = packing.group_prices[g];
        bool is_possible = true;
        for (size_t r = 0; r < kResources; ++r) {
          spent[r] += share * choice.costs[r];
          price += packing.prices[r] * choice.costs[r];
          is_possible = is_possible && (drawn.budgets[r] > 0 || choice.costs[r] == 0);
        }
        if (is_possible) {
          EXPECT_GE(price, choice.value - 1e-9);
        }
      }
      EXPECT_LE(sum, 1 + 1e-9);
    }
    for (size_t r = 0; r < kResources; ++r) {
      EXPECT_LE(spent[r], drawn.budgets[r] + 1e-9);
      EXPECT_GE(packing.prices[r], -1e-9);
      if (packing.prices[r] > 0) dual += packing.prices[r] * drawn.budgets[r];
    }
    EXPECT_NEAR(packing.value, value, 1e-9 * (1 + value));
    EXPECT_NEAR(packing.value, dual, 1e-9 * (1 + value));
  }
}

double value_of(const std::vector<std::vector<Holding>>& tasks,
                const std::vector<Fragment>& fragments, int64_t capacity,
                const std::vector<size_t>& picks) {
  double value = 0;
  int64_t bytes = 0;
  std::vector<bool> used(fragments.size(), false);
  for (size_t t = 0; t < tasks.size(); ++t) {
    if (picks[t] == tasks[t].size()) continue;
    const Holding& holding = tasks[t][picks[t]];
    value += holding.value;
    bytes += holding.bytes;
    if (holding.fragment && !used[*holding.fragment]) {
      used[*holding.fragment] = true;
      bytes += fragments[*holding.fragment].bytes;
    }
  }
  return bytes <= capacity ? value : -1;
}

TEST(ResidentSet, IsWorthAsMuchAsTheBestOfAllSetsAndFits) {
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    const std::vector<Fragment> fragments = {{.name = "f", .bytes = int64_t(random() % 40)}};
    std::vector<std::vector<Holding>> tasks(1 + random() % 4);
    for (auto& task : tasks) {
      const size_t count = random() % 5;
      for (size_t o = 0; o < count; ++o) {
        task.push_back({o, double(random() % 100), int64_t(random() % 100), {}});
        if (random() % 3 == 0) task.back().fragment = 0;
      }
    }
    const auto capacity = int64_t(random() % 250);
    double best = 0;
    std::vector<size_t> picks(tasks.size(), 0);
    for (bool more = true; more;) {
      best = std::max(best, value_of(tasks, fragments, capacity, picks));
      more = false;
      for (size_t t = 0; t < tasks.size() && !more; ++t) {
        more = ++picks[t] <= tasks[t].size();
        if (!more) picks[t] = 0;
      }
    }
    const ResidentSet resident_set = best_resident_set(tasks, fragments, capacity);
    for (size_t t = 0; t < tasks.size(); ++t)
      picks[t] = resident_set.options[t].value_or(tasks[t].size());
    EXPECT_EQ(resident_set.value, best);
    EXPECT_EQ(value_of(tasks, fragments, capacity, picks), best);
  }
}

}  // namespace
}  // namespace shoal::schedule
