#include <gtest/gtest.h>

#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/quantization/scales.h"

namespace shoal::compress {
namespace {

ValueId id_of(const Graph& graph, std::string_view name) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    if (graph[static_cast<ValueId>(i)].name == name) return static_cast<ValueId>(i);
  }
  return kNoValue;
}

// 'a' is read by a Concat alone, 'b' by something else, too.
Graph network() {
  auto graph = parse_text(R"(
input x f32[1,2]
a = Relu(x)
b = Sigmoid(x)
c = Concat(a, b) axis=1
d = Transpose(c) perm=[1,0]
e = Tanh(b)
output d
output e
)",
                          ops::find);
  SHOAL_CHECK(graph.ok());
  return *std::move(graph);
}

TEST(SharedRanges, HoldAConcatAndThePartsThatItAloneReads) {
  const Graph graph = network();
  const ValueId a = id_of(graph, "a"), b = id_of(graph, "b"), c = id_of(graph, "c"),
                d = id_of(graph, "d");
  const Ranges shared =
      shared_ranges(graph, {{a, {0, 9}}, {b, {-1, 1}}, {c, {-2, 5}}, {d, {-3, 4}}});
  for (ValueId id : {a, c, d}) {
    EXPECT_EQ(shared.at(id).low, -3);
    EXPECT_EQ(shared.at(id).high, 9);
  }
  EXPECT_EQ(shared.at(b).low, -1);
  EXPECT_EQ(shared.at(b).high, 1);
}

TEST(SharedRanges, AreOfValuesThatHaveOne) {
  const Graph graph = network();
  const ValueId a = id_of(graph, "a"), d = id_of(graph, "d");
  const Ranges shared = shared_ranges(graph, {{a, {0, 9}}, {d, {-3, 4}}});
  EXPECT_EQ(shared.size(), 2u);
  EXPECT_EQ(shared.at(a).low, 0);
  EXPECT_EQ(shared.at(d).high, 4);
}

}  // namespace
}  // namespace shoal::compress
