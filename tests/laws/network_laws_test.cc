// Every network of the zoo learns along the slope of its loss: what a training step says is the
// gradient agrees with finite differences, in f64. The networks are narrow and their images small,
// but all their layers are there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include "laws.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/train/step/graph/step_graph.h"
#include "small_network.h"

namespace shoal::laws {
namespace {

constexpr double kTolerance = 1e-4;
constexpr int kCoordinates = 6;  // that are tried one by one
constexpr int64_t kBatch = 2;
constexpr double kWidth = 0.125;

Tensor random_normal(Rng& rng, const Shape& shape) {
  std::normal_distribution<double> normal;
  Tensor tensor({DType::kF64, shape});
  for (double& x : tensor.data<double>()) x = normal(rng);
  return tensor;
}

// A copy in f64 with one input. What else the network reads becomes a constant, and is learned.
class DoubleNetwork {
 public:
  DoubleNetwork(Rng& rng, const Graph& from) : from_(from), fresh_(from.value_count(), kNoValue) {
    for (ValueId id : from.inputs()) {
      const TensorType type{DType::kF64, from[id].type.shape};
      fresh(id) = id == from.inputs()[0]
                      ? to_.add_input(from[id].name, type)
                      : to_.add_constant(from[id].name, random_normal(rng, type.shape));
    }
    for (const Node& node : from.nodes()) copy(node);
    to_.mark_output(map(from.outputs()[0]));
  }
  const Graph& graph() const { return to_; }

 private:
  ValueId& fresh(ValueId id) { return fresh_[static_cast<size_t>(id)]; }

  ValueId map(ValueId id) {
    if (id == kNoValue || fresh(id) != kNoValue) return id == kNoValue ? id : fresh(id);
    const Tensor& constant = *from_[id].constant;
    const bool is_float = Floats::contains(constant.dtype());
    return fresh(id) = to_.add_constant(
               from_[id].name, is_float ? ops::converted(constant, DType::kF64) : constant);
  }

  void copy(const Node& node) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) inputs.push_back(map(id));
    const auto outputs = to_.add_node(*node.op, inputs, node.attributes,
                                      std::vector<std::string>(node.outputs.size()));
    SHOAL_CHECK(outputs.ok());
    for (size_t i = 0; i < node.outputs.size(); ++i) fresh(node.outputs[i]) = (*outputs)[i];
  }

  const Graph& from_;
  Graph to_;
  std::vector<ValueId> fresh_;  // per value of the network, its copy
};

// A training step without all that is not needed for the loss.
Graph loss_alone(const Graph& step, ValueId loss) {
  passes::Rewriter rewriter(step);
  for (const Node& node : step.nodes()) SHOAL_CHECK(rewriter.copy(node).ok());
  rewriter.to().mark_output(rewriter.map(loss));
  return *passes::remove_dead_code(rewriter.to());
}

using Weights = std::vector<Tensor>;  // or a direction in which they move

// The loss over all weights.
class Landscape {
 public:
  static Result<Landscape> of(Rng& rng, const Graph& network) {
    const bool classes = network[train::scores_of(network)].type.shape.rank() == 2;
    const train::Loss loss{.kind = classes ? train::Loss::Kind::kCrossEntropy
                                           : train::Loss::Kind::kMeanSquare};
    SHOAL_ASSIGN(const train::StepGraph step, train::make_step_graph(network, {.loss = loss}));
    return Landscape(rng, network, step);
  }

  const Weights& here() const { return weights_; }
  const Weights& gradients() const { return gradients_; }

  struct Slope {
    double value, blur;
  };
  // By central differences. Where they change with the step, it goes over the kink of a ReLU or of
  // a maximum; shorter steps stop before it.
  std::optional<Slope> slope(const Weights& direction) {
    constexpr double kLongest = 1e-4, kShortest = 1e-8, kShorter = 0.25;
    double far = difference(direction, kLongest);
    for (double step = kLongest; step > kShortest; step *= kShorter) {
      const double near = difference(direction, kShorter * step);
      // What the difference of two losses can say: their last digits, magnified.
      const double blur = 1e-14 * (1 + std::abs(loss_)) / (kShorter * step);
      if (std::abs(far - near) <= 0.1 * kTolerance * std::abs(near) + blur) return Slope{far, blur};
      far = near;
    }
    return std::nullopt;
  }

 private:
  static constexpr size_t kLoss = 1, kFirstStatistic = 2;  // outputs of a step

  Landscape(Rng& rng, const Graph& network, const train::StepGraph& step) {
    const Graph& graph = step.graph;
    const auto type = [&](size_t input) { return graph[graph.inputs()[input]].type; };
    feeds_.push_back(random_normal(rng, type(0).shape));
    feeds_.push_back(type(1).dtype == DType::kF64 ? random_normal(rng, type(1).shape)
                                                  : random_labels(rng, network));
    for (ValueId id : step.statistics) feeds_.push_back(*network[id].constant);
    for (ValueId id : step.parameters) weights_.push_back(*network[id].constant);

    const auto device = make_reference_device();
    const auto whole = *device->compile(graph);
    std::vector<Tensor> outputs(graph.outputs().size());
    SHOAL_CHECK(whole->run(feeds_with(weights_), outputs, {}).ok());
    loss_ = outputs[kLoss].data<double>()[0];
    const auto first = static_cast<ptrdiff_t>(kFirstStatistic + step.statistics.size());
    gradients_.assign(outputs.begin() + first, outputs.end());
    executable_ = *device->compile(loss_alone(graph, graph.outputs()[kLoss]));
  }

  static Tensor random_labels(Rng& rng, const Graph& network) {
    Tensor labels({DType::kI64, {kBatch}});
    const int64_t classes = network[network.outputs()[0]].type.shape[1];
    for (int64_t& label : labels.data<int64_t>()) label = random_int(rng, 0, classes - 1);
    return labels;
  }

  std::vector<Tensor> feeds_with(const Weights& weights) const {
    std::vector<Tensor> feeds = feeds_;
    feeds.insert(feeds.end(), weights.begin(), weights.end());
    return feeds;
  }

  double loss_at(const Weights& direction, double step) {
    Weights moved = weights_;
    for (size_t i = 0; i < moved.size(); ++i) {
      if (!direction[i].defined()) continue;
      moved[i] = moved[i].clone();
      std::ranges::transform(moved[i].data<double>(), direction[i].data<double>(),
                             moved[i].data<double>().begin(),
                             [&](double x, double d) { return x + step * d; });
    }
    std::vector<Tensor> outputs(1);
    SHOAL_CHECK(executable_->run(feeds_with(moved), outputs, {}).ok());
    return outputs[0].data<double>()[0];
  }

  double difference(const Weights& direction, double step) {
    const double ahead = loss_at(direction, step);
    return (ahead - loss_at(direction, -step)) / (2 * step);
  }

  std::vector<Tensor> feeds_;  // of a step, but for the weights
  Weights weights_, gradients_;
  double loss_ = 0;
  std::unique_ptr<Executable> executable_;  // the loss alone
};

double dot(const Weights& a, const Weights& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].defined() || !b[i].defined()) continue;
    for (size_t k = 0; k < a[i].data<double>().size(); ++k) {
      sum += a[i].data<double>()[k] * b[i].data<double>()[k];
    }
  }
  return sum;
}

// As long as a step along one coordinate: losses bend as much along it.
Weights of_unit_length(Weights direction) {
  const double length = std::sqrt(dot(direction, direction));
  for (Tensor& tensor : direction) {
    for (double& x : tensor.data<double>()) x /= length;
  }
  return direction;
}

Weights anywhere(Rng& rng, const Weights& like) {
  Weights direction;
  for (const Tensor& tensor : like) direction.push_back(random_normal(rng, tensor.shape()));
  return of_unit_length(std::move(direction));
}

// Along the signs of the gradient: nothing cancels out, so that every element counts.
Weights upwards(const Weights& gradients) {
  Weights direction;
  for (const Tensor& gradient : gradients) {
    direction.push_back(gradient.clone());
    for (double& x : direction.back().data<double>()) x = x > 0 ? 1 : x < 0 ? -1 : 0;
  }
  return of_unit_length(std::move(direction));
}

Weights one_coordinate(Rng& rng, const Weights& like) {
  Weights direction(like.size());
  const int64_t last = static_cast<int64_t>(like.size()) - 1;
  const auto i = static_cast<size_t>(random_int(rng, 0, last));
  direction[i] = Tensor({DType::kF64, like[i].shape()});
  const auto k = static_cast<size_t>(random_int(rng, 0, like[i].count() - 1));
  direction[i].data<double>()[k] = 1;
  return direction;
}

void expect_slope(Landscape& landscape, const Weights& direction) {
  const double claimed = dot(landscape.gradients(), direction);
  const auto measured = landscape.slope(direction);
  ASSERT_TRUE(measured) << "a kink wherever one looks";
  EXPECT_NEAR(claimed, measured->value, kTolerance * std::abs(measured->value) + measured->blur);
}

class Networks : public testing::TestWithParam<std::string> {};

TEST_P(Networks, LearnAlongTheSlopeOfTheLoss) {
  Rng rng(5);
  const auto network = small_network(GetParam(), kBatch, kWidth);
  ASSERT_TRUE(network.ok()) << network.status().message();
  auto landscape = Landscape::of(rng, DoubleNetwork(rng, *network).graph());
  ASSERT_TRUE(landscape.ok()) << landscape.status().message();
  expect_slope(*landscape, anywhere(rng, landscape->here()));
  expect_slope(*landscape, upwards(landscape->gradients()));
  for (int i = 0; i < kCoordinates; ++i) {
    expect_slope(*landscape, one_coordinate(rng, landscape->here()));
  }
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const zoo::Entry& entry : zoo::list()) names.emplace_back(entry.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, Networks, testing::ValuesIn(names()),
                         [](const auto& network) { return network.param; });

}  // namespace
}  // namespace shoal::laws
