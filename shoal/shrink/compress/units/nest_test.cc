#include "shoal/shrink/compress/units/nest.h"

#include <gtest/gtest.h>

#include <random>

#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/units/compress_testing.h"
#include "shoal/shrink/compress/units/importance.h"
#include "shoal/shrink/compress/units/remove.h"

namespace shoal::compress {
namespace {

// A residual sum, a concatenation, a depthwise and a grouped convolution, a norm and a flattened
// image.
constexpr const char* kNetwork = R"(
input x f32[1,2,4,4]
const w f32[4,2,1,1] = random(1)
const b f32[4] = random(2)
const d f32[4,1,3,3] = random(3)
const e f32[3,2,3,3] = random(4)
const s f32[4] = random(5)
const t f32[4] = random(6)
const m f32[4] = random(7)
const v f32[4] = [1,2,3,4]
const g f32[8,2,1,1] = random(8)
const h f32[4,4,1,1] = random(9)
const k f32[76,5] = random(10)
const q f32[5,3] = random(11)
y = Conv(x, w, b)
r = Relu(y)
c = Conv(r, d) group=4 pads=[1,1,1,1]
n = BatchNormalization(c, s, t, m, v)
a = Add(n, y)
u = Conv(a, g) group=2
z = Conv(u, h) group=2
j = Conv(x, e)
l = Flatten(j)
i = Flatten(z)
f = Concat(i, l) axis=1
o = Gemm(f, k)
p = Gemm(o, q)
output p
)";

TEST(Nest, KeepsTheAnswers) {
  const Graph graph = parse(kNetwork);
  const Groups groups = *find_groups(graph);
  ASSERT_GE(groups.groups.size(), 4u);
  const auto device = make_reference_device();
  std::mt19937 rng(1);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto ordered = nested(graph, groups, random_worth(groups, seed));
    ASSERT_TRUE(ordered.ok()) << ordered.status().message();
    EXPECT_NE(to_text(*ordered), to_text(graph));
    const auto inputs = random_inputs(graph, rng);
    EXPECT_LE(relative_error(*answers(*ordered, inputs, *device), *answers(graph, inputs, *device)),
              1e-5);
  }
}

// Of an ordered network, the first units are those of the highest worth in the network as it was.
TEST(Nest, PutsTheBestUnitsFirst) {
  const Graph graph = parse(kNetwork);
  const Groups groups = *find_groups(graph);
  const auto device = make_reference_device();
  std::mt19937 rng(2);
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const std::vector<double> worth = random_worth(groups, seed);
    const Graph ordered = *nested(graph, groups, worth);
    const Groups same = *find_groups(ordered);
    std::vector<size_t> worst;
    Widths widths;
    for (const Group& group : groups.groups) {
      const size_t width = 1 + rng() % group.size();
      std::vector<size_t> units(group.size());
      for (size_t i = 0; i < units.size(); ++i) units[i] = group.begin + i;
      std::ranges::sort(units, [&](size_t a, size_t b) { return worth[a] > worth[b]; });
      worst.insert(worst.end(), units.begin() + static_cast<ptrdiff_t>(width), units.end());
      widths[group_name(graph, groups, group)] = width;
    }
    const auto beyond = units_beyond(ordered, same, widths);
    ASSERT_TRUE(beyond.ok()) << beyond.status().message();
    const auto narrow = remove(ordered, same, *beyond);
    const auto want = remove(graph, groups, worst);
    ASSERT_TRUE(narrow.ok() && want.ok()) << narrow.status().message();
    const auto inputs = random_inputs(graph, rng);
    EXPECT_LE(relative_error(*answers(*narrow, inputs, *device), *answers(*want, inputs, *device)),
              1e-5);
  }
}

TEST(Nest, WidthsAndUnitsSayTheSame) {
  const Graph graph = parse(kNetwork);
  const Groups groups = *find_groups(graph);
  for (const Group& group : groups.groups) {
    const Widths widths = {{group_name(graph, groups, group), 1}};
    const std::vector<size_t> units = *units_beyond(graph, groups, widths);
    EXPECT_EQ(units.size(), group.size() - 1);
    EXPECT_EQ(*widths_without(graph, groups, units), widths);
  }
  EXPECT_TRUE(units_beyond(graph, groups, {})->empty());
}

TEST(Nest, RefusesWidthsThatAreNone) {
  const Graph graph = parse(kNetwork);
  const Groups groups = *find_groups(graph);
  const std::string name = group_name(graph, groups, groups.groups[0]);
  for (const Widths& widths : {Widths{{name, 0}}, Widths{{name, 100}}, Widths{{"nobody:0:0", 1}}}) {
    EXPECT_EQ(units_beyond(graph, groups, widths).status().code(), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace shoal::compress
