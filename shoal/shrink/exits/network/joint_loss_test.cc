// The joint loss of several outputs, as a training step computes it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "shoal/shrink/exits/network/exits_testing.h"
#include "shoal/shrink/exits/network/stages.h"
#include "shoal/train/step/graph/features.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::exits {
namespace {

using train::Trainer;
using train::TrainerOptions;

struct Step {
  float loss = 0;
  std::map<std::string, Tensor> gradients;
};

class JointLoss : public ::testing::Test {
 protected:
  static constexpr int64_t kBatch = 3;

  static MultiExit network() {
    auto result = testing::random_multi_exit(4)(kBatch);
    SHOAL_CHECK(result.ok() && result->exits.size() == 2);
    return *std::move(result);
  }
  Step step(const Graph& network, const train::StepOptions& options,
            std::optional<Tensor> teacher = {}) {
    auto trainer = Trainer::create(*device_, network, {.step = options});
    EXPECT_TRUE(trainer.ok()) << trainer.status().message();
    SHOAL_CHECK(trainer.ok());
    const Tensor images = testing::random_images({DType::kF32, {1, 3, 16, 16}}, kBatch, 1);
    std::vector<Tensor> targets{Tensor::of<int64_t>({kBatch}, {0, 3, 1})};
    if (teacher) targets.push_back(*teacher);
    const auto loss = trainer->compute(images, targets);
    EXPECT_TRUE(loss.ok()) << loss.status().message();
    Step step{loss.ok() ? *loss : 0, {}};
    for (size_t i = 0; i < trainer->parameters().size(); ++i) {
      step.gradients[trainer->parameters()[i]] = trainer->gradients()[i].clone();
    }
    return step;
  }
  // The same with one of its outputs.
  Step step_of(const Graph& graph, size_t output, const train::Loss& loss) {
    const ValueId id = graph.outputs()[output];
    const auto only = with_outputs(graph, std::span(&id, 1));
    SHOAL_CHECK(only.ok());
    return step(*only, {.loss = loss});
  }
  Code refusal(const std::vector<float>& weights) {
    return Trainer::create(*device_, network().graph, {.step = {.output_weights = weights}})
        .status()
        .code();
  }

  std::unique_ptr<Device> device_ = make_reference_device();
};

TEST_F(JointLoss, IsTheWeightedSumAndSoAreItsGradients) {
  const Graph graph = network().graph;
  const std::vector<float> weights{1, 0.5F, 2};
  for (float focal : {0.F, 2.F}) {
    const train::Loss loss{.focal = focal};
    const Step all = step(graph, {.loss = loss, .output_weights = weights});
    double sum = 0;
    std::map<std::string, std::vector<double>> gradients;
    for (size_t output = 0; output < weights.size(); ++output) {
      const Step one = step_of(graph, output, loss);
      sum += double{weights[output]} * double{one.loss};
      for (const auto& [name, gradient] : one.gradients) {
        auto& total = gradients[name];
        total.resize(static_cast<size_t>(gradient.count()));
        for (size_t i = 0; i < total.size(); ++i) {
          total[i] += double{weights[output]} * double{gradient.data<float>()[i]};
        }
      }
    }
    EXPECT_NEAR(all.loss, sum, 1e-5 * std::abs(sum));
    EXPECT_EQ(all.gradients.size(), gradients.size());
    for (const auto& [name, wanted] : gradients) {
      const auto got = all.gradients.at(name).data<float>();
      for (size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_NEAR(got[i], wanted[i], 1e-4 * std::max(1.0, std::abs(wanted[i]))) << name;
      }
    }
  }
}

// An exit learns as from a teacher that gives the last classifier's scores, and that classifier
// learns as if it taught nobody.
TEST_F(JointLoss, LetsTheLastClassifierTeachWithoutLearningFromIt) {
  const Graph graph = network().graph;
  const train::Loss plain{.temperature = 3}, taught{.distill = 0.4F, .temperature = 3};
  const std::vector<float> weights{1, 0.5F, 2};
  const Tensor images = testing::random_images({DType::kF32, {1, 3, 16, 16}}, kBatch, 1);
  // Training normalises by the batch, so that the teacher's scores are those of a training step.
  auto trainer = Trainer::create(*device_, graph, {.step = {.output_weights = {1, 0, 0}}});
  ASSERT_TRUE(trainer.ok());
  const std::vector<Tensor> labels{Tensor::of<int64_t>({kBatch}, {0, 3, 1})};
  ASSERT_TRUE(trainer->compute(images, labels).ok());
  const Tensor scores = trainer->scores().clone();
  const Step self =
      step(graph, {.loss = plain, .output_weights = weights, .self_distill = taught.distill});
  const Step last = step(graph, {.loss = plain, .output_weights = {1, 0, 0}});
  const Step exits = step(graph, {.loss = taught, .output_weights = {0, 0.5F, 2}}, scores);
  EXPECT_NEAR(self.loss, last.loss + exits.loss, 1e-5 * std::abs(self.loss));
  for (const auto& [name, gradient] : self.gradients) {
    const auto own = last.gradients.at(name).data<float>();
    const auto other = exits.gradients.at(name).data<float>();
    for (size_t i = 0; i < own.size(); ++i) {
      const double wanted = double{own[i]} + double{other[i]};
      EXPECT_NEAR(gradient.data<float>()[i], wanted, 1e-4 * std::max(1.0, std::abs(wanted)))
          << name;
    }
  }
}

TEST_F(JointLoss, DoesNotTeachOutputsOfWeightZero) {
  const Step first = step(network().graph, {.output_weights = {0, 1, 0}});
  for (const auto& [name, gradient] : first.gradients) {
    if (!name.starts_with("exit2")) continue;
    for (float x : gradient.data<float>()) EXPECT_EQ(x, 0) << name;
  }
}

TEST_F(JointLoss, RefusesWeightsWithoutMeaning) {
  EXPECT_EQ(refusal({1, 1, 1}), Code::kOk);
  EXPECT_EQ(refusal({}), Code::kInvalidArgument);
  EXPECT_EQ(refusal({1, 1}), Code::kInvalidArgument);
  EXPECT_EQ(refusal({1, 1, -1}), Code::kInvalidArgument);
  EXPECT_EQ(refusal({0, 0, 0}), Code::kInvalidArgument);
  EXPECT_EQ(refusal({1, 1, std::numeric_limits<float>::quiet_NaN()}), Code::kInvalidArgument);
  EXPECT_EQ(refusal({1, 1, std::numeric_limits<float>::infinity()}), Code::kInvalidArgument);
}

TEST_F(JointLoss, RefusesOutputsOfOtherClasses) {
  Graph graph = network().graph;
  graph.mark_output(graph.inputs()[0]);
  EXPECT_EQ(
      Trainer::create(*device_, graph, {.step = {.output_weights = {1, 1, 1, 1}}}).status().code(),
      Code::kInvalidArgument);
}

TEST_F(JointLoss, HasNoFrozenBodyWhereAnOutputIsInIt) {
  // One exit with nothing but a Gemm of its own: one value goes from the frozen part to it.
  const auto result = testing::random_multi_exit(3)(kBatch);
  ASSERT_TRUE(result.ok() && result->exits.size() == 1);
  const Graph& graph = result->graph;
  const auto frozen = [](std::string_view name) { return !name.starts_with("exit"); };
  const auto parted = train::part_frozen_body(graph, {.frozen = frozen, .output_weights = {0, 1}});
  ASSERT_TRUE(parted.ok());
  EXPECT_FALSE(parted->has_value());
}

}  // namespace
}  // namespace shoal::exits
