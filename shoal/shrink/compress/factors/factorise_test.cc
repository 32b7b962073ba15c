#include "shoal/shrink/compress/factors/factorise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "shoal/base/math/random_matrix_testing.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/tensor/compare.h"
#include "shoal/shrink/compress/factors/low_rank.h"
#include "shoal/shrink/compress/units/compress_testing.h"

namespace shoal::compress {
namespace {

int64_t macs_of(const Graph& graph) {
  int64_t sum = 0;
  for (const Node& node : graph.nodes()) sum += macs(graph, node);
  return sum;
}

// A device on which every multiply-accumulate takes a microsecond.
Result<double> macs_as_time(Executable& executable, std::span<const Tensor>) {
  return static_cast<double>(macs_of(executable.graph()));
}

FactoriseOptions exact() { return {.error = 1e-8, .block = 8, .stopwatch = macs_as_time}; }

Tensor answer(const Graph& graph, std::span<const Tensor> inputs) {
  auto executable = make_reference_device()->compile(graph);
  std::vector<Tensor> outputs(graph.outputs().size());
  EXPECT_TRUE(executable.ok() && (*executable)->run(inputs, outputs, {}).ok());
  return outputs[0];
}

// How far the answers of two graphs are apart, on an input that is no example.
double distance(const Graph& before, const Graph& after) {
  const auto inputs = random_examples(before, 100).at(99);
  SHOAL_CHECK(inputs.ok());
  return relative_error(answer(after, *inputs), answer(before, *inputs));
}

Tensor tensor_of(const Matrix& matrix, const Shape& shape) {
  Tensor tensor({DType::kF32, shape});
  std::ranges::transform(matrix.elements(), tensor.data<float>().begin(),
                         [](double x) { return static_cast<float>(x); });
  return tensor;
}

// The product `op` of x and weights, with a bias if the operator takes one.
Graph layer(const Operator& op, const Shape& x, Tensor weights, int64_t channels,
            Attributes attributes) {
  Graph graph;
  std::vector<ValueId> inputs{graph.add_input("x", {DType::kF32, x}),
                              graph.add_constant("w", std::move(weights))};
  if (&op != &ops::mat_mul) {
    Tensor bias({DType::kF32, {channels}});
    for (size_t i = 0; i < bias.data<float>().size(); ++i) {
      bias.data<float>()[i] = static_cast<float>(i);
    }
    inputs.push_back(graph.add_constant("b", std::move(bias)));
  }
  const auto y = graph.add(op, std::move(inputs), std::move(attributes), "y");
  SHOAL_CHECK(y.ok());
  graph.mark_output(*y);
  return graph;
}

// Layers whose weights are a product of two, of this rank.
std::vector<Graph> planted_matrices(size_t m, size_t n, size_t rank, std::mt19937& rng) {
  const Matrix w = product(random_matrix(m, rank, rng), random_matrix(rank, n, rng));
  const auto rows = static_cast<int64_t>(m), columns = static_cast<int64_t>(n);
  const Tensor out_in = tensor_of(w, {rows, columns});
  const Tensor in_out = tensor_of(transposed(w), {columns, rows});
  return {
      layer(ops::gemm, {3, columns}, out_in, rows, {{"transB", int64_t{1}}}),
      layer(ops::gemm, {3, columns}, in_out, rows, {}),
      layer(ops::mat_mul, {2, 3, columns}, in_out, rows, {}),
      layer(ops::mat_mul, {columns}, in_out, rows, {}),
      layer(ops::conv, {2, columns, 5, 4}, out_in.reshaped({rows, columns, 1, 1}), rows,
            {{"strides", std::vector<int64_t>{2, 1}}, {"pads", std::vector<int64_t>{1, 0, 0, 1}}}),
      layer(ops::conv, {1, columns, 7}, out_in.reshaped({rows, columns, 1}), rows, {}),
  };
}

// The law of the method: weights that are a product of two are replaced by two that compute the
// same, with fewer multiply-accumulates, whichever operator reads them and with or without
// examples.
TEST(Svd, ReplacesWeightsOfLowRankByEqualFactors) {
  std::mt19937 rng(1);
  const auto device = make_reference_device();
  std::uniform_int_distribution<size_t> size(20, 50), low(1, 8);
  for (int round = 0; round < 6; ++round) {
    const size_t rank = low(rng);
    for (const Graph& graph : planted_matrices(size(rng), size(rng), rank, rng)) {
      Context context{*device};
      if (round % 2 == 1) context.examples = random_examples(graph, 6);
      const auto result = factorise(graph, context, kSvd, exact());
      ASSERT_TRUE(result.ok()) << result.status().message();
      ASSERT_EQ(result->layers.size(), 1u);
      const LayerReport& report = result->layers[0];
      ASSERT_TRUE(report.refused.ok()) << report.refused.message();
      EXPECT_GE(report.ranks.outputs, rank);
      EXPECT_LE(report.ranks.outputs, 8u);
      EXPECT_EQ(result->graph.nodes().size(), 2u);
      EXPECT_LT(macs_of(result->graph), macs_of(graph));
      EXPECT_EQ(report.microseconds_after, static_cast<double>(macs_of(result->graph)));
      EXPECT_LT(distance(graph, result->graph), kSameAnswer);
    }
  }
}

TEST(Svd, LeavesOrdinaryNodes) {
  std::mt19937 rng(2);
  const auto device = make_reference_device();
  const Graph graph = planted_matrices(32, 24, 4, rng)[4];
  const auto result = factorise(graph, {*device}, kSvd, exact());
  ASSERT_TRUE(result.ok());
  const std::string text = to_text(result->graph);
  EXPECT_NE(text.find("f32[4,24,1,1]"), std::string::npos) << text;
  EXPECT_NE(text.find("f32[32,4,1,1]"), std::string::npos) << text;
  EXPECT_NE(text.find("pads=[1,0,0,1] strides=[2,1]\ny = Conv("), std::string::npos) << text;
}

// Filters [N, C, taps] of Tucker ranks (n', c'), and convolutions with them.
std::vector<Graph> planted_filters(size_t n, size_t c, Ranks ranks, std::mt19937& rng) {
  const auto filters = [&](const Shape& kernel) {
    const auto taps = static_cast<size_t>(kernel.count());
    const Matrix core = random_matrix(ranks.outputs, ranks.inputs * taps, rng);
    const Matrix wide = product(random_matrix(n, ranks.outputs, rng), core);
    Shape shape{static_cast<int64_t>(n), static_cast<int64_t>(c)};
    for (int64_t k : kernel) shape.push_back(k);
    return tensor_of(times_inputs(wide, random_matrix(c, ranks.inputs, rng), taps), shape);
  };
  const auto outputs = static_cast<int64_t>(n), inputs = static_cast<int64_t>(c);
  using Ints = std::vector<int64_t>;
  return {
      layer(ops::conv, {2, inputs, 7, 6}, filters({3, 3}), outputs,
            {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 2, 1}}}),
      layer(ops::conv, {1, inputs, 8, 8}, filters({2, 3}), outputs,
            {{"dilations", Ints{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}}),
      layer(ops::conv, {1, inputs, 9}, filters({4}), outputs, {{"pads", Ints{0, 3}}}),
      layer(ops::conv, {1, inputs, 3, 4, 3}, filters({2, 2, 2}), outputs, {}),
  };
}

TEST(Tucker, ReplacesFiltersOfLowRanksByEqualFactors) {
  std::mt19937 rng(3);
  const auto device = make_reference_device();
  std::uniform_int_distribution<size_t> size(20, 40), low(1, 8);
  for (int round = 0; round < 4; ++round) {
    const Ranks ranks{low(rng), low(rng)};
    for (const Graph& graph : planted_filters(size(rng), size(rng), ranks, rng)) {
      Context context{*device};
      if (round % 2 == 1) context.examples = random_examples(graph, 6);
      const auto result = factorise(graph, context, kTucker, exact());
      ASSERT_TRUE(result.ok()) << result.status().message();
      const LayerReport& report = result->layers[0];
      ASSERT_TRUE(report.refused.ok()) << report.refused.message();
      EXPECT_EQ(result->graph.nodes().size(), 3u);
      EXPECT_LE(report.ranks.outputs, 8u);
      EXPECT_LE(report.ranks.inputs, 8u);
      EXPECT_LT(macs_of(result->graph), macs_of(graph));
      EXPECT_LT(distance(graph, result->graph), kSameAnswer);
    }
  }
}

// Three channels have no ranks to leave out: there is no change of their basis to be computed.
TEST(Tucker, HasTwoFactorsWhereOneSideIsWhole) {
  std::mt19937 rng(4);
  const auto device = make_reference_device();
  for (const auto& [n, c] : {std::pair<size_t, size_t>{40, 3}, {3, 40}}) {
    const Graph graph = planted_filters(n, c, {n == 3 ? 3u : 4u, c == 3 ? 3u : 4u}, rng)[0];
    for (const bool seen : {false, true}) {
      Context context{*device};
      if (seen) context.examples = random_examples(graph, 6);
      const auto result = factorise(graph, context, kTucker, exact());
      ASSERT_TRUE(result.ok());
      ASSERT_TRUE(result->layers[0].refused.ok()) << result->layers[0].refused.message();
      EXPECT_EQ(result->graph.nodes().size(), 2u);
      EXPECT_LT(distance(graph, result->graph), kSameAnswer);
    }
  }
}

TEST(Factorise, LeavesOtherNodesAndNamesAsTheyAre) {
  const auto device = make_reference_device();
  const Graph graph = parse(R"(
input x f32[1,16,8,8]
const w f32[16,16,3,3] = ones
const v f32[16,16,1,1] = ones
const s f32[16] = ones
a = Conv(x, w, s) pads=[1,1,1,1]
b = BatchNormalization(a, s, s, s, s)
c = Relu(b)
y = Conv(c, v)
output y
)");
  const auto result = factorise(graph, {*device}, kTucker, exact());
  ASSERT_TRUE(result.ok());
  std::string operators;
  for (const Node& node : result->graph.nodes()) operators += std::string(node.op->name) + " ";
  EXPECT_EQ(operators, "Conv Conv Conv Relu Conv ");
  EXPECT_EQ(result->graph[result->graph.outputs()[0]].name, "y");
  EXPECT_LT(distance(graph, result->graph), kSameAnswer);
}

std::string reason(const Graph& graph, const Factorisation& factorisation,
                   const FactoriseOptions& options = exact()) {
  const auto device = make_reference_device();
  const auto result = factorise(graph, {*device}, factorisation, options);
  SHOAL_CHECK(result.ok() && result->layers.size() == 1);
  EXPECT_EQ(to_text(result->graph), to_text(graph));
  return std::string(result->layers[0].refused.message());
}

TEST(Factorise, SaysWhyALayerIsLeftAsItIs) {
  const auto conv = [](const std::string& weights, const std::string& attributes) {
    return parse("input x f32[1,32,4,4]\nconst w f32" + weights + "\ny = Conv(x, w)" + attributes +
                 "\noutput y\n");
  };
  const Graph grouped = conv("[32,16,3,3] = random(1)", " group=2");
  EXPECT_NE(reason(grouped, kTucker).find("groups"), std::string::npos);
  EXPECT_NE(reason(grouped, kSvd).find("groups"), std::string::npos);
  EXPECT_NE(reason(conv("[32,32,1,1] = random(1)", ""), kTucker).find("svd"), std::string::npos);
  EXPECT_NE(reason(conv("[32,32,3,3] = random(1)", ""), kSvd).find("tucker"), std::string::npos);
  EXPECT_NE(reason(conv("[32,32,3,3] = full(nan)", ""), kTucker).find("finite"), std::string::npos);
  EXPECT_NE(reason(conv("[4,32,1,1] = random(1)", ""), kSvd).find("save"), std::string::npos);
  EXPECT_NE(reason(conv("[32,32,3,3] = random(1)", ""), kTucker).find("accurate"),
            std::string::npos);
  EXPECT_NE(reason(parse("input x f32[2,2]\ninput w f32[2,2]\ny = MatMul(x, w)\noutput y\n"), kSvd)
                .find("constant"),
            std::string::npos);
  EXPECT_NE(reason(parse("input x f32[0,9]\nconst w f32[9,9] = random(1)\ny = MatMul(x, w)\n"
                         "output y\n"),
                   kSvd)
                .find("elements"),
            std::string::npos);
}

TEST(Factorise, LeavesWeightsThatTwoNodesShare) {
  const auto device = make_reference_device();
  const Graph graph = parse(
      "input x f32[1,64]\nconst w f32[64,64] = ones\na = MatMul(x, w)\ny = MatMul(a, w)\n"
      "output y\n");
  const auto result = factorise(graph, {*device}, kSvd, exact());
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(to_text(result->graph), to_text(graph));
  ASSERT_EQ(result->layers.size(), 2u);
  EXPECT_NE(result->layers[1].refused.message().find("shared"), std::string_view::npos);
}

// Weights of rank one, so that the factors have a small part of the work, on devices that take as
// long for them as for the layer, or longer.
TEST(Factorise, NeverReplacesALayerThatIsNotFasterThen) {
  const Graph graph =
      parse("input x f32[1,64]\nconst w f32[64,64] = ones\ny = MatMul(x, w)\noutput y\n");
  FactoriseOptions options = exact();
  for (const double slowness : {0.99, 1.0, 3.0}) {
    options.stopwatch = [slowness](Executable& executable,
                                   std::span<const Tensor>) -> Result<double> {
      return executable.graph().nodes().size() == 1 ? 100 : 100 * slowness;
    };
    EXPECT_NE(reason(graph, kSvd, options).find("faster"), std::string::npos);
  }
}

// Of ranks that are accurate enough, the least takes longer here than the next.
TEST(Factorise, TakesTheFastestOfTheFirstThatAreAccurate) {
  std::mt19937 rng(5);
  const auto device = make_reference_device();
  const Graph graph = planted_matrices(100, 100, 8, rng)[0];
  FactoriseOptions options = exact();
  options.stopwatch = [](Executable& executable, std::span<const Tensor>) -> Result<double> {
    const Graph& run = executable.graph();
    if (run.nodes().size() == 1) return 1000.0;
    const int64_t rank = run[run.nodes()[0].outputs[0]].type.shape[1];
    return rank == 8 ? 900.0 : static_cast<double>(rank) * 10;
  };
  const auto result = factorise(graph, {*device}, kSvd, options);
  ASSERT_TRUE(result.ok());
  ASSERT_TRUE(result->layers[0].refused.ok()) << result->layers[0].refused.message();
  EXPECT_EQ(result->layers[0].ranks, (Ranks{16, 16}));
  EXPECT_EQ(result->layers[0].microseconds_before, 1000);
  EXPECT_EQ(result->layers[0].microseconds_after, 160);
}

// Weights whose spectrum falls off, as those of trained layers do.
Graph fading(std::mt19937& rng) {
  std::vector<double> scales;
  for (int i = 0; i < 96; ++i) scales.push_back(std::exp(-i / 10.0));
  const Matrix w =
      product(scaled_columns(random_matrix(96, 96, rng), scales), random_matrix(96, 96, rng));
  return layer(ops::gemm, {8, 96}, tensor_of(w, {96, 96}), 96, {});
}

TEST(Factorise, TakesTheLeastRankThatKeepsTheErrorWithinTheBound) {
  std::mt19937 rng(6);
  const auto device = make_reference_device();
  const Graph graph = fading(rng);
  size_t before = 0;
  for (const double bound : {0.3, 0.1, 0.03, 0.01}) {
    FactoriseOptions options = exact();
    options.error = bound;
    const auto result = factorise(graph, {*device}, kSvd, options);
    ASSERT_TRUE(result.ok());
    const LayerReport& report = result->layers[0];
    ASSERT_TRUE(report.refused.ok()) << report.refused.message();
    EXPECT_LE(report.error, bound);
    EXPECT_GE(report.ranks.outputs, before);
    before = report.ranks.outputs;
  }
  EXPECT_GE(before, 16u);
}

TEST(Factorise, TakesTheLargestRankOfAWantedSpeed) {
  std::mt19937 rng(7);
  const auto device = make_reference_device();
  const Graph graph = fading(rng);
  for (const auto& [speed_up, rank] : {std::pair<double, size_t>{2, 24}, {3, 16}, {6, 8}}) {
    FactoriseOptions options = exact();
    options.speed_up = speed_up;
    const auto result = factorise(graph, {*device}, kSvd, options);
    ASSERT_TRUE(result.ok());
    ASSERT_TRUE(result->layers[0].refused.ok()) << result->layers[0].refused.message();
    EXPECT_EQ(result->layers[0].ranks.outputs, rank);
    EXPECT_GE(result->layers[0].microseconds_before,
              speed_up * result->layers[0].microseconds_after);
  }
  FactoriseOptions options = exact();
  options.speed_up = 7;
  EXPECT_NE(reason(graph, kSvd, options).find("as fast as is wanted"), std::string::npos);
}

// Inputs that take 8 of 64 directions need no more than rank 8, whatever the weights are.
TEST(Factorise, UsesWhatTheExamplesAreLike) {
  std::mt19937 rng(8);
  const auto device = make_reference_device();
  const Graph graph =
      layer(ops::gemm, {200, 64}, tensor_of(random_matrix(64, 64, rng), {64, 64}), 64, {});
  const Matrix directions = random_matrix(8, 64, rng);
  const CalibrationData examples{8, [&](size_t index) -> Result<std::vector<Tensor>> {
                                   std::mt19937 own(static_cast<uint32_t>(index));
                                   return std::vector<Tensor>{tensor_of(
                                       product(random_matrix(200, 8, own), directions), {200, 64})};
                                 }};
  std::vector<size_t> progress;
  const Context context{*device, examples, [&](size_t i) { progress.push_back(i); }};
  FactoriseOptions options = exact();
  options.error = 0.001;
  const auto result = factorise(graph, context, kSvd, options);
  ASSERT_TRUE(result.ok());
  ASSERT_TRUE(result->layers[0].refused.ok()) << result->layers[0].refused.message();
  EXPECT_EQ(result->layers[0].ranks.outputs, 8u);
  EXPECT_EQ(progress.size(), 8u);
  EXPECT_NE(reason(graph, kSvd, options).find("accurate"), std::string::npos);
}

TEST(Factorise, EndsWithTheExampleOrTheTimingThatFails) {
  std::mt19937 rng(9);
  const auto device = make_reference_device();
  const Graph graph = planted_matrices(32, 32, 4, rng)[0];
  const CalibrationData broken{
      2, [](size_t) -> Result<std::vector<Tensor>> { return Status(Code::kCorrupt, "example"); }};
  EXPECT_EQ(factorise(graph, {*device, broken}, kSvd, exact()).status().message(), "example");
  FactoriseOptions options = exact();
  options.stopwatch = [](Executable&, std::span<const Tensor>) -> Result<double> {
    return Status(Code::kUnavailable, "worker");
  };
  EXPECT_EQ(factorise(graph, {*device}, kSvd, options).status().message(), "worker");
}

TEST(FactoriseMethods, CountWhatTheyReplacedOrSayWhyNothingWas) {
  const auto device = make_reference_device();
  const Graph none = parse("input x f32[2]\ny = Relu(x)\noutput y\n");
  const Graph grouped = parse(
      "input x f32[1,4,3,3]\nconst w f32[4,2,3,3] = ones\ny = Conv(x, w) group=2\noutput y\n");
  const Graph product =
      parse("input x f32[8,512]\nconst w f32[512,512] = ones\ny = MatMul(x, w)\noutput y\n");
  for (const char* name : {"svd", "tucker"}) {
    const Method* method = find_method(name);
    ASSERT_NE(method, nullptr);
    EXPECT_EQ(method->needs & kExamples, 0u);
    EXPECT_EQ(method->run(none, {*device}).status().code(), Code::kUnsupported);
    const Status refused = method->run(grouped, {*device}).status();
    EXPECT_EQ(refused.code(), Code::kUnsupported);
    EXPECT_NE(refused.message().find("groups"), std::string_view::npos) << refused.message();
  }
  // The clock decides here.
  const auto result = find_method("svd")->run(product, {*device});
  if (result.ok()) {
    EXPECT_EQ(result->parts, 1u);
    EXPECT_EQ(result->compressed, 1u);
  } else {
    EXPECT_NE(result.status().message().find("no faster"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace shoal::compress
