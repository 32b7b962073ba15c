// Tests of every device with these kernels, for all APIs. A test program includes this once, and
// gives the devices:
//
//   INSTANTIATE_TEST_SUITE_P(OpenCl, GpuDevice, testing::Values(GpuMaker{...}));
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "shoal/base/math/random.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/device/hybrid.h"
#include "shoal/engine/gpu/device/driver_device.h"
#include "shoal/engine/gpu/plan/options.h"
#include "shoal/engine/gpu/plan/precision.h"
#include "shoal/engine/gpu/work.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/find.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"
#include "shoal/model/passes/passes.h"

namespace shoal::gpu {

struct GpuTestOptions {
  GpuPrecision precision = GpuPrecision::kF32;
  std::vector<std::string> f32_layers = {};
  GpuLocalMemory local_memory = GpuLocalMemory::kAuto;
  bool matrix_units = true;  // where the device has them
};

struct GpuMaker {
  std::string name;
  std::function<Result<std::unique_ptr<Device>>(const GpuTestOptions&)> make;
  std::function<Result<std::unique_ptr<const Driver>>(const GpuTestOptions&)> open;
};
inline void PrintTo(const GpuMaker& maker, std::ostream* out) { *out << maker.name; }

inline Graph parsed(const std::string& text) {
  Result<Graph> graph = parse_text(text, ops::find);
  EXPECT_TRUE(graph.ok()) << graph.status().message() << "\n" << text;
  return graph.ok() ? *graph : Graph();
}

inline Tensor counted(const Shape& shape) {
  Tensor tensor({DType::kF32, shape});
  float next = -3;
  for (float& x : tensor.data<float>()) x = next += 0.25f;
  return tensor;
}

inline Tensor random_tensor(const Shape& shape) {
  Tensor tensor({DType::kF32, shape});
  fill_uniform(tensor.data<float>(), RandomStream(1, 0), -1, 1);
  return tensor;
}

// Layers that work in place, and one that does not.
inline const std::string kNet = R"(
    input x f32[1,2,5,5]
    const w f32[3,2,3,3] = random(1)
    c = Conv(x, w)
    r = Relu(c)
    const v f32[2,3,1,1] = random(2)
    d = Conv(r, v)
    y = Softmax(d)
    output y)";

inline std::vector<Tensor> answers(Executable& executable, const Tensor& x) {
  std::vector<Tensor> outputs(executable.graph().outputs().size());
  const Status status = executable.run(std::span(&x, 1), outputs, {});
  EXPECT_TRUE(status.ok()) << status.message();
  return outputs;
}

inline std::vector<Tensor> reference_answers(const Graph& graph, const Tensor& x) {
  return answers(**make_reference_device()->compile(graph), x);
}

inline void expect_near(const Tensor& got, const Tensor& want, float tolerance) {
  ASSERT_EQ(got.type(), want.type());
  for (size_t i = 0; i < want.data<float>().size(); ++i) {
    ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], tolerance) << i;
  }
}

inline float largest(const Tensor& tensor) {
  float most = 0;
  for (const float y : tensor.data<float>()) most = std::max(most, std::abs(y));
  return most;
}

// All of them, to this share of the largest element of each.
inline void expect_near(const std::vector<Tensor>& got, const std::vector<Tensor>& want,
                        float share) {
  for (size_t i = 0; i < want.size(); ++i) {
    SCOPED_TRACE(i);
    expect_near(got[i], want[i], share * largest(want[i]));
  }
}

// Skipped where the machine has no such device.
class GpuDevice : public testing::TestWithParam<GpuMaker> {
 protected:
  void SetUp() override {
    const auto device = GetParam().make({});
    if (device.status().code() == Code::kUnavailable) GTEST_SKIP() << device.status().message();
  }

  static std::unique_ptr<Device> device_of(const GpuTestOptions& options = {}) {
    auto device = GetParam().make(options);
    EXPECT_TRUE(device.ok()) << device.status().message();
    return *std::move(device);
  }

  // The graph, each node by the best of its ways whose kernel's name begins so, if it has one: what
  // a device estimates to be the fastest depends on the device.
  static std::unique_ptr<Executable> compiled_by(std::string_view kernel, const Graph& graph,
                                                 const GpuTestOptions& options) {
    const auto driver = GetParam().open(options);
    EXPECT_TRUE(driver.ok()) << driver.status().message();
    const PlanOptions plan_options = (*driver)->plan_options();
    Graph lowered = *gpu::lowered(graph);
    Ranks ranks;
    for (const Node& node : lowered.nodes()) {
      ranks.push_back(rank_of(kernel, lowered, node, plan_options));
    }
    auto plan = make_plan(std::move(lowered), plan_options, ranks);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    auto executable = (*driver)->compile(*std::move(plan));
    EXPECT_TRUE(executable.ok()) << executable.status().message();
    return *std::move(executable);
  }

  static size_t rank_of(std::string_view kernel, const Graph& graph, const Node& node,
                        const PlanOptions& options) {
    constexpr size_t kMostWays = 8;
    for (size_t rank = 0; rank < kMostWays; ++rank) {
      const auto work =
          work_of(graph, node, options.device, is_in_half(graph, node, options), rank);
      if (work && work->kernel.starts_with(kernel)) return rank;
    }
    return 0;
  }

  // Nodes whose kernel's name begins so.
  static size_t count_by(std::string_view kernel, const Executable& executable) {
    size_t count = 0;
    for (size_t n = 0; n < executable.graph().nodes().size(); ++n) {
      count += executable.kernel_of(n).name.starts_with(kernel) ? 1 : 0;
    }
    return count;
  }
};

TEST_P(GpuDevice, ComputesInF32AndF16) {
  const Graph graph = parsed(kNet);
  const Tensor x = counted({1, 2, 5, 5});
  const Tensor want = reference_answers(graph, x)[0];
  const auto device = device_of();
  expect_near(answers(**device->compile(graph), x)[0], want, 1e-5f);
  const auto half = device_of({.precision = GpuPrecision::kF16});
  const Tensor got = answers(**half->compile(graph), x)[0];
  expect_near(got, want, 2e-3f);
  EXPECT_FALSE(std::ranges::equal(got.bytes(), want.bytes())) << "that was not f16";
}

// As training keeps activations: every bit is that of the reference. Ties, overflow, what is no
// number, and numbers below the least normal one are among them.
TEST_P(GpuDevice, RoundsToBf16) {
  const Graph graph = parsed(R"(
    input x f32[1030]
    narrow = Cast(x) to=16 round_mode="nearest"
    wide = Cast(narrow) to=1
    output narrow
    output wide)");
  Tensor x = random_tensor({1030});
  const float edges[] = {1.00390625f, 1.01171875f,   -0.0f,    INFINITY,  -INFINITY,
                         NAN,         3.4028235e38f, 1.4e-45f, -9.9e-39f, 65504};
  std::ranges::copy(edges, x.data<float>().begin());
  const std::vector<Tensor> want = reference_answers(graph, x);
  const auto executable = device_of()->compile(graph);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const std::vector<Tensor> got = answers(**executable, x);
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(got[i].bytes(), want[i].bytes())) << i;
  }
  const Graph cut = parsed(R"(
    input x f32[4]
    y = Cast(x) to=16
    output y)");
  EXPECT_EQ(device_of()->compile(cut).status().code(), Code::kUnsupported) << "digits are cut off";
}

TEST_P(GpuDevice, RefusesGradientsInF16) {
  const Graph graph = parsed(R"(
    input x f32[4]
    y = Relu(x)
    dx = ReluBackward(y, x)
    output dx)");
  const auto refused = device_of({.precision = GpuPrecision::kF16})->compile(graph);
  EXPECT_EQ(refused.status().code(), Code::kUnsupported);
  EXPECT_TRUE(device_of()->compile(graph).ok());
}

// Few tiles and long sums: groups share a tile. The bits do not depend on which group is last.
TEST_P(GpuDevice, CutsLongSumsIntoParts) {
  const Graph graph = parsed(R"(
    input x f32[1,96,5,7]
    const w f32[40,96,3,3] = random(1)
    const b f32[40] = random(2)
    c = Conv(x, w, b) pads=[1,1,1,1]
    const v f32[33,1400] = random(3)
    d = Flatten(c)
    const s i64[2] = [20,70]
    e = Reshape(d, s)
    const u f32[70,1500] = random(4)
    f = MatMul(e, u)
    const t f32[41,1500] = random(5)
    g = Gemm(f, t) transB=1
    h = Gemm(d, v) transB=1
    few = MaxPool(x) kernel_shape=[4,4] strides=[1,3]
    const q f32[40,96,3,3] = random(6)
    p = Conv(few, q) pads=[1,1,1,1]
    output c
    output g
    output h
    output p)");
  const Tensor x = counted({1, 96, 5, 7});
  const std::vector<Tensor> want = reference_answers(graph, x);
  const auto executable = compiled_by("tiles/", graph, {.local_memory = GpuLocalMemory::kOn});
  EXPECT_GE(count_by("tiles/", *executable), 3u);
  const std::vector<Tensor> got = answers(*executable, x);
  expect_near(got, want, 1e-5f);
  for (int run = 0; run < 3; ++run) {
    const std::vector<Tensor> again = answers(*executable, x);
    for (size_t i = 0; i < want.size(); ++i) ops::expect_equal(again[i], got[i]);
  }
}

// What a step of training computes, large enough for tiles and for lines that are cut into parts.
// Weights are computed, too, as in training.
TEST_P(GpuDevice, ComputesGradientsByTilesAndParts) {
  const Graph graph = parsed(R"(
    input x f32[2,48,9,7]
    all = ReduceSumSquare(x) keepdims=0
    one = Div(all, all)
    const w0 f32[40,48,3,3] = random(1)
    w = Mul(w0, one)
    c = Conv(x, w) pads=[1,1,1,1] strides=[2,1]
    dx = ConvTranspose(c, w) pads=[1,1,1,1] strides=[2,1]
    dw, db = ConvWeightsBackward(x, c) kernel_shape=[3,3] pads=[1,1,1,1] strides=[2,1]
    const v0 f32[64,24,3,3] = random(2)
    v = Mul(v0, one)
    d = Conv(x, v) group=2
    dv = ConvWeightsBackward(x, d) group=2 kernel_shape=[3,3]
    const lines i64[2] = [3024,2]
    r = Reshape(x, lines)
    const scale f32[2] = [0.5,-2]
    const bias f32[2] = [1,2]
    const mean f32[2] = [3,4]
    const variance f32[2] = [5,6]
    y, m, s = BatchNormalization(r, scale, bias, mean, variance) training_mode=1
    half = Mul(y, y)
    dr, dscale, dbias = BatchNormalizationBackward(r, scale, half)
    output all
    output c
    output dx
    output dw
    output db
    output dv
    output y
    output m
    output s
    output dr
    output dscale
    output dbias)");
  const Tensor x = random_tensor({2, 48, 9, 7});
  const std::vector<Tensor> want = reference_answers(graph, x);
  const auto executable = compiled_by("tiles", graph, {.local_memory = GpuLocalMemory::kOn});
  EXPECT_EQ(count_by("tiles", *executable), 5u);
  const std::vector<Tensor> got = answers(*executable, x);
  expect_near(got, want, 1e-4f);
}

// Layer b adds large numbers that differ a little, and c takes the differences: in f16 nothing is
// left of them.
inline const std::string kFragile = R"(
    input x f32[8,4]
    const wa f32[4,4] = [1,0.1,0.1,0.1,0.1,1,0.1,0.1,0.1,0.1,1,0.1,0.1,0.1,0.1,1]
    a = Gemm(x, wa)
    const wb f32[4,4] = [2000.1,2000.2,2000.3,2000.13,2000.07,2000.31,2000.05,2000.06,2000.02,2000.17,2000.21,2000.3,2000.3,2000.06,2000.04,2000.15]
    b = Gemm(a, wb)
    const wc f32[4,4] = [1,0,0,-1,-1,1,0,0,0,-1,1,0,0,0,-1,1]
    c = Gemm(b, wc)
    output c)";

// The share of rows whose largest element is where it is in `want`.
inline double agreement(const Tensor& got, const Tensor& want, size_t columns) {
  double same = 0;
  const auto top = [&](const Tensor& tensor, size_t row) {
    const auto line = tensor.data<float>().subspan(row * columns, columns);
    return std::ranges::max_element(line) - line.begin();
  };
  const size_t rows = want.data<float>().size() / columns;
  for (size_t row = 0; row < rows; ++row) same += top(got, row) == top(want, row) ? 1 : 0;
  return same / static_cast<double>(rows);
}

TEST_P(GpuDevice, LeavesAFragileLayerInF32) {
  const Graph graph = parsed(kFragile);
  Tensor x({DType::kF32, {8, 4}});
  for (size_t row = 0; row < 8; ++row) {
    x.data<float>()[row * 4 + row % 4] = row < 4 ? 1.7f : 3.1f;
  }
  const Tensor want = reference_answers(graph, x)[0];
  const auto choice = choose_precision(
      precision_layers(graph), 0.1, [&](const std::vector<std::string>& f32_layers) {
        const auto device = device_of({.precision = GpuPrecision::kF16, .f32_layers = f32_layers});
        return Result<double>(agreement(answers(**device->compile(graph), x)[0], want, 4));
      });
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->f32_layers, std::vector<std::string>{"b"});
  EXPECT_EQ(choice->f32_accuracy, 1);
  EXPECT_GE(choice->accuracy, 0.9);
}

// Sizes that no tile divides, with and without the border, groups and transposed matrices.
TEST_P(GpuDevice, MultipliesByTilesInLocalMemory) {
  const Graph graph = parsed(R"(
    input x f32[2,5,11,13]
    const w1 f32[37,5,3,3] = random(1)
    const b1 f32[37] = random(2)
    c = Conv(x, w1, b1) pads=[1,1,1,1] strides=[1,2]
    const w2 f32[40,37,1,1] = random(3)
    d = Conv(c, w2)
    const w3 f32[34,20,2,2] = random(4)
    e = Conv(d, w3) dilations=[2,1] group=2
    f = Flatten(e) axis=2
    const g f32[54,33] = random(5)
    h = MatMul(f, g)
    const t f32[41,33] = random(6)
    const u f32[41] = random(7)
    i = Gemm(h, t, u) transB=1 alpha=0.5
    output c
    output d
    output e
    output h
    output i)");
  const Tensor x = counted({2, 5, 11, 13});
  const std::vector<Tensor> want = reference_answers(graph, x);
  const auto executable = compiled_by("tiles", graph, {.local_memory = GpuLocalMemory::kOn});
  EXPECT_EQ(count_by("tiles", *executable), 5u);
  const std::vector<Tensor> got = answers(*executable, x);
  expect_near(got, want, 1e-5f);
}

// Lines that the items of a group share.
TEST_P(GpuDevice, ReducesInLocalMemory) {
  const Graph graph = parsed(R"(
    input x f32[2,3,7,100]
    a = Softmax(x)
    const s f32[100] = random(1)
    const b f32[100] = random(2)
    c = LayerNormalization(x, s, b)
    d = GlobalAveragePool(x)
    e = ReduceMax(x) axes=[1,3]
    f = LogSoftmax(x) axis=3
    output a
    output c
    output d
    output e
    output f)");
  const Tensor x = counted({2, 3, 7, 100});
  const std::vector<Tensor> want = reference_answers(graph, x);
  const auto device = device_of({.local_memory = GpuLocalMemory::kOn});
  const auto executable = device->compile(graph);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const std::vector<Tensor> got = answers(**executable, x);
  for (size_t i = 0; i < want.size(); ++i) {
    SCOPED_TRACE(i);
    expect_near(got[i], want[i], 1e-5f * std::max(1.0f, largest(want[i])));
  }
}

// Strides of 2 and 3, phases without taps and of unequal length, groups, dilation, and weights that
// are computed.
TEST_P(GpuDevice, TransposesByPhases) {
  const std::string layers = R"(
    const b f32[24] = random(2)
    c = ConvTranspose(x, w, b) strides=[2,2] pads=[1,1,1,1]
    d = ConvTranspose(x, w) strides=[3,2] pads=[0,1,1,0] output_padding=[1,1]
    e = ConvTranspose(x, w) strides=[2,2] dilations=[2,1] group=2
    const v f32[32,20,2,2] = random(4)
    f = ConvTranspose(x, v) strides=[2,2]
    g = ConvTranspose(x, v) strides=[3,3]
    output c
    output d
    output e
    output f
    output g)";
  for (const bool is_constant : {true, false}) {
    SCOPED_TRACE(is_constant);
    const Graph graph = parsed(is_constant ? R"(
    input x f32[2,32,7,9]
    const w f32[32,24,3,3] = random(1))" + layers
                                           : R"(
    input w f32[32,24,3,3]
    const x f32[2,32,7,9] = random(3))" + layers);
    const Tensor input = random_tensor(is_constant ? Shape{2, 32, 7, 9} : Shape{32, 24, 3, 3});
    const auto executable = compiled_by("tiles", graph, {.local_memory = GpuLocalMemory::kOn});
    EXPECT_EQ(count_by("tiles", *executable), 5u);
    const std::vector<Tensor> want = reference_answers(graph, input);
    const std::vector<Tensor> got = answers(*executable, input);
    expect_near(got, want, 1e-5f);
  }
}

// Weights that are constant, as in inference, and that are computed, as in training; the transpose
// is the gradient for x. No tile divides the images.
TEST_P(GpuDevice, ConvolvesByWinograd) {
  const std::string layers = R"(
    const b f32[96] = random(2)
    c = Conv(x, w, b) pads=[1,1,1,1]
    r = Relu(c)
    d = ConvTranspose(r, w) pads=[1,1,1,1]
    e = Add(d, x)
    output r
    output e)";
  const Tensor x = random_tensor({1, 128, 33, 32}), w = random_tensor({96, 128, 3, 3});
  for (const bool is_constant : {true, false}) {
    SCOPED_TRACE(is_constant);
    const Graph graph = parsed(is_constant ? R"(
    input x f32[1,128,33,32]
    const w f32[96,128,3,3] = random(1))" + layers
                                           : R"(
    input w f32[96,128,3,3]
    const x f32[1,128,33,32] = random(3))" + layers);
    const Graph fused = *passes::optimize(graph);
    const Tensor& input = is_constant ? x : w;
    const auto executable =
        compiled_by("winograd", is_constant ? fused : graph, {.local_memory = GpuLocalMemory::kOn});
    EXPECT_EQ(count_by("winograd", *executable), 2u);
    const std::vector<Tensor> want = answers(**make_cpu_device()->compile(graph), input);
    const std::vector<Tensor> got = answers(*executable, input);
    expect_near(got, want, 3e-5f);
  }
}

// Matrix units, where the device has them, do without.
TEST_P(GpuDevice, ConvolvesByWinogradInHalf) {
  const Graph graph = parsed(R"(
    input x f32[1,128,33,32]
    const w f32[96,128,3,3] = random(1)
    c = Conv(x, w) pads=[1,1,1,1]
    y = Relu(c)
    output y)");
  const auto executable = compiled_by("winograd", graph,
                                      {.precision = GpuPrecision::kF16,
                                       .local_memory = GpuLocalMemory::kOn,
                                       .matrix_units = false});
  EXPECT_EQ(count_by("winograd", *executable), 1u);
  const Tensor x = random_tensor({1, 128, 33, 32});
  const Tensor want = answers(**make_cpu_device()->compile(graph), x)[0];
  expect_near(answers(*executable, x)[0], want, 2e-3f * largest(want));
}

// An attention of 9 queries to 130 keys, under a mask of [1, 130].
inline ValueId add_attention(Graph& graph, ValueId q, int64_t width, bool tokens_first,
                             const Tensor& mask) {
  const auto shape = [&](int64_t size) {
    return tokens_first ? Shape{2, 130, 2, size} : Shape{2, 2, 130, size};
  };
  const ValueId k = graph.add_constant("k", counted(shape(6)));
  const ValueId v = graph.add_constant("v", counted(shape(width)));
  return *graph.add(ops::attention, {q, k, v, graph.add_constant("mask", mask)},
                    {{"scale", 1e-5f}, {"tokens_first", int64_t{tokens_first}}});
}

// More keys, queries and columns than a group takes at once, in both layouts. One mask hides all
// keys of the first group, the other lets scores grow.
TEST_P(GpuDevice, Attends) {
  Tensor hidden({DType::kF32, {1, 130}}), rising({DType::kF32, {1, 130}});
  for (size_t j = 0; j < 130; ++j) {
    hidden.data<float>()[j] = j < 100 || j == 120 ? -INFINITY : 0.0f;
    rising.data<float>()[j] = 0.1f * static_cast<float>(j);
  }
  Graph graph;
  const ValueId q = graph.add_input("q", {DType::kF32, {2, 2, 9, 6}});
  graph.mark_output(add_attention(graph, q, 70, false, hidden));
  const ValueId t = *graph.add(ops::transpose, {q}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  graph.mark_output(add_attention(graph, t, 3, true, rising));
  const Tensor x = counted({2, 2, 9, 6});
  const std::vector<Tensor> want = reference_answers(graph, x);
  for (const GpuLocalMemory local : {GpuLocalMemory::kOff, GpuLocalMemory::kOn}) {
    const auto executable = device_of({.local_memory = local})->compile(graph);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    const std::vector<Tensor> got = answers(**executable, x);
    expect_near(got, want, 1e-5f);
  }
}

TEST_P(GpuDevice, LeavesNodesToTheFallback) {
  const Graph graph = parsed(R"(
    input x f32[2,3]
    a = Relu(x)
    b = Hardmax(a)
    y = Neg(b)
    output y)");
  const Tensor x = counted({2, 3});
  const auto hybrid = make_hybrid_device(device_of(), make_reference_device());
  const auto executable = *hybrid->compile(graph);
  EXPECT_EQ(crossings_of(*executable).values, 2);
  ops::expect_equal(answers(*executable, x)[0], reference_answers(graph, x)[0]);
  const auto alone = device_of()->compile(graph);
  EXPECT_EQ(alone.status().code(), Code::kUnsupported);
}

TEST_P(GpuDevice, KeepsValuesOnTheDevice) {
  const Graph graph = parsed(R"(
    input x f32[4]
    const two f32[] = full(2)
    y = Mul(x, two)
    output y)");
  const auto device = device_of();
  const auto executable = *device->compile(graph);
  DeviceValue value = *device->upload(counted({4}));
  for (int i = 0; i < 3; ++i) {
    std::vector<DeviceValue> outputs(1);
    ASSERT_TRUE(executable->run_values(std::span(&value, 1), outputs, {}).ok());
    EXPECT_EQ(outputs[0].host(), nullptr);
    value = outputs[0];
  }
  EXPECT_EQ((*value.to_host()).data<float>()[0], 8 * counted({4}).data<float>()[0]);
}

TEST_P(GpuDevice, GivesOutputsThatNoNodeWrites) {
  const Graph graph = parsed(R"(
    input x f32[2]
    const c i64[3] = full(7)
    y = Relu(x)
    output x
    output c
    output y
    output y)");
  const Tensor x = counted({2});
  const auto got = answers(**device_of()->compile(graph), x);
  const auto want = reference_answers(graph, x);
  for (size_t i = 0; i < want.size(); ++i) ops::expect_equal(got[i], want[i]);
}

TEST_P(GpuDevice, RunsOnSeveralThreadsAtOnce) {
  const Graph graph = parsed(kNet);
  const auto executable = *device_of()->compile(graph);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Tensor x = counted({1, 2, 5, 5});
      x.data<float>()[0] = static_cast<float>(t);
      const Tensor want = reference_answers(graph, x)[0];
      for (int i = 0; i < 5; ++i) expect_near(answers(*executable, x)[0], want, 1e-5f);
    });
  }
}

TEST_P(GpuDevice, StopsAndTraces) {
  const Graph graph = parsed(kNet);
  const auto executable = *device_of()->compile(graph);
  const Tensor x = counted({1, 2, 5, 5});
  std::vector<Tensor> outputs(1);
  const auto run = [&](const RunOptions& options) {
    return executable->run(std::span(&x, 1), outputs, options).code();
  };
  EXPECT_EQ(run({.deadline = Deadline::clock::now() - std::chrono::hours(1)}), Code::kDeadline);
  std::stop_source stop;
  EXPECT_EQ(run({.cancel = stop.get_token()}), Code::kOk);
  stop.request_stop();
  EXPECT_EQ(run({.cancel = stop.get_token()}), Code::kCancelled);
  Trace trace;
  ASSERT_EQ(run({.trace = &trace}), Code::kOk);
  ASSERT_EQ(trace.size(), executable->graph().nodes().size());
  for (size_t n = 0; n < trace.size(); ++n) {
    EXPECT_EQ(trace[n].node, n);
    EXPECT_LE(trace[n].begin, trace[n].end);
  }
}

}  // namespace shoal::gpu
