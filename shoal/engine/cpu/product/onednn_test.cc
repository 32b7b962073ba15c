// oneDNN's kernels against the reference, where they are built in.
#include <gtest/gtest.h>

#include <algorithm>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

using Ints = std::vector<int64_t>;

class OneDnn : public testing::Test {
 protected:
  void SetUp() override {
    const auto names = cpu_kernels_of(ops::gemm);
    if (std::ranges::find(names, "onednn") == names.end()) GTEST_SKIP() << "built without oneDNN";
  }

  int64_t between(int low, int high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng_);
  }

  // On one thread and the best instruction set it is oneDNN that answers; elsewhere it may be ours.
  static void expect_onednn(const Operator& op, const std::vector<Tensor>& inputs,
                            const Attributes& attributes) {
    const KernelNames ours = {"direct", "conv_gemm", "gemm", "dots", "winograd2", "winograd4"};
    expect_agreement_by("onednn", op, inputs, attributes, 2e-5f, ours);
    Graph graph;
    std::vector<ValueId> ids = {graph.add_input("x", inputs[0].type())};
    for (size_t i = 1; i < inputs.size(); ++i) {
      const std::string name = "c" + std::to_string(i);
      ids.push_back(!inputs[i].defined() ? kNoValue
                    : i == 3             ? graph.add_input(name, inputs[i].type())
                                         : graph.add_constant(name, inputs[i]));
    }
    graph.mark_output(*graph.add(op, ids, attributes));
    const auto device = make_cpu_device({.threads = 1, .prefer = "onednn"});
    const auto executable = device->compile(graph);
    ASSERT_TRUE(executable.ok());
    size_t found = 0;
    for (size_t i = 0; i < (*executable)->graph().nodes().size(); ++i) {
      found += (*executable)->kernel_of(i).name == "onednn" ? 1 : 0;
    }
    EXPECT_EQ(found, 1u);
  }

  std::mt19937 rng_{1};
};

TEST_F(OneDnn, ConvolutionsAgree) {
  for (int i = 0; i < 20; ++i) {
    const int64_t batch = between(1, 2), in = between(1, 40), out = between(16, 50);
    const int64_t kernel = between(1, 4), stride = between(1, 3), dilation = between(1, 2);
    const int64_t height = between(9, 20), width = between(9, 20);
    const int64_t top = between(0, 2), left = between(0, 2), bottom = between(0, 2);
    std::vector<Tensor> inputs = {random_floats(rng_, {batch, in, height, width}),
                                  random_floats(rng_, {out, in, kernel, kernel}),
                                  random_floats(rng_, {out})};
    Attributes attributes = {{"strides", Ints{stride, stride}},
                             {"dilations", Ints{dilation, dilation}},
                             {"pads", Ints{top, left, bottom, 1}}};
    SCOPED_TRACE(i);
    expect_onednn(ops::conv, inputs, attributes);
  }
}

TEST_F(OneDnn, ResidualsAndActivationsAgree) {
  for (const char* activation : {"", "Relu", "LeakyRelu", "Sigmoid"}) {
    const std::vector<Tensor> inputs = {
        random_floats(rng_, {1, 21, 9, 9}), random_floats(rng_, {24, 21, 3, 3}),
        random_floats(rng_, {24}), random_floats(rng_, {1, 24, 7, 7})};
    Attributes attributes;
    if (*activation != '\0') attributes["activation"] = std::string(activation);
    SCOPED_TRACE(activation);
    expect_onednn(ops::fused_conv, inputs, attributes);
  }
}

TEST_F(OneDnn, ProductsAgree) {
  for (int i = 0; i < 20; ++i) {
    const int64_t m = between(2, 70), n = between(2, 70), k = between(1, 90);
    const bool ta = between(0, 1) == 1, tb = between(0, 1) == 1;
    const Shape a = ta ? Shape{k, m} : Shape{m, k}, b = tb ? Shape{n, k} : Shape{k, n};
    const Shape c = between(0, 1) == 1 ? Shape{n} : Shape{m, n};
    const std::vector<Tensor> inputs = {random_floats(rng_, a), random_floats(rng_, b),
                                        random_floats(rng_, c)};
    SCOPED_TRACE(i);
    expect_onednn(ops::gemm, inputs,
                  {{"transA", int64_t{ta}}, {"transB", int64_t{tb}}, {"alpha", 0.5f}});
  }
}

TEST_F(OneDnn, StacksOfRowsAgree) {
  const std::vector<Tensor> inputs = {random_floats(rng_, {3, 5, 32}),
                                      random_floats(rng_, {32, 40})};
  expect_onednn(ops::mat_mul, inputs, {});
}

}  // namespace
}  // namespace shoal::cpu
