#include "answers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "shoal/model/graph/text.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/ops.h"

namespace shoal::passes {
namespace {

std::vector<Tensor> answers(const Graph& graph, Device& device) {
  std::mt19937 rng(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<Tensor> inputs, outputs(graph.outputs().size());
  for (ValueId id : graph.inputs()) {
    inputs.emplace_back(graph[id].type);
    const DType dtype = graph[id].type.dtype;
    if (dtype == DType::kF32) {
      for (float& x : inputs.back().data<float>()) x = uniform(rng);
    } else if (dtype == DType::kU8 || dtype == DType::kI8) {
      for (std::byte& x : inputs.back().bytes()) x = static_cast<std::byte>(rng() & 255);
    }
  }
  auto executable = device.compile(graph);
  EXPECT_TRUE(executable.ok() && (*executable)->run(inputs, outputs, {}).ok());
  return outputs;
}

double largest(std::span<const double> elements) {
  double most = 0;
  for (double x : elements) most = std::max(most, std::abs(x));
  return most;
}

void expect_near(const Tensor& got, const Tensor& want, const std::string& name) {
  constexpr double kRounding = 2e-6;
  const Tensor a = ops::converted(got, DType::kF64), b = ops::converted(want, DType::kF64);
  const double tolerance = kRounding * std::max(1.0, largest(b.data<double>()));
  for (size_t i = 0; i < a.data<double>().size(); ++i) {
    const double x = a.data<double>()[i], y = b.data<double>()[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    ASSERT_NEAR(x, y, tolerance) << "element " << i << " of " << name;
  }
}

}  // namespace

Graph parse(const std::string& text) {
  auto graph = parse_text(text, ops::find);
  if (!graph.ok()) {
    ADD_FAILURE() << graph.status().message() << "\n" << text;
    return {};
  }
  return *graph;
}

void expect_same_answers(const Graph& graph, Device& got, Device& want) {
  const std::vector<Tensor> a = answers(graph, got), b = answers(graph, want);
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].type(), b[i].type());
    expect_near(a[i], b[i], graph[graph.outputs()[i]].name);
  }
}

void expect_same_answers(const Graph& before, const Graph& after) {
  ASSERT_EQ(before.inputs().size(), after.inputs().size());
  ASSERT_EQ(before.outputs().size(), after.outputs().size());
  const auto device = make_reference_device();
  const std::vector<Tensor> want = answers(before, *device), got = answers(after, *device);
  for (size_t i = 0; i < want.size(); ++i) {
    const Value& output = before[before.outputs()[i]];
    EXPECT_EQ(output.name, after[after.outputs()[i]].name);
    ASSERT_EQ(want[i].type(), got[i].type());
    expect_near(got[i], want[i], output.name);
  }
}

}  // namespace shoal::passes
