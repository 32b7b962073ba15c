// The optimiser's update as a part of the step's graph gives what the host's update gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "shoal/base/math/random.h"
#include "shoal/engine/devices/devices.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::train {
namespace {

using Rule = OptimizerOptions::Rule;

constexpr int64_t kBatch = 4;

Tensor images(uint64_t number) {
  Tensor tensor({DType::kF32, {kBatch, 1, 28, 28}});
  fill_uniform(tensor.data<float>(), RandomStream(1, number), 0, 1);
  return tensor;
}
Tensor labels() { return Tensor::of<int64_t>({kBatch}, {3, 1, 4, 1}); }

Trainer make_trainer(Device& device, const char* network, const OptimizerOptions& optimizer,
                     bool on_device) {
  const auto graph = zoo::build(network, {.batch = kBatch});
  SHOAL_CHECK(graph.ok());
  auto trainer =
      Trainer::create(device, *graph, {.optimizer = optimizer, .update_on_device = on_device});
  SHOAL_CHECK(trainer.ok());
  return *std::move(trainer);
}

// The largest difference of any weight.
float distance(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  float most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t k = 0; k < a[i].data<float>().size(); ++k) {
      most = std::max(most, std::abs(a[i].data<float>()[k] - b[i].data<float>()[k]));
    }
  }
  return most;
}

struct Case {
  const char* name;
  OptimizerOptions options;
};

class UpdateOnDevice : public testing::TestWithParam<Case> {};

// Not on devices that cut at random: they would cut the two graphs at different places.
TEST_P(UpdateOnDevice, GivesTheWeightsOfTheHostsUpdate) {
  for (const char* name : {"cpu", "reference", "hybrid:reference+cpu"}) {
    SCOPED_TRACE(name);
    const auto device = *make_device(name, {.cpu = {.threads = 2}});
    Trainer host = make_trainer(*device, "mlp", GetParam().options, false);
    Trainer resident = make_trainer(*device, "mlp", GetParam().options, true);
    const std::vector<Tensor> before = resident.weights();
    for (uint64_t step = 0; step < 20; ++step) {
      const double factor = 1 / (1 + 0.1 * static_cast<double>(step));
      const auto want = host.step(images(step), std::vector{labels()}, factor);
      const auto got = resident.step(images(step), std::vector{labels()}, factor);
      ASSERT_TRUE(want.ok() && got.ok());
      ASSERT_NEAR(*got, *want, 1e-5f) << "step " << step;
    }
    ASSERT_TRUE(resident.fetch().ok());
    EXPECT_LE(distance(resident.weights(), host.weights()), 1e-6f);
    EXPECT_GT(distance(resident.weights(), before), 1e-4f) << "nothing was learned";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, UpdateOnDevice,
    testing::Values(
        Case{"sgd", {.rate = 0.01f}}, Case{"momentum", {.rate = 0.01f, .momentum = 0.9f}},
        Case{"nesterov", {.rate = 0.01f, .momentum = 0.9f, .nesterov = true}},
        Case{"decay", {.rate = 0.01f, .momentum = 0.9f, .weight_decay = 0.1f}},
        Case{"clipped", {.rate = 0.05f, .momentum = 0.5f, .max_norm = 0.1f}},
        Case{"adam", {.rule = Rule::kAdam, .rate = 1e-3f}},
        Case{"adam_decay", {.rule = Rule::kAdam, .rate = 1e-3f, .weight_decay = 0.1f}},
        Case{"adamw", {.rule = Rule::kAdamW, .rate = 1e-3f, .weight_decay = 0.1f}},
        Case{"adamw_clipped",
             {.rule = Rule::kAdamW, .rate = 1e-3f, .weight_decay = 0.1f, .max_norm = 0.1f}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ResidentTrainer, MeasuresStatisticsAndDropsAsTheHostDoes) {
  const auto device = make_reference_device();
  const OptimizerOptions options{.rate = 0.01f, .momentum = 0.9f};
  const auto graph = zoo::build("convnet", {.batch = kBatch});
  ASSERT_TRUE(graph.ok());
  auto host = Trainer::create(*device, *graph, {.optimizer = options});
  auto resident =
      Trainer::create(*device, *graph, {.optimizer = options, .update_on_device = true});
  ASSERT_TRUE(host.ok() && resident.ok());
  Tensor batch((*graph)[graph->inputs()[0]].type);
  fill_uniform(batch.data<float>(), RandomStream(2, 0), 0, 1);
  for (int step = 0; step < 3; ++step) {
    ASSERT_TRUE(host->step(batch, std::vector{labels()}).ok());
    ASSERT_TRUE(resident->step(batch, std::vector{labels()}).ok());
  }
  ASSERT_TRUE(resident->fetch().ok());
  const auto want = host->learned(), got = resident->learned();
  ASSERT_EQ(want.size(), got.size());
  for (const auto& [name, tensor] : want) {
    EXPECT_LE(distance({got.at(name)}, {tensor}), 1e-6f) << name;
  }
}

TEST(ResidentTrainer, GoesOnFromTheHostsStateAndBack) {
  const auto device = make_reference_device();
  const OptimizerOptions options{.rule = Rule::kAdam, .rate = 1e-3f};
  Trainer host = make_trainer(*device, "mlp", options, false);
  Trainer resident = make_trainer(*device, "mlp", options, true);
  ASSERT_TRUE(host.step(images(0), std::vector{labels()}).ok());
  ASSERT_TRUE(resident.restore(host.state()).ok());
  ASSERT_TRUE(host.step(images(1), std::vector{labels()}).ok());
  ASSERT_TRUE(resident.step(images(1), std::vector{labels()}).ok());
  ASSERT_TRUE(resident.fetch().ok());
  EXPECT_LE(distance(resident.weights(), host.weights()), 1e-6f);
  Trainer again = make_trainer(*device, "mlp", options, false);
  ASSERT_TRUE(again.restore(resident.state()).ok());
  ASSERT_TRUE(again.step(images(2), std::vector{labels()}).ok());
  ASSERT_TRUE(host.step(images(2), std::vector{labels()}).ok());
  EXPECT_LE(distance(again.weights(), host.weights()), 1e-6f);
}

TEST(ResidentTrainer, ChangesNothingWhenTheLossIsNoNumber) {
  const auto device = make_reference_device();
  Trainer trainer = make_trainer(*device, "mlp", {.rate = 0.01f}, true);
  const std::vector<Tensor> before = trainer.weights();
  Tensor bad = images(0);
  bad.data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(trainer.step(bad, std::vector{labels()}).ok());
  ASSERT_TRUE(trainer.fetch().ok());
  EXPECT_EQ(distance(trainer.weights(), before), 0);
  EXPECT_TRUE(trainer.step(images(0), std::vector{labels()}).ok());
}

TEST(ResidentTrainer, RefusesWhatOnlyTheHostCanDo) {
  const auto device = make_reference_device();
  Trainer trainer = make_trainer(*device, "mlp", {.rate = 0.01f}, true);
  EXPECT_EQ(trainer.compute(images(0), std::vector{labels()}).status().code(), Code::kUnsupported);
  EXPECT_EQ(trainer.update().code(), Code::kUnsupported);
  EXPECT_TRUE(trainer.gradients().empty());
  const auto graph = zoo::build("mlp", {.batch = kBatch});
  const auto result = Trainer::create(
      *device, *graph, {.regularizers = {Regularizer{.strength = 1}}, .update_on_device = true});
  EXPECT_EQ(result.status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace shoal::train
