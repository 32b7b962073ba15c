#include "shoal/shrink/compress/units/block_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/units/compress_testing.h"
#include "shoal/shrink/compress/units/remove.h"

namespace shoal::compress {
namespace {

// An encoder's layer in small operators: Q, K and V of `heads` heads of `width` from one matrix,
// residuals, and a feed-forward part of `hidden` lines.
std::string encoder_text(int64_t tokens, int64_t model, int64_t heads, int64_t width,
                         int64_t hidden) {
  const auto n = [](int64_t number) { return std::to_string(number); };
  const std::string d = n(model), a = n(heads * width), q = n(3 * heads * width), f = n(hidden);
  return "input x f32[1," + n(tokens) + "," + d + "]\n" +  //
         "const wqkv f32[" + d + "," + q + "] = random(1)\n" + "const bqkv f32[" + q +
         "] = random(2)\n" + "const wo f32[" + a + "," + d + "] = random(3)\n" + "const w1 f32[" +
         d + "," + f + "] = random(4)\n" + "const b1 f32[" + f + "] = random(5)\n" +
         "const w2 f32[" + f + "," + d + "] = random(6)\n" + "const parts i64[3] = [" + a + "," +
         a + "," + a + "]\n" + "const heads i64[4] = [0,0," + n(heads) + "," + n(width) + "]\n" +
         "const merged i64[3] = [0,0," + a + "]\n" + R"(
m = MatMul(x, wqkv)
p = Add(m, bqkv)
q, k, v = Split(p, parts) axis=2
rq = Reshape(q, heads)
rk = Reshape(k, heads)
rv = Reshape(v, heads)
tq = Transpose(rq) perm=[0,2,1,3]
tk = Transpose(rk) perm=[0,2,3,1]
tv = Transpose(rv) perm=[0,2,1,3]
s = MatMul(tq, tk)
e = Softmax(s) axis=-1
c = MatMul(e, tv)
tc = Transpose(c) perm=[0,2,1,3]
rc = Reshape(tc, merged)
o = MatMul(rc, wo)
r1 = Add(x, o)
h = MatMul(r1, w1)
hb = Add(h, b1)
g = Relu(hb)
z = MatMul(g, w2)
y = Add(r1, z)
output y
)";
}

ValueId value_of(const Graph& graph, const std::string& name) {
  for (size_t v = 0; v < graph.value_count(); ++v) {
    const auto id = ValueId(static_cast<int32_t>(v));
    if (graph[id].name == name) return id;
  }
  ADD_FAILURE() << "no value " << name;
  return kNoValue;
}

// The number of lines in the set whose lines have a patch of these weights.
const LineSet* set_with(const std::vector<LineSet>& sets, ValueId weights) {
  for (const LineSet& lines : sets) {
    for (const Patch& patch : lines[0]) {
      if (patch.weights == weights) return &lines;
    }
  }
  return nullptr;
}

TEST(BlockLines, UnitsOfATransformerAreHeadsAndLines) {
  const Graph graph = parse(encoder_text(5, 6, 3, 4, 7));
  const std::vector<LineSet> sets = unit_lines(graph, *find_groups(graph));
  const ValueId w1 = value_of(graph, "w1"), w2 = value_of(graph, "w2"), b1 = value_of(graph, "b1"),
                wqkv = value_of(graph, "wqkv"), wo = value_of(graph, "wo");
  const LineSet* lines = set_with(sets, w1);
  ASSERT_NE(lines, nullptr);
  ASSERT_EQ(lines->size(), 7u);
  // A column of the first matrix, an element of its bias, a row of the second.
  const Line wanted = {{w1, {{0, 2}, {6, 3}}}, {b1, {{2}, {3}}}, {w2, {{2, 0}, {3, 6}}}};
  EXPECT_TRUE(std::ranges::is_permutation((*lines)[2], wanted));
  const LineSet* heads = set_with(sets, wo);
  ASSERT_NE(heads, nullptr);
  ASSERT_EQ(heads->size(), 3u);
  // Of the second head: its columns of Q, K and V and its rows of the output.
  for (const Patch& patch : {Patch{wqkv, {{0, 4}, {6, 8}}}, Patch{wqkv, {{0, 16}, {6, 20}}},
                             Patch{wqkv, {{0, 28}, {6, 32}}}, Patch{wo, {{4, 0}, {8, 6}}}}) {
    EXPECT_NE(std::ranges::find((*heads)[1], patch), (*heads)[1].end());
  }
}

TEST(BlockLines, AHeadHasABlockOfEachMatrix) {
  const Graph graph = parse(encoder_text(5, 6, 3, 4, 7));
  const std::vector<Patch> blocks = find_blocks(graph, *find_groups(graph));
  const auto count = [&](const char* name) {
    return std::ranges::count(blocks, value_of(graph, name), &Patch::weights);
  };
  EXPECT_EQ(count("wqkv"), 9);  // three heads of Q, of K and of V
  EXPECT_EQ(count("wo"), 3);
  EXPECT_EQ(count("w1"), 1);
  EXPECT_EQ(count("w2"), 1);
  EXPECT_EQ(blocks.size(), 14u);  // biases are no matrices
  for (const Patch& block : blocks) {
    EXPECT_EQ(lines_of(block, 0).size(),
              static_cast<size_t>(block.box.end[0] - block.box.begin[0]));
  }
}

// T9: planted zeros are what the analysis counts.
TEST(BlockSparsity, CountsLinesThatAreNearlyZero) {
  const Graph graph = parse(encoder_text(3, 4, 2, 3, 8));
  Tensor w1 = *graph[value_of(graph, "w1")].constant;  // shares its elements with the graph
  for (size_t i = 0; i < w1.data<float>().size(); ++i) {
    if (i % 8 < 2) w1.data<float>()[i] = 0;
  }
  Tensor wqkv = *graph[value_of(graph, "wqkv")].constant;  // rows of 18: Q, K and V of two heads
  for (size_t i = 0; i < 18; ++i) {
    if (i < 3) wqkv.data<float>()[i] = 0;
  }
  const auto report = sparsity_of(graph, find_blocks(graph, *find_groups(graph)), 1e-3);
  for (const BlockSparsity& block_sparsity : report) {
    const std::string& name = graph[block_sparsity.block.weights].name;
    const bool planted = name == "wqkv" && block_sparsity.block.box.begin[1] == 0;
    EXPECT_EQ(block_sparsity.columns, name == "w1" ? 0.25 : 0) << name;
    EXPECT_EQ(block_sparsity.rows, planted ? 0.25 : 0) << name;
  }
}

// T4 for heads and lines of random encoders: the compact network answers as the masked one does.
TEST(BlockLines, CompactEqualsMasked) {
  const auto device = make_reference_device();
  std::mt19937 rng(4);
  for (int round = 0; round < 20; ++round) {
    const auto draw = [&](int64_t least, int64_t most) {
      return least + static_cast<int64_t>(rng() % static_cast<uint64_t>(most - least + 1));
    };
    const Graph graph =
        parse(encoder_text(draw(2, 6), draw(3, 8), draw(2, 4), draw(2, 5), draw(2, 9)));
    const Groups groups = *find_groups(graph);
    EXPECT_EQ(groups.groups.size(), 2u);
    const auto error =
        removal_error(graph, groups, random_units(groups, rng), random_inputs(graph, rng), *device);
    ASSERT_TRUE(error.ok()) << error.status().message();
    EXPECT_LE(*error, 1e-5);
  }
}

}  // namespace
}  // namespace shoal::compress
