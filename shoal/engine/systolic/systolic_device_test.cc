#include "shoal/engine/systolic/systolic_device.h"

#include <gtest/gtest.h>

#include <random>

#include "shoal/engine/devices/devices.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/find.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::systolic {
namespace {

using Rng = std::mt19937;

const ArrayOptions kSmall{.width = 4, .rows = 8};

Graph parsed(const std::string& text) {
  Result<Graph> graph = parse_text(text, ops::find);
  EXPECT_TRUE(graph.ok()) << graph.status().message() << "\n" << text;
  return graph.ok() ? *graph : Graph();
}

std::unique_ptr<SystolicDevice> small_device() {
  return *make_systolic_device(kSmall, make_reference_device());
}

std::vector<Tensor> run(Executable& executable, std::span<const Tensor> inputs) {
  std::vector<Tensor> outputs(executable.graph().outputs().size());
  const Status status = executable.run(inputs, outputs, {});
  EXPECT_TRUE(status.ok()) << status.message();
  return outputs;
}

// Inputs for a graph that reads bytes: any that there are.
std::vector<Tensor> random_bytes(const Graph& graph, Rng& rng) {
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs()) {
    Tensor& input = inputs.emplace_back(graph[id].type);
    for (std::byte& b : input.bytes()) b = static_cast<std::byte>(rng() & 255);
  }
  return inputs;
}

// The answers must be those of the reference, and the array must have computed all products.
void expect_reference(const std::string& text, SystolicDevice& device, Rng& rng) {
  SCOPED_TRACE(text);
  const Graph graph = parsed(text);
  const std::vector<Tensor> inputs = random_bytes(graph, rng);
  const auto executable = *device.compile(graph);
  const std::vector<Tensor> got = run(*executable, inputs);
  const std::vector<Tensor> want = run(**make_reference_device()->compile(graph), inputs);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) ops::expect_equal(got[i], want[i]);
  for (size_t n = 0; n < executable->graph().nodes().size(); ++n) {
    const bool is_product = macs(executable->graph(), executable->graph().nodes()[n]) > 0;
    EXPECT_EQ(executable->kernel_of(n).name == "systolic", is_product) << text;
  }
}

int draw(Rng& rng, int low, int high) { return std::uniform_int_distribution(low, high)(rng); }

std::string number(Rng& rng, int low, int high) { return std::to_string(draw(rng, low, high)); }

std::string joined(const std::vector<int>& numbers) {
  std::string text;
  for (const int n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return "[" + text + "]";
}

// A constant of any integers that its type has; of i32, of small ones.
std::string constant(Rng& rng, const std::string& name, const std::string& type,
                     const std::vector<int>& shape) {
  int count = 1;
  for (const int dimension : shape) count *= dimension;
  std::vector<int> elements;
  for (int i = 0; i < count; ++i) {
    elements.push_back(type == "u8"   ? draw(rng, 0, 255)
                       : type == "i8" ? draw(rng, -128, 127)
                                      : draw(rng, -9999, 9999));
  }
  return "const " + name + " " + type + joined(shape) + " = " + joined(elements) + "\n";
}

// Scales and zero points of an operand, "name.s" and "name.z": one, or one per channel.
std::string parameters(Rng& rng, const std::string& name, const std::string& type, int channels) {
  const std::vector<int> shape =
      draw(rng, 0, 1) == 0 ? std::vector<int>{} : std::vector<int>{channels};
  return "const " + name + ".s f32" + joined(shape) + " = full(0.0" + number(rng, 1, 9) + ")\n" +
         constant(rng, name + ".z", type, shape);
}

// Three convolutions of one image; one reads the result of another.
std::string random_network(Rng& rng) {
  const int groups = draw(rng, 1, 2), m = groups * 3;
  const std::string type = draw(rng, 0, 1) == 0 ? "u8" : "i8";
  const std::string attributes = " group=" + std::to_string(groups) +
                                 " strides=" + joined({draw(rng, 1, 2), draw(rng, 1, 2)}) +
                                 " dilations=" + joined({1, draw(rng, 1, 2)}) +
                                 " pads=" + joined({draw(rng, 0, 1), 1, draw(rng, 0, 1), 0}) + "\n";
  return "input x " + type + joined({2, groups * 2, 7, 6}) + "\n" + parameters(rng, "x", type, 1) +
         parameters(rng, "w", "i8", m) + constant(rng, "w", "i8", {m, 2, 2, 3}) +
         constant(rng, "b", "i32", {m}) + "const y.s f32[] = full(0.5)\n" +
         constant(rng, "y.z", "u8", {}) + "y = QLinearConv(x, x.s, x.z, w, w.s, w.z, y.s, y.z, b)" +
         attributes +
         "r = FusedQLinearConv(x, x.s, x.z, w, w.s, w.z, y.s, y.z, _, y, y.s, y.z, y.s, y.z) " +
         "low=5 high=200" + attributes + "i = ConvInteger(x, w, x.z, w.z)" + attributes +
         "f = Flatten(r)\noutput i\noutput f\n";
}

std::string random_products(Rng& rng) {
  const int m = draw(rng, 1, 9), k = draw(rng, 1, 9), n = draw(rng, 1, 20);
  const int across = draw(rng, 0, 1);
  return "input a u8" + joined({3, m, k}) + "\ninput a.z u8" + joined({m}) + "\ninput v u8" +
         joined({m, k}) + "\n" + parameters(rng, "v", "u8", 1) + parameters(rng, "b", "i8", n) +
         constant(rng, "b", "i8", {k, n}) +
         constant(rng, "t", "i8", across == 1 ? std::vector{n, k} : std::vector{k, n}) +
         "const y.s f32[] = full(0.3)\n" + constant(rng, "y.z", "i8", {}) +
         constant(rng, "bias", "i32", {n}) + "p = MatMulInteger(a, b, a.z, b.z)\n" +
         "q = QLinearMatMul(a, v.s, v.z, b, b.s, b.z, y.s, y.z)\n" +
         "g = QGemm(v, v.s, v.z, t, b.s, b.z, bias, y.s, y.z) transB=" + std::to_string(across) +
         "\noutput p\noutput q\noutput g\noutput a\n";
}

TEST(SystolicDevice, AnswersAsTheReferenceDoes) {
  Rng rng(1);
  for (const char* fallback : {"reference", "cpu"}) {
    const auto device =
        *make_systolic_device(kSmall, *make_device(fallback, {.cpu = {.threads = 1}}));
    SCOPED_TRACE(fallback);
    for (int round = 0; round < 20; ++round) {
      expect_reference(random_network(rng), *device, rng);
      expect_reference(random_products(rng), *device, rng);
    }
    EXPECT_GT(device->counts().cycles, 0);
  }
}

// Neither operand is constant, batches broadcast, an operand is a vector.
TEST(SystolicDevice, MultipliesWhatIsKnownOnlyInARun) {
  Rng rng(2);
  const auto device = small_device();
  expect_reference(
      "input a i8[2,1,3,5]\ninput b u8[4,5,9]\ninput z u8[4,1,9]\n"
      "y = MatMulInteger(a, b, _, z)\noutput y\n",
      *device, rng);
  expect_reference("input a i8[5]\ninput b u8[2,5,3]\ny = MatMulInteger(a, b)\noutput y\n", *device,
                   rng);
  expect_reference("input a i8[2,5]\ninput b u8[5]\ny = MatMulInteger(a, b)\noutput y\n", *device,
                   rng);
  expect_reference(
      "input x u8[1,2,5,4,3]\ninput w u8[2,2,2,1,2]\n"
      "y = ConvInteger(x, w) pads=[0,1,1,1,0,0]\noutput y\noutput y\n",
      *device, rng);
}

TEST(SystolicDevice, CountsAsTheFormulaDoes) {
  Rng rng(3);
  const Graph graph =
      parsed("input a u8[6,10]\nconst b i8[10,9] = random(1)\ny = MatMulInteger(a, b)\noutput y\n");
  const auto device = small_device();
  const auto executable = *device->compile(graph);
  const ProductSizes sizes{9, 10, 6};
  const std::vector<Tensor> inputs = random_bytes(graph, rng);
  run(*executable, inputs);
  EXPECT_EQ(device->counts(), (Counts{count_cycles(kSmall, sizes, 6), 6, 6 * 10 * 2}));
  run(*executable, inputs);  // the weights are still there
  EXPECT_EQ(device->counts().loads, 6);
  EXPECT_EQ(device->counts().cycles,
            count_cycles(kSmall, sizes, 6) + count_cycles(kSmall, sizes, 0));
}

// LCP: the branches meet only where they are added, and share the array.
TEST(SystolicDevice, RunsBranchesInTurnsWithoutLoadingAgain) {
  Rng rng(4);
  const Graph graph = parsed(R"(
    input x u8[1,2,6,6]
    const v i8[4,2,1,2] = random(1)
    const w i8[4,2,1,2] = random(2)
    const z i8[] = full(3)
    p = ConvInteger(x, v)
    q = ConvInteger(x, w)
    r = ConvInteger(x, v, _, z)
    s = ConvInteger(x, w, _, z)
    t = Add(p, q)
    u = Add(r, s)
    y = Add(t, u)
    output y)");
  const auto device = small_device();
  const auto executable = *device->compile(graph);
  for (int image = 0; image < 5; ++image) run(*executable, random_bytes(graph, rng));
  EXPECT_EQ(device->counts().loads, 4);
}

TEST(SystolicDevice, LoadsWeightsThatMayHaveChanged) {
  Rng rng(5);
  const Graph graph =
      parsed("input a u8[2,3]\ninput b u8[3,2]\ny = MatMulInteger(a, b)\noutput y\n");
  const auto device = small_device();
  const auto executable = *device->compile(graph);
  for (int i = 0; i < 3; ++i) run(*executable, random_bytes(graph, rng));
  EXPECT_EQ(device->counts().loads, 3);
}

TEST(LowerQuantized, LeavesWhatItCannotExpress) {
  const std::string scale_per_row =
      "input a u8[2,3]\nconst s f32[2] = ones\nconst z u8[2] = zeros\n"
      "const b u8[3,2] = ones\nconst t f32[] = full(2)\nconst o u8[] = zeros\n"
      "y = QLinearMatMul(a, s, z, b, t, o, t, o)\noutput y\n";
  const Graph graph = parsed(scale_per_row);
  EXPECT_EQ(to_text(*lower_quantized(graph)), to_text(graph));
}

TEST(SystolicDevice, IsKnownByName) {
  register_systolic_device();
  const auto device = make_device("systolic", {.cpu = {.threads = 1}});
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)->info().name, "systolic");
  EXPECT_FALSE(make_device("systolic:8x8").ok());
  EXPECT_FALSE(make_systolic_device({.width = 0}, make_reference_device()).ok());
}

TEST(SystolicDevice, GivesOutputsMemoryOfTheirOwn) {
  Rng rng(7);
  const Graph graph = parsed(
      "input a u8[2,3]\nconst b u8[3,2] = ones\ny = MatMulInteger(a, b)\noutput y\noutput y\n");
  const auto device = small_device();
  const std::vector<Tensor> outputs = run(**device->compile(graph), random_bytes(graph, rng));
  EXPECT_NE(outputs[0].bytes().data(), outputs[1].bytes().data());
}

TEST(SystolicDevice, StopsBetweenNodes) {
  const Graph graph =
      parsed("input a u8[2,3]\nconst b u8[3,2] = ones\ny = MatMulInteger(a, b)\noutput y\n");
  const auto device = small_device();
  const auto executable = *device->compile(graph);
  Rng rng(6);
  std::vector<Tensor> outputs(1);
  const Status status =
      executable->run(random_bytes(graph, rng), outputs, {.deadline = Deadline::min()});
  EXPECT_EQ(status.code(), Code::kDeadline);
}

}  // namespace
}  // namespace shoal::systolic
