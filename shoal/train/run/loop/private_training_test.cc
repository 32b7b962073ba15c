#include "shoal/train/run/loop/private_training.h"

#include <gtest/gtest.h>

#include <cmath>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/model/ops/ops.h"
#include "shoal/train/privacy/accountant.h"
#include "shoal/train/run/loop/training_loop.h"
#include "shoal/train/run/setup/tiny_network_testing.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::fit {
namespace {

using testing::make_network;
using testing::Rows;
using Weights = std::map<std::string, Tensor>;

constexpr size_t kBatch = 10, kExamples = 60;

class PrivateRun : public ::testing::Test {
 protected:
  PrivateRun() {
    options_.optimizer = {.rate = 0.5f};
    options_.schedule = train::Schedule::Kind::kConstant;
  }
  TrainingLoop create(TrainingCallbacks callbacks = {}) {
    auto loop = TrainingLoop::create(
        *device_,
        {.network = make_network(1),
         .data = {std::make_shared<Rows>(kExamples), std::make_shared<Rows>(25, 99)}},
        options_, std::move(callbacks));
    EXPECT_TRUE(loop.ok()) << loop.status().message();
    SHOAL_CHECK(loop.ok());
    return *std::move(loop);
  }
  // The weights after all epochs, or after n steps.
  Weights trained(size_t steps = 1000) {
    std::atomic<bool> cancel = false;
    size_t done = 0;
    TrainingLoop loop = create(
        {.on_step = [&](const StepReport&) { cancel = ++done == steps; }, .cancel = &cancel});
    const auto reason = loop.run();
    EXPECT_TRUE(reason.ok()) << reason.status().message();
    Weights copy;
    for (const auto& [name, tensor] : loop.weights()) copy[name] = tensor.clone();
    return copy;
  }

  std::unique_ptr<Device> device_ = make_reference_device();
  const Result<TemporaryFolder> temporary_ = TemporaryFolder::make();
  TrainingOptions options_{
      .epochs = 2, .batch = kBatch, .privacy = {.noise = 0.8, .clip = 0.4, .key = privacy::Key{7}}};
};

// Each example by itself, in f64: gradient, norm, bound, mean over the batch that is expected.
TEST_F(PrivateRun, StepIsThatOfALoopOverExamples) {
  options_.privacy.noise = 0;
  const Graph network = make_network(1);
  auto trainer = train::Trainer::create(*device_, network, {.optimizer = options_.optimizer});
  ASSERT_TRUE(trainer.ok());
  const auto prepare = images_for(network, options_.preprocess);
  const Rows data(kExamples);
  std::vector<std::vector<double>> sums;
  for (const Tensor& weight : trainer->weights()) {
    sums.emplace_back(static_cast<size_t>(weight.count()));
  }
  const PrivateTraining chooser(options_.privacy, kBatch, kExamples);
  const std::vector<size_t> chosen = chooser.choose(0);
  ASSERT_GT(chosen.size(), 3u);
  size_t clipped = 0;
  for (const size_t index : chosen) {
    const auto example = data.at(index);
    const Tensor label = Tensor::of<int64_t>({1}, {example->label});
    ASSERT_TRUE(trainer->compute(*prepare(example->image), std::span(&label, 1)).ok());
    double squares = 0;
    for (const Tensor& part : trainer->gradients()) {
      for (const float x : part.data<float>()) squares += double{x} * double{x};
    }
    const double factor = std::min(1.0, options_.privacy.clip / std::sqrt(squares));
    clipped += factor < 1;
    for (size_t t = 0; t < sums.size(); ++t) {
      const auto part = std::as_const(trainer->gradients()[t]).data<float>();
      for (size_t i = 0; i < part.size(); ++i) sums[t][i] += factor * double{part[i]};
    }
  }
  EXPECT_GT(clipped, 0u);
  const Weights after = trained(1);
  for (size_t t = 0; t < sums.size(); ++t) {
    const auto before = trainer->weights()[t].data<float>();
    const auto now = after.at(trainer->parameters()[t]).data<float>();
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_NEAR(now[i], double{before[i]} - 0.5 * sums[t][i] / kBatch, 1e-6);
    }
  }
}

TEST_F(PrivateRun, LearnsAndSaysWhatItRevealed) {
  options_.epochs = 12;
  TrainingLoop loop = create();
  ASSERT_TRUE(loop.run().ok());
  EXPECT_GT(loop.evaluation().top1(), 60);
  const auto spent = loop.privacy();
  ASSERT_TRUE(spent.has_value());
  EXPECT_EQ(spent->steps, 12 * kExamples / kBatch);
  EXPECT_DOUBLE_EQ(spent->delta, 0.1 / kExamples);
  EXPECT_EQ(spent->epsilon,
            privacy::epsilon_of_steps(1.0 / 6, 0.8, 72, 0.1 / kExamples, privacy::default_orders())
                .epsilon);
  EXPECT_GT(spent->clipped, 0);
  EXPECT_LT(spent->clipped, 1);
}

TEST_F(PrivateRun, IsAFunctionOfItsKey) {
  const Weights first = trained();
  EXPECT_TRUE(testing::same(first, trained()));
  options_.loaders = 3;
  options_.seed = 5;  // the network's weights are given, and the key alone chooses examples
  EXPECT_TRUE(testing::same(first, trained()));
  options_.privacy.key = privacy::Key{8};
  EXPECT_FALSE(testing::same(first, trained()));
  options_.privacy.key.reset();  // a fresh one each time
  EXPECT_FALSE(testing::same(trained(), trained()));
}

TEST_F(PrivateRun, ResumesToTheSameWeights) {
  options_.checkpoint = temporary_->path() / "c.safetensors";
  const Weights wanted = trained();
  options_.resume = true;
  for (const size_t last : {1u, 5u, 8u}) {
    std::filesystem::remove(options_.checkpoint);
    static_cast<void>(trained(last));
    EXPECT_TRUE(testing::same(wanted, trained())) << "after step " << last;
  }
  // Epsilon is that of equal steps: the noise cannot change on the way.
  options_.privacy.noise = 0.1;
  const auto loop = TrainingLoop::create(
      *device_,
      {.network = make_network(1),
       .data = {std::make_shared<Rows>(kExamples), std::make_shared<Rows>(25, 99)}},
      options_);
  EXPECT_EQ(loop.status().code(), Code::kInvalidArgument);
}

// A step may have no example, the first one among them.
TEST_F(PrivateRun, StepsWithoutExamplesAddNoiseOnly) {
  options_.batch = 1;
  options_.epochs = 1;
  const PrivateTraining chooser(options_.privacy, 1, kExamples);
  size_t empty = 0;
  for (uint64_t step = 0; step < kExamples; ++step) empty += chooser.choose(step).empty();
  EXPECT_GT(empty, 10u);  // a third of them is expected
  EXPECT_LT(empty, 35u);
  EXPECT_FALSE(trained().empty());
  auto trainer = train::Trainer::create(*device_, make_network(1), {});
  PrivateTraining training(options_.privacy, 1, kExamples);
  ASSERT_TRUE(training.begin(*trainer).ok());
  const Tensor before = trainer->weights()[0].clone();
  const auto outcome = training.step(*trainer, Batch{}, 0, 1, {});
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(outcome->loss, 0);
  EXPECT_FALSE(std::ranges::equal(before.bytes(), trainer->weights()[0].bytes()));
}

TEST_F(PrivateRun, RefusesStatisticsThatAreMeasuredWithoutNoise) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, 3}});
  const auto constant = [&](const char* name) {
    return graph.add_constant(name, Tensor::of<float>({3}, {1, 1, 1}));
  };
  const auto norm = graph.add(
      ops::batch_normalization,
      {x, constant("scale"), constant("bias"), constant("mean"), constant("var")}, {}, "norm");
  ASSERT_TRUE(norm.ok()) << norm.status().message();
  graph.mark_output(*norm);
  const auto trainer = train::Trainer::create(*device_, graph, {});
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  PrivateTraining training(options_.privacy, 1, kExamples);
  EXPECT_EQ(training.begin(*trainer).code(), Code::kUnsupported);
}

}  // namespace
}  // namespace shoal::fit
