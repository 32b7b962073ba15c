#include "shoal/shrink/branches/make_branches.h"

#include <gtest/gtest.h>

#include "../plan/run_here.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/search/branches.h"

namespace shoal::branch {
namespace {

using plan::find_branches;

Branched branched(const Graph& graph, const BranchOptions& options, const BranchForm& form = {}) {
  auto result = make_branches(graph, options, form);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? *std::move(result) : Branched{};
}

int64_t macs_of(const Graph& graph) {
  int64_t all = 0;
  for (const Node& node : graph.nodes()) all += macs(graph, node);
  return all;
}

// Graphs that run quickly, of every kind of classifier in the zoo.
std::vector<std::pair<std::string, Graph>> classifiers() {
  std::vector<std::pair<std::string, Graph>> all;
  for (const char* name : {"mlp", "lenet5", "convnet", "allcnn", "nin", "vgg16cifar", "resnet20"}) {
    all.emplace_back(name, *zoo::build(name, {.batch = 2, .width = 0.5}));
  }
  for (const char* name : {"alexnet", "resnet18", "mobilenetv2", "squeezenet"}) {
    all.emplace_back(name, *zoo::build(name, {.width = 0.25, .size = 64}));
  }
  return all;
}

// Every classifier of the zoo has exactly this many branches, which share only the input.
TEST(MakeBranches, DividesTheClassifiersOfTheZoo) {
  for (const auto& [name, graph] : classifiers()) {
    for (const BranchOptions& options :
         {BranchOptions{equal_widths(2), 40}, BranchOptions{equal_widths(5)},
          BranchOptions{{1, 2, 4}, 10}}) {
      SCOPED_TRACE(name + " in " + std::to_string(options.widths.size()));
      const Branched result = branched(graph, options);
      EXPECT_TRUE(result.whole.empty()) << result.whole[0];
      const auto branches = find_branches(result.graph);
      ASSERT_TRUE(branches);
      ASSERT_EQ(branches->ends.size(), options.widths.size());
      EXPECT_EQ(result.graph[result.graph.outputs()[0]].type, graph[graph.outputs()[0]].type);
      EXPECT_TRUE(options.fatten > 0 || macs_of(result.graph) <= macs_of(graph));
    }
  }
}

// What a branch gives does not depend on the others: with all others lost it is the same.
TEST(MakeBranches, LosesOnlyWhatALostBranchGives) {
  const auto device = make_cpu_device({.threads = 1});
  const Graph graph = *zoo::build("resnet20", {.width = 0.5});
  std::mt19937 rng(1);
  const std::vector<Tensor> inputs = plan::random_inputs(rng, graph);
  const BranchOptions options{.widths = equal_widths(3), .merge = Merge::kConcat};
  const auto scores = [&](const BranchForm& form) {
    const Graph result = branched(graph, options, form).graph;
    const std::vector<Tensor> answer = plan::run_whole(result, *device, inputs);
    const auto elements = answer[0].data<float>();
    return std::vector<float>(elements.begin(), elements.end());
  };
  // The classifying layer is linear: answers differ by the terms of single branches.
  const std::vector<float> all = scores({}), none = scores({.lost = {0, 1, 2}});
  std::vector<float> sum = none;
  for (size_t i = 0; i < 3; ++i) {
    std::vector<size_t> others = {0, 1, 2};
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    const std::vector<float> one = scores({.lost = others});
    for (size_t c = 0; c < sum.size(); ++c) sum[c] += one[c] - none[c];
    EXPECT_NE(one, none);
  }
  for (size_t c = 0; c < sum.size(); ++c) EXPECT_NEAR(sum[c], all[c], 1e-4);
}

constexpr const char* kTwoLayers = R"(input x f32[1,2]
const w f32[3,2] = [1,2,3,4,5,6]
const v f32[2,3] = [1,2,3,4,5,6]
h = Gemm(x, w) transB=1
r = Relu(h)
y = Gemm(r, v) transB=1
output y
)";

TEST(MakeBranches, TakesEachBranchItsShareOfTheWeights) {
  const Graph graph = *parse_text(kTwoLayers, ops::find);
  EXPECT_EQ(to_text(branched(graph, {{1, 2}}).graph), R"(input x f32[1,2]
const branch1.w f32[1,2] = [1,2]
const branch2.w f32[2,2] = [3,4,5,6]
const v f32[2,3] = [1,2,3,4,5,6]
branch1.h = Gemm(x, branch1.w) transB=1
branch1.r = Relu(branch1.h)
branch2.h = Gemm(x, branch2.w) transB=1
branch2.r = Relu(branch2.h)
merged = Concat(branch1.r, branch2.r) axis=1
y = Gemm(merged, v) transB=1
output y
)");
}

TEST(MakeBranches, SaysWhatItCannotDo) {
  const auto why = [](const char* text, const BranchOptions& options) {
    return std::string(make_branches(*parse_text(text, ops::find), options).status().message());
  };
  const BranchOptions two{equal_widths(2)};
  EXPECT_EQ(why(kTwoLayers, {}), "a network has 2 to 256 branches");
  EXPECT_EQ(why(kTwoLayers, {{1, -1}}), "a branch has a positive width");
  EXPECT_EQ(why(kTwoLayers, {equal_widths(2), -91}),
            "branches are fattened by -90 to 10000 percent");
  EXPECT_EQ(why(kTwoLayers, {.widths = {1, 2}, .merge = Merge::kSum}),
            "branches of different widths cannot be added up, only concatenated");
  EXPECT_EQ(why("input x f32[1,2]\ny = Relu(x)\noutput y\n", two),
            "the network has no layer that multiplies by weights");
  EXPECT_EQ(why("input x f32[1,2]\nconst w f32[2,2] = ones\ny = MatMul(x, w)\noutput y\n", two),
            "no layer can be narrowed");
  EXPECT_EQ(why("input x f32[1,2]\nconst w f32[2,2] = ones\nconst v f32[2,2] = ones\n"
                "r = MatMul(x, w)\nh = MatMul(r, v)\ny = Add(h, x)\noutput y\n",
                two),
            "branches cannot be joined before MatMul h, because Add y reads x");
}

TEST(NarrowedTo, ComesNearTheWork) {
  for (const char* name : {"lenet5", "vgg16cifar", "resnet20"}) {
    const Graph graph = *zoo::build(name);
    const auto all = static_cast<double>(macs_of(graph));
    for (double share : {0.1, 0.3, 0.8}) {
      const auto narrow = narrowed_to(graph, static_cast<int64_t>(share * all));
      ASSERT_TRUE(narrow.ok());
      EXPECT_NEAR(static_cast<double>(macs_of(*narrow)) / all, share, 0.05) << name;
    }
  }
}

}  // namespace
}  // namespace shoal::branch
