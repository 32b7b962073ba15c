#include "shoal/engine/gpu/plan/precision.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shoal {
namespace {

// The search alone: layer 2 costs too much, and layers 0 and 4 do together.
TEST(ChoosePrecision, KeepsTheBudget) {
  const std::vector<std::string> layers{"0", "1", "2", "3", "4"};
  const auto measure = [&](const std::vector<std::string>& f32) -> Result<double> {
    const auto is_half = [&](const char* name) {
      return std::ranges::find(f32, name) == f32.end();
    };
    return 0.9 - (is_half("2") ? 0.3 : 0) - (is_half("0") ? 0.004 : 0) -
           (is_half("4") ? 0.007 : 0) - (is_half("1") ? 0.001 : 0);
  };
  const auto chosen = [&](double budget) { return *choose_precision(layers, budget, measure); };
  EXPECT_EQ(chosen(0.01).f32_layers, (std::vector<std::string>{"2", "4"}));
  EXPECT_EQ(chosen(0.002).f32_layers, (std::vector<std::string>{"0", "2", "4"}));
  EXPECT_EQ(chosen(0.02).f32_layers, (std::vector<std::string>{"2"}));
  EXPECT_EQ(chosen(0.5).f32_layers, std::vector<std::string>());
  EXPECT_EQ(chosen(0.5).evaluations, 2);
  EXPECT_NEAR(chosen(0.01).accuracy, 0.895, 1e-9);
  EXPECT_EQ(choose_precision(
                layers, 0,
                [](const auto&) -> Result<double> { return Status(Code::kUnavailable, "gone"); })
                .status()
                .code(),
            Code::kUnavailable);
}

}  // namespace
}  // namespace shoal
