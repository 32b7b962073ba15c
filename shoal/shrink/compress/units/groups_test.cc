#include "shoal/shrink/compress/units/groups.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/units/compress_testing.h"

namespace shoal::compress {
namespace {

constexpr double kSame = 1e-5;

Groups groups_of(const Graph& graph) {
  auto groups = find_groups(graph);
  EXPECT_TRUE(groups.ok()) << groups.status().message();
  return groups.ok() ? *groups : Groups();
}

// "8: w0 y1 v1*2" for 8 units, each of one index of axis 0 of w, and two of axis 1 of v.
std::vector<std::string> kinds(const Graph& graph, const Groups& groups) {
  std::vector<std::string> kinds;
  for (const Group& group : groups.groups) {
    std::map<std::pair<ValueId, size_t>, int> counts;
    for (const Cell& cell : groups.units[group.begin].cells) ++counts[{cell.value, cell.axis}];
    std::ostringstream kind;
    kind << group.size() << ":";
    for (const auto& [axis, count] : counts) {
      kind << " " << graph[axis.first].name << axis.second;
      if (count > 1) kind << "*" << count;
    }
    kinds.push_back(kind.str());
  }
  return kinds;
}

std::string why(const Groups& groups, const Graph& graph, std::string_view weights, size_t axis) {
  for (const Refusal& refusal : groups.refused) {
    if (graph[refusal.weights].name == weights && refusal.axis == axis) return refusal.reason;
  }
  return "";
}

// The groups, and the law for random units.
void expect_groups(const std::string& text, const std::vector<std::string>& want) {
  const Graph graph = parse(text);
  const Groups groups = groups_of(graph);
  EXPECT_EQ(kinds(graph, groups), want);
  const auto device = make_reference_device();
  std::mt19937 rng(1);
  for (int i = 0; i < 20; ++i) {
    const auto error =
        removal_error(graph, groups, random_units(groups, rng), random_inputs(graph, rng), *device);
    ASSERT_TRUE(error.ok()) << error.status().message();
    ASSERT_LE(*error, kSame);
  }
}

TEST(Groups, AChannelIsARowOfOneLayerAndAColumnOfTheNext) {
  expect_groups(R"(
input x f32[1,3,8,8]
const w f32[8,3,3,3] = random(1)
const b f32[8] = random(2)
const v f32[5,8,3,3] = random(3)
y = Conv(x, w, b)
r = Relu(y)
p = MaxPool(r) kernel_shape=[2,2] strides=[2,2]
z = Conv(p, v)
output z
)",
                {"8: w0 b0 v1 y1 r1 p1"});
}

TEST(Groups, AResidualSumTiesTheChannelsOfBothSides) {
  expect_groups(R"(
input x f32[1,3,6,6]
const w f32[4,3,1,1] = random(1)
const v f32[6,4,1,1] = random(2)
const u f32[4,6,1,1] = random(3)
const f f32[2,4,6,6] = random(4)
y = Conv(x, w)
a = Conv(y, v)
s = Sigmoid(a)
c = Conv(s, u)
z = Add(y, c)
o = Conv(z, f)
output o
)",
                {"4: w0 v1 u0 f1 y1 c1 z1", "6: v0 u1 a1 s1"});
}

// The shortcut of a CIFAR ResNet: channels are added around those that there are.
TEST(Groups, APaddedChannelIsAUnitOfItsOwn) {
  expect_groups(R"(
input x f32[1,3,8,8]
const w f32[4,3,3,3] = random(1)
const v f32[8,4,3,3] = random(2)
const f f32[2,8,3,3] = random(3)
const pads i64[8] = [0,2,0,0,0,2,0,0]
const start i64[2] = [0,0]
const end i64[2] = [8,8]
const axes i64[2] = [2,3]
const step i64[2] = [2,2]
y = Conv(x, w) pads=[1,1,1,1]
c = Conv(y, v) pads=[1,1,1,1] strides=[2,2]
s = Slice(y, start, end, axes, step)
p = Pad(s, pads)
z = Add(c, p)
o = Conv(z, f)
output o
)",
                {"4: w0 v0 v1 f1 y1 c1 s1 p1 z1", "4: v0 f1 c1 p1 z1"});
}

TEST(Groups, AFlattenedChannelIsAUnitOfManyIndices) {
  expect_groups(R"(
input x f32[1,3,4,4]
const w f32[6,3,3,3] = random(1)
const m f32[24,5] = random(2)
const b f32[5] = random(3)
const k f32[5,2] = random(4)
y = Conv(x, w)
f = Flatten(y)
g = Gemm(f, m, b)
r = Relu(g)
o = Gemm(r, k)
output o
)",
                {"6: w0 m0*4 y1 f1*4", "5: m1 b0 k0 g1 r1"});
}

TEST(Groups, NormsSlopesAndScalesGoWithTheirChannel) {
  expect_groups(R"(
input x f32[1,3,4,4]
const w f32[4,3,1,1] = random(1)
const scale f32[4] = random(2)
const shift f32[4] = random(3)
const mean f32[4] = random(4)
const variance f32[4] = [1,2,3,4]
const slope f32[4,1,1] = random(5)
const sizes f32[4] = [1,1,2,2]
const f f32[2,4,1,1] = random(6)
y = Conv(x, w)
n = BatchNormalization(y, scale, shift, mean, variance)
p = PRelu(n, slope)
u = Resize(p, _, sizes) mode="linear"
a = GlobalAveragePool(u)
g = Sigmoid(a)
m = Mul(u, g)
o = Conv(m, f)
output o
)",
                {"4: w0 scale0 shift0 mean0 variance0 slope0 f1 y1 n1 p1 u1 a1 g1 m1"});
}

TEST(Groups, SplitDividesUnitsAmongItsOutputs) {
  expect_groups(R"(
input x f32[1,3,4,4]
const w f32[8,3,1,1] = random(1)
const f f32[2,4,1,1] = random(2)
const h f32[2,4,1,1] = random(3)
y = Conv(x, w)
a, b = Split(y) axis=1
c = Conv(a, f)
d = Conv(b, h)
o = Add(c, d)
output o
)",
                {"4: w0 f1 y1 a1", "4: w0 h1 y1 b1"});
}

TEST(Groups, ConstantIndicesAreCountedAnew) {
  expect_groups(R"(
input x f32[1,3,2,2]
const w f32[6,3,1,1] = random(1)
const places i64[4] = [5,0,-2,3]
const f f32[2,4,1,1] = random(2)
y = Conv(x, w)
g = Gather(y, places) axis=1
o = Conv(g, f)
output o
)",
                {"4: w0 places0 f1 y1 g1", "2: w0 y1"});
}

TEST(Groups, ListedSizesAreCountedAnew) {
  expect_groups(R"(
input x f32[1,3,2,2]
const w f32[6,3,1,1] = random(1)
const scale f32[6] = random(2)
const bias f32[6] = random(3)
const sizes i64[4] = [1,6,4,4]
const places i64[4] = [1,6,4,4]
const f f32[2,6,1,1] = random(4)
y = Conv(x, w)
n = GroupNormalization(y, scale, bias) num_groups=3
u = Resize(n, _, _, sizes) mode="linear"
a = GlobalAveragePool(u)
e = Expand(a, places)
m = Mul(u, e)
o = Conv(m, f)
output o
)",
                {"3: w0*2 scale0*2 bias0*2 f1*2 y1*2 n1*2 u1*2 a1*2 e1*2 m1*2"});
}

// softmax(Q K^T) V over two heads of three, from one input of four features.
constexpr const char* kAttention = R"(
input x f32[1,5,4]
const q f32[4,6] = random(1)
const k f32[4,6] = random(2)
const v f32[4,6] = random(3)
const m f32[6,4] = random(4)
const heads i64[4] = [0,0,2,3]
const merged i64[3] = [0,0,6]
xq = MatMul(x, q)
xk = MatMul(x, k)
xv = MatMul(x, v)
rq = Reshape(xq, heads)
rk = Reshape(xk, heads)
rv = Reshape(xv, heads)
hq = Transpose(rq) perm=[0,2,1,3]
hk = Transpose(rk) perm=[0,2,3,1]
hv = Transpose(rv) perm=[0,2,1,3]
s = MatMul(hq, hk)
p = Softmax(s) axis=-1
a = MatMul(p, hv)
t = Transpose(a) perm=[0,2,1,3]
f = Reshape(t, merged)
o = MatMul(f, m)
output o
)";

TEST(Groups, AHeadIsAUnit) {
  expect_groups(kAttention, {"2: q1*3 k1*3 v1*3 m0*3 xq2*3 xk2*3 xv2*3 rq2 rk2 rv2 hq1 hk1 hv1 s1 "
                             "p1 a1 t2 f2*3"});
}

// --- The six cases that pruning tools are known for getting wrong.

TEST(KnownCases, ConcatKeepsThePlacesOfItsInputs) {
  expect_groups(R"(
input x f32[1,3,4,4]
const w f32[3,3,1,1] = random(1)
const v f32[5,3,1,1] = random(2)
const f f32[2,8,1,1] = random(3)
a = Conv(x, w)
b = Conv(x, v)
c = Concat(a, b) axis=1
o = Conv(c, f)
output o
)",
                {"3: w0 f1 a1 c1", "5: v0 f1 b1 c1"});
}

TEST(KnownCases, ConcatOfAValueWithItself) {
  expect_groups(R"(
input x f32[1,3,4,4]
const w f32[4,3,1,1] = random(1)
const f f32[2,8,1,1] = random(2)
a = Conv(x, w)
c = Concat(a, a) axis=1
o = Conv(c, f)
output o
)",
                {"4: w0 f1*2 a1 c1*2"});
}

TEST(KnownCases, AConvolutionToOneChannelIsNotDepthwise) {
  expect_groups(R"(
input x f32[1,3,4,4]
const w f32[4,3,1,1] = random(1)
const v f32[1,4,3,3] = random(2)
const u f32[5,1,1,1] = random(3)
const f f32[2,5,1,1] = random(4)
a = Conv(x, w)
b = Conv(a, v)
c = Conv(b, u)
o = Conv(c, f)
output o
)",
                {"4: w0 v1 a1", "5: u0 f1 c1"});
}

TEST(KnownCases, DepthwiseConvolution) {
  expect_groups(R"(
input x f32[1,3,6,6]
const w f32[4,3,1,1] = random(1)
const d f32[4,1,3,3] = random(2)
const b f32[4] = random(3)
const e f32[8,1,3,3] = random(4)
const f f32[2,8,1,1] = random(5)
a = Conv(x, w)
c = Conv(a, d, b) group=4
m = Conv(c, e) group=4
o = Conv(m, f)
output o
)",
                {"4: w0 d0 b0 e0*2 f1*2 a1 c1 m1*2"});
}

TEST(KnownCases, GroupedConvolutionKeepsEqualGroups) {
  expect_groups(R"(
input x f32[1,3,6,6]
const w f32[8,3,1,1] = random(1)
const g f32[6,4,3,3] = random(2)
const f f32[2,6,1,1] = random(3)
a = Conv(x, w)
c = Conv(a, g) group=2
o = Conv(c, f)
output o
)",
                {"4: w0*2 g1 a1*2", "3: g0*2 f1*2 c1*2"});
}

TEST(KnownCases, GroupedTransposedConvolutionKeepsEqualGroups) {
  expect_groups(R"(
input x f32[1,3,6,6]
const w f32[8,3,1,1] = random(1)
const t f32[8,3,3,3] = random(2)
const f f32[2,6,1,1] = random(3)
a = Conv(x, w)
c = ConvTranspose(a, t) group=2
o = Conv(c, f)
output o
)",
                {"4: w0*2 t0*2 a1*2", "3: t1 f1*2 c1*2"});
}

TEST(KnownCases, ConcatThenSlice) {
  expect_groups(R"(
input x f32[1,3,4,4]
const w f32[4,3,1,1] = random(1)
const v f32[4,3,1,1] = random(2)
const start i64[1] = [2]
const end i64[1] = [-1]
const axis i64[1] = [1]
const f f32[2,5,1,1] = random(3)
a = Conv(x, w)
b = Conv(x, v)
c = Concat(a, b) axis=1
s = Slice(c, start, end, axis)
o = Conv(s, f)
output o
)",
                {"2: w0 a1 c1", "2: w0 f1 a1 c1 s1", "3: v0 f1 b1 c1 s1"});
}

// --- What cannot be separated has a reason.

TEST(Refused, EndsOfTheNetwork) {
  const Graph graph = parse(R"(
input x f32[1,3]
const w f32[3,4] = random(1)
const v f32[4,5] = random(2)
y = Gemm(x, w)
o = Gemm(y, v)
output o
)");
  const Groups groups = groups_of(graph);
  EXPECT_EQ(groups.units.size(), 4u);
  EXPECT_EQ(why(groups, graph, "w", 0), "x is an input of the network");
  EXPECT_EQ(why(groups, graph, "v", 1), "o is an output of the network");
  EXPECT_EQ(groups.refused.size(), 2u);
}

TEST(Refused, AnAxisThatIsNormalisedAsAWhole) {
  const Graph graph = parse(R"(
input x f32[1,3]
const w f32[3,4] = random(1)
const s f32[4] = random(2)
const v f32[4,5] = random(3)
y = Gemm(x, w)
n = LayerNormalization(y, s)
o = Gemm(n, v)
output o
)");
  const Groups groups = groups_of(graph);
  EXPECT_TRUE(groups.units.empty());
  EXPECT_EQ(why(groups, graph, "w", 1), "LayerNormalization n reads all of axis 1 at once");
}

TEST(Refused, AnOperatorThatCannotBeSplitIsABarrier) {
  Operator opaque = *ops::find("Relu");
  opaque.name = "Opaque";
  opaque.split = nullptr;
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, 3}});
  const ValueId w = graph.add_constant("w", Tensor({DType::kF32, {3, 4}}));
  const ValueId v = graph.add_constant("v", Tensor({DType::kF32, {4, 5}}));
  const ValueId y = *graph.add(*ops::find("MatMul"), {x, w});
  const ValueId z = *graph.add(opaque, {y}, {}, "z");
  graph.mark_output(*graph.add(*ops::find("MatMul"), {z, v}));
  const Groups groups = groups_of(graph);
  EXPECT_TRUE(groups.units.empty());
  EXPECT_EQ(why(groups, graph, "w", 1), "Opaque z cannot be split");
  EXPECT_EQ(why(groups, graph, "v", 0), "Opaque z cannot be split");
}

TEST(Refused, AStrideOverChannelsHasNoSettingsForTheRest) {
  const Graph graph = parse(R"(
input x f32[1,3]
const w f32[3,8] = random(1)
const start i64[1] = [0]
const end i64[1] = [8]
const axis i64[1] = [1]
const step i64[1] = [2]
const v f32[4,5] = random(2)
y = Gemm(x, w)
s = Slice(y, start, end, axis, step)
o = Gemm(s, v)
output o
)");
  const Groups groups = groups_of(graph);
  EXPECT_TRUE(groups.units.empty());
  EXPECT_EQ(why(groups, graph, "v", 0), "Slice s has no settings for what is left");
}

TEST(Refused, QuantisedGraphs) {
  const Graph graph = parse(R"(
input x f32[1,3]
const scale f32[] = [0.1]
const zero u8[] = [128]
q = QuantizeLinear(x, scale, zero)
y = DequantizeLinear(q, scale, zero)
output y
)");
  const auto groups = find_groups(graph);
  EXPECT_EQ(groups.status().code(), Code::kUnsupported);
  EXPECT_NE(groups.status().message().find("QuantizeLinear q is quantised"), std::string::npos);
}

}  // namespace
}  // namespace shoal::compress
