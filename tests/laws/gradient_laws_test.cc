// Every gradient agrees with finite differences, in f64. This file names only the operators that
// reduce a node's outputs to one number.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "laws.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/ops.h"
#include "shoal/train/step/graph/differentiate.h"

namespace shoal::laws {
namespace {

constexpr int kCasesPerOperator = 40;
constexpr double kTolerance = 1e-4;
constexpr double kStep = 1e-6;

bool is_float(const Tensor& tensor) { return tensor.defined() && Floats::contains(tensor.dtype()); }

Tensor random_doubles(Rng& rng, const Shape& shape, double low, double high) {
  std::uniform_real_distribution<double> uniform(low, high);
  Tensor tensor({DType::kF64, shape});
  for (double& x : tensor.data<double>()) x = uniform(rng);
  return tensor;
}

Tensor moved(const Tensor& x, const Tensor& direction, double step) {
  Tensor result = x.clone();
  for (size_t k = 0; k < result.data<double>().size(); ++k) {
    result.data<double>()[k] += step * direction.data<double>()[k];
  }
  return result;
}

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (size_t k = 0; k < a.data<double>().size(); ++k) {
    sum += a.data<double>()[k] * b.data<double>()[k];
  }
  return sum;
}

// A little of everything, in any order: no two elements that were equal are nearer to each other
// than a step, nor is one at zero.
Tensor spread_noise(Rng& rng, const Shape& shape) {
  constexpr double kWidth = 1e-3;
  Tensor tensor({DType::kF64, shape});
  const auto elements = tensor.data<double>();
  for (size_t k = 0; k < elements.size(); ++k) {
    const double share = (static_cast<double>(k) + 0.25) / static_cast<double>(elements.size());
    elements[k] = kWidth * (2 * share - 1);
  }
  std::ranges::shuffle(elements, rng);
  return tensor;
}

// The case in f64. A little noise takes elements off the places where a function has a kink and two
// elements off being equal: there, differences see neither slope.
Case in_double(Rng& rng, const Operator& op, Case c) {
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!is_float(c.inputs[i])) continue;
    c.inputs[i] = ops::converted(c.inputs[i], DType::kF64);
    if (op.reads_value(i)) continue;
    c.inputs[i] = moved(c.inputs[i], spread_noise(rng, c.inputs[i].shape()), 1);
  }
  return c;
}

// A node, its outputs weighed at random and added up to one number.
struct Problem {
  Graph graph;
  ValueId loss = kNoValue;
  std::vector<ValueId> learned;  // the node's inputs that ought to have a gradient
  std::vector<Tensor> inputs;    // their elements: all inputs of the graph are learned
};

void weigh(Rng& rng, ValueId y, Problem& problem) {
  Graph& graph = problem.graph;
  const Tensor weights = random_doubles(rng, graph[y].type.shape, 0.5, 1.5);
  const ValueId scaled = *graph.add(ops::mul, {y, graph.add_constant("weights", weights)});
  const ValueId sum = *graph.add(ops::reduce_sum, {scaled}, {{"keepdims", int64_t{0}}});
  problem.loss = problem.loss == kNoValue ? sum : *graph.add(ops::add, {problem.loss, sum});
}

// Of all outputs, or of the first.
Result<Problem> problem_of(Rng& rng, const Operator& op, const Case& c, bool all_outputs) {
  Problem problem;
  Graph& graph = problem.graph;
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Tensor& x = c.inputs[i];
    const bool learned = is_float(x) && !op.reads_value(i) && !op.is_statistic(i);
    if (!learned) {
      inputs.push_back(x.defined() ? graph.add_constant("c", x) : kNoValue);
      continue;
    }
    inputs.push_back(graph.add_input("x", x.type()));
    problem.learned.push_back(inputs.back());
    problem.inputs.push_back(x);
  }
  SHOAL_ASSIGN(const std::vector<ValueId> outputs,
               graph.add_node(op, inputs, c.attributes, std::vector<std::string>(c.outputs)));
  for (ValueId y : outputs) {
    if (graph[y].type.dtype == DType::kF64 && (all_outputs || y == outputs[0])) {
      weigh(rng, y, problem);
    }
  }
  if (problem.loss != kNoValue) graph.mark_output(problem.loss);
  return problem;
}

std::vector<Tensor> run(const Graph& graph, std::span<const Tensor> inputs) {
  auto executable = make_reference_device()->compile(graph);
  EXPECT_TRUE(executable.ok());
  std::vector<Tensor> outputs(graph.outputs().size());
  EXPECT_TRUE((*executable)->run(inputs, outputs, {}).ok());
  return outputs;
}

double loss_of(const Problem& problem, std::span<const Tensor> inputs) {
  return run(problem.graph, inputs)[0].data<double>()[0];
}

// The slope of the loss when input i moves along directions[i]; undefined ones stay.
void expect_slope(const Problem& problem, std::span<const Tensor> gradients,
                  std::span<const Tensor> directions) {
  std::vector<Tensor> ahead = problem.inputs, behind = problem.inputs;
  double slope = 0, gradient_square = 0, direction_square = 0;
  for (size_t i = 0; i < directions.size(); ++i) {
    if (!directions[i].defined()) continue;
    ahead[i] = moved(problem.inputs[i], directions[i], kStep);
    behind[i] = moved(problem.inputs[i], directions[i], -kStep);
    slope += dot(gradients[i], directions[i]);
    gradient_square += dot(gradients[i], gradients[i]);
    direction_square += dot(directions[i], directions[i]);
  }
  const double above = loss_of(problem, ahead);
  const double difference = (above - loss_of(problem, behind)) / (2 * kStep);
  // What the difference of two losses, sums of terms about 1, can say: their last digits,
  // magnified.
  const double blur = 1e-14 * (1 + std::abs(above)) / kStep;
  const double scale = std::sqrt(gradient_square * direction_square);
  ASSERT_NEAR(slope, difference, kTolerance * scale + blur + 1e-9);
}

class Gradients : public testing::TestWithParam<Source> {};

TEST_P(Gradients, AgreeWithFiniteDifferences) {
  Rng rng(11);
  int tried = 0;
  for (int i = 0; i < kCasesPerOperator; ++i) {
    const Operator& op = *GetParam().op;
    const Case c = in_double(rng, op, GetParam().draw(rng));
    SCOPED_TRACE("case " + std::to_string(i) + ": " + describe(c));
    for (const bool all_outputs : {false, true}) {
      const auto problem = problem_of(rng, op, c, all_outputs);
      if (!problem.ok() || problem->loss == kNoValue || problem->learned.empty()) continue;
      const auto both = train::differentiate(problem->graph, problem->loss, problem->learned);
      if (both.status().code() == Code::kUnsupported) continue;  // refused with a reason
      ASSERT_TRUE(both.ok()) << both.status().message();
      ASSERT_TRUE(verify(both->graph).ok());
      const std::vector<Tensor> outputs = run(both->graph, problem->inputs);
      if (!std::isfinite(outputs[0].data<double>()[0])) continue;  // no slope there
      for (size_t k = 0; k < problem->inputs.size(); ++k) {
        SCOPED_TRACE("input " + std::to_string(k));
        std::vector<Tensor> directions(problem->inputs.size());
        directions[k] = random_doubles(rng, problem->inputs[k].shape(), -1, 1);
        expect_slope(*problem, std::span(outputs).subspan(1), directions);
      }
      if (HasFatalFailure()) return;
      ++tried;
    }
  }
  EXPECT_TRUE(tried > 0 || GetParam().op->gradient == nullptr) << "no case has a gradient";
}

std::string name_case(const testing::TestParamInfo<Source>& param) {
  return std::string(param.param.op->name) + "_" + std::to_string(param.index);
}

INSTANTIATE_TEST_SUITE_P(Law, Gradients, testing::ValuesIn(claiming([](const Operator& op) {
                           return op.gradient != nullptr || op.expand != nullptr;
                         })),
                         name_case);

// A gradient without a case would be unchecked.
TEST(GradientCases, CoverEveryGradient) {
  for (const Operator* op : ops::all()) {
    const bool covered = !claiming([&](const Operator& other) { return &other == op; }).empty();
    EXPECT_TRUE(op->gradient == nullptr || covered) << op->name;
  }
}

}  // namespace
}  // namespace shoal::laws
