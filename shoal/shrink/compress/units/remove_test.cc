#include "shoal/shrink/compress/units/remove.h"

#include <gtest/gtest.h>

#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/methods/methods.h"
#include "shoal/shrink/compress/units/compress_testing.h"
#include "shoal/shrink/compress/units/importance.h"

namespace shoal::compress {
namespace {

constexpr const char* kNetwork = R"(
input x f32[1,2,4,4]
const w f32[4,2,1,1] = random(1)
const b f32[4] = random(2)
const d f32[4,1,3,3] = random(3)
const m f32[16,5] = random(4)
const shape i64[2] = [1,16]
const k f32[5,3] = random(5)
y = Conv(x, w, b)
r = Relu(y)
c = Conv(r, d) group=4
f = Reshape(c, shape)
g = Gemm(f, m)
o = Gemm(g, k)
output o
)";

int64_t all_macs(const Graph& graph) {
  int64_t total = 0;
  for (const Node& node : graph.nodes()) total += macs(graph, node);
  return total;
}

TEST(Remove, CutsWeightsAndSettings) {
  const Graph graph = parse(kNetwork);
  const Groups groups = *find_groups(graph);
  ASSERT_EQ(groups.units.size(), 9u);
  const auto smaller = remove(graph, groups, std::vector<size_t>{1, 3, 4});
  ASSERT_TRUE(smaller.ok()) << smaller.status().message();
  const auto text = to_text(*smaller);
  EXPECT_NE(text.find("group=2"), std::string::npos) << text;
  EXPECT_NE(text.find("[1,8]"), std::string::npos) << text;
  EXPECT_EQ(parameters(*smaller), 2 * 2 + 2 + 2 * 9 + 8 * 4 + 4 * 3);
}

TEST(Remove, OfNothingIsTheGraphItself) {
  const Graph graph = parse(kNetwork);
  const auto same = remove(graph, *find_groups(graph), {});
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(to_text(*same), to_text(graph));
}

TEST(Remove, RefusesWrongNumbersAndWholeGroups) {
  const Graph graph = parse(kNetwork);
  const Groups groups = *find_groups(graph);
  const auto code = [&](std::vector<size_t> units) {
    return remove(graph, groups, units).status().code();
  };
  EXPECT_EQ(code({9}), Code::kInvalidArgument);
  EXPECT_EQ(code({1, 1}), Code::kInvalidArgument);
  EXPECT_EQ(code({0, 1, 2, 3}), Code::kInvalidArgument);
}

TEST(Remove, CountsTheWorkThatIsLeft) {
  const Graph graph = parse(kNetwork);
  const Groups groups = *find_groups(graph);
  const std::vector<size_t> units = {0, 2, 5};
  EXPECT_EQ(*macs_without(graph, groups, units), all_macs(*remove(graph, groups, units)));
  EXPECT_EQ(*macs_without(graph, groups, {}), all_macs(graph));
}

// Channels with weights of almost nothing are the first to go, in whatever layer.
TEST(Importance, FindsPlantedDeadUnitsFirst) {
  Graph graph = parse(kNetwork);
  const Groups groups = *find_groups(graph);
  const std::vector<size_t> dead = {2, 5, 7};
  for (size_t unit : dead) {
    for (const Cell& cell : groups.units[unit].cells) {
      if (!graph[cell.value].constant) continue;
      Tensor weights = *graph[cell.value].constant;  // shares its elements with the graph
      const Shape& shape = weights.shape();
      const int64_t inner = shape.count(cell.axis + 1, shape.rank());
      for (int64_t i = 0; i < weights.count(); ++i) {
        if (i / inner % shape[cell.axis] == cell.index) {
          weights.data<float>()[static_cast<size_t>(i)] *= 1e-3F;
        }
      }
    }
  }
  auto chosen = choose(graph, groups, magnitudes(graph, groups), {.units = 6.0 / 9});
  ASSERT_TRUE(chosen.ok()) << chosen.status().message();
  std::ranges::sort(*chosen);
  EXPECT_EQ(*chosen, dead);
}

TEST(Importance, IsRelativeToTheGroup) {
  const Graph graph = parse(kNetwork);
  const Groups groups = *find_groups(graph);
  const std::vector<double> worth = magnitudes(graph, groups);
  for (const Group& group : groups.groups) {
    double sum = 0;
    for (size_t unit = group.begin; unit < group.end; ++unit) sum += worth[unit];
    EXPECT_NEAR(sum, static_cast<double>(group.size()), 1e-9);
  }
}

TEST(Choose, TakesNoMoreThanTheTargetDemands) {
  const Graph graph = parse(kNetwork);
  const Groups groups = *find_groups(graph);
  const auto worth = random_worth(groups, 1);
  const double all = static_cast<double>(all_macs(graph));
  for (double share : {0.9, 0.7, 0.5}) {
    auto units = choose(graph, groups, worth, {.macs = share});
    ASSERT_TRUE(units.ok()) << units.status().message();
    EXPECT_LE(static_cast<double>(*macs_without(graph, groups, *units)), share * all);
    units->pop_back();
    EXPECT_GT(static_cast<double>(*macs_without(graph, groups, *units)), share * all);
  }
  EXPECT_TRUE(choose(graph, groups, worth, {})->empty());
}

TEST(Choose, MeetsEveryCost) {
  const Graph graph = parse(kNetwork);
  const Groups groups = *find_groups(graph);
  const Size before = *size_without(graph, groups, {});
  EXPECT_EQ(before, (Size{all_macs(graph), parameters(graph), 4 * parameters(graph) + 16}));
  for (const Target& target : {Target{.parameters = 0.5}, Target{.bytes = 300}}) {
    const auto units = choose(graph, groups, random_worth(groups, 1), target);
    ASSERT_TRUE(units.ok()) << units.status().message();
    const Graph smaller = *remove(graph, groups, *units);
    const Size now = *size_without(graph, groups, *units);
    EXPECT_TRUE(meets(now, before, target));
    EXPECT_EQ(now, (Size{all_macs(smaller), parameters(smaller), 4 * parameters(smaller) + 16}));
  }
  const auto status = choose(graph, groups, random_worth(groups, 1), {.bytes = 3}).status();
  EXPECT_NE(status.message().find("of the bytes must stay"), std::string::npos);
}

// y = a * w: the loss is the sum of y, so the gradient of w is a, and without unit u it loses
// a_u * w_u.
TEST(Importance, IsTheFirstOrderChangeOfTheLoss) {
  const Graph graph = parse(R"(
input x f32[1,1]
const a f32[1,3] = [1,2,3]
const w f32[3,1] = [0.5,-1,0.25]
h = Gemm(x, a)
y = Gemm(h, w)
output y
)");
  const Groups groups = *find_groups(graph);
  ASSERT_EQ(groups.units.size(), 3u);
  const Tensor gradient = Tensor::of<float>({3, 1}, {1, 2, 3});
  EXPECT_EQ(taylor(graph, groups, {{"w", gradient}}), (std::vector<double>{0.25, 4, 0.5625}));
  // With the slices of both layers, each squared: the gradient of a is w.
  const Tensor other = Tensor::of<float>({1, 3}, {0.5, -1, 0.25});
  EXPECT_EQ(taylor(graph, groups, {{"w", gradient}, {"a", other}}),
            (std::vector<double>{0.5, 8, 1.125}));
}

TEST(Importance, CanBeSetAgainstWhatAUnitCosts) {
  const Graph graph = parse(kNetwork);
  const Groups groups = *find_groups(graph);
  const std::vector<double> worth(groups.units.size(), 1);
  const auto per_mac = per_saving(graph, groups, worth, {.macs = 0.5});
  ASSERT_TRUE(per_mac.ok()) << per_mac.status().message();
  for (const Group& group : groups.groups) {
    const double share =
        1 - static_cast<double>(*macs_without(graph, groups, std::vector{group.begin})) /
                static_cast<double>(all_macs(graph));
    for (size_t unit = group.begin; unit < group.end; ++unit) {
      EXPECT_NEAR((*per_mac)[unit], 1 / share, 1e-9);
    }
  }
  EXPECT_EQ(*per_saving(graph, groups, worth, {.units = 0.5}), worth);
  // What is gone comes first, what is left of its group is worth more, and what it saves is less.
  const std::vector<size_t> gone = {1, 3};
  const auto later = *per_saving(graph, groups, worth, {.macs = 0.5}, gone);
  EXPECT_LT(later[1], 0);
  const double share =
      static_cast<double>(*macs_without(graph, groups, gone) -
                          *macs_without(graph, groups, std::vector<size_t>{0, 1, 3})) /
      static_cast<double>(all_macs(graph));
  EXPECT_NEAR(later[0], 4.0 / 2 / share, 1e-9);
  // A cost that meets its target saves nothing more.
  const auto both = *per_saving(graph, groups, worth, {.macs = 0.5, .bytes = 0.99}, gone);
  EXPECT_EQ(both, later);
}

TEST(Choose, NamesWhatCannotBeMet) {
  const Graph graph = parse(kNetwork);
  const Groups groups = *find_groups(graph);
  const auto worth = random_worth(groups, 1);
  EXPECT_EQ(choose(graph, groups, worth, {.units = 0}).status().code(), Code::kInvalidArgument);
  const auto status = choose(graph, groups, worth, {.units = 0.1}).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_EQ(status.message(), "one unit of each group must stay, which is 22 % of them");
  EXPECT_EQ(choose(graph, groups, worth, {.macs = 0.01}).status().code(), Code::kUnsupported);
}

TEST(Magnitude, IsAMethod) {
  const Graph graph = parse(kNetwork);
  const Method* method = find_method("magnitude");
  ASSERT_NE(method, nullptr);
  const auto device = make_reference_device();
  const auto result = method->run(graph, {*device, {}, {}, {.macs = 0.6}});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->parts, 9u);
  EXPECT_LE(static_cast<double>(all_macs(result->graph)),
            0.6 * static_cast<double>(all_macs(graph)));
  const Graph empty = parse("input x f32[2]\ny = Relu(x)\noutput y\n");
  EXPECT_EQ(method->run(empty, {*device}).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace shoal::compress
