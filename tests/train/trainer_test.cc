#include "shoal/train/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "shoal/cpu/cpu.h"
#include "shoal/data/image.h"
#include "shoal/ops/ops.h"
#include "shoal/zoo/embedded.h"
#include "shoal/zoo/zoo.h"

namespace shoal::train {
namespace {

constexpr int64_t kBatch = 10, kSide = 28;

struct Batch {
  Tensor images{{DType::kF32, {kBatch, 1, kSide, kSide}}};
  Tensor labels{{DType::kI64, {kBatch}}};
};

// The ten digits inside the binary, one of each.
Batch digits() {
  Batch batch;
  float* to = batch.images.data<float>().data();
  int64_t label = 0;
  for (const zoo::Sample& sample : zoo::digits_samples()) {
    const auto image = parse_image(sample.png);
    SHOAL_CHECK(image.ok() && image->count() == kSide * kSide);
    to = std::ranges::transform(image->data<uint8_t>(), to, [](uint8_t pixel) {
           return static_cast<float>(pixel) / 255;
         }).out;
    batch.labels.data<int64_t>()[static_cast<size_t>(label)] = label;
    ++label;
  }
  return batch;
}

int right(const Tensor& scores) {
  int count = 0;
  for (int64_t n = 0; n < kBatch; ++n) {
    const auto row = scores.data<float>().subspan(static_cast<size_t>(n) * 10, 10);
    count += std::ranges::max_element(row) - row.begin() == n;
  }
  return count;
}

class TrainerOn : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Device> device() const {
    return std::string_view(GetParam()) == "cpu" ? make_cpu_device() : make_reference_device();
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, TrainerOn, testing::Values("cpu", "reference"));

TEST_P(TrainerOn, LeNetLearnsDigits) {
  const auto device = this->device();
  const auto network = zoo::build("lenet5", {.batch = kBatch});
  auto trainer =
      Trainer::create(*device, *network, {.optimizer = {.rate = 0.05f, .momentum = 0.9f}});
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  EXPECT_EQ(trainer->parameters().size(), 8u);
  const Batch batch = digits();
  const float first = *trainer->step(batch.images, std::vector{batch.labels});
  float last = first;
  for (int i = 0; i < 15; ++i) last = *trainer->step(batch.images, std::vector{batch.labels});
  EXPECT_GT(first, 1);
  EXPECT_LT(last, first / 10);
  EXPECT_EQ(right(trainer->scores()), kBatch);
}

TEST(Trainer, GivesTheNetworkWithWhatItLearned) {
  const auto device = make_reference_device();
  const auto network = zoo::build("mlp", {.batch = kBatch});
  auto trainer = Trainer::create(*device, *network, {.optimizer = {.rate = 0.05f}});
  const Batch batch = digits();
  ASSERT_TRUE(trainer->step(batch.images, std::vector{batch.labels}).ok());
  const auto learned = trainer->network();
  ASSERT_TRUE(learned.ok()) << learned.status().message();
  EXPECT_EQ(parameters(*learned), parameters(*network));
  std::vector<Tensor> scores(1);
  ASSERT_TRUE((*device->compile(*learned))->run(std::vector{batch.images}, scores, nullptr).ok());
  ASSERT_TRUE(trainer->step(batch.images, std::vector{batch.labels}).ok());
  const std::span<const float> got = scores[0].data<float>();
  const std::span<const float> want = trainer->scores().data<float>();
  for (size_t k = 0; k < want.size(); ++k) EXPECT_NEAR(got[k], want[k], 1e-5f);
}

// x, normalised per channel and flattened, times weights: [batch, 1, 28, 28] to [batch, 10].
Graph normalised() {
  Graph graph;
  const auto vector = [&](const char* name, float x) {
    return graph.add_constant(name, Tensor::of<float>({1}, {x}));
  };
  const ValueId x = graph.add_input("x", {DType::kF32, {kBatch, 1, kSide, kSide}});
  const ValueId y = *graph.add(
      ops::batch_normalization,
      {x, vector("scale", 1), vector("bias", 0), vector("mean", 5), vector("variance", 3)});
  Tensor weights({DType::kF32, {kSide * kSide, 10}});
  std::ranges::fill(weights.data<float>(), 0.01f);
  const ValueId flat = *graph.add(ops::flatten, {y});
  graph.mark_output(*graph.add(ops::gemm, {flat, graph.add_constant("w", weights)}));
  return graph;
}

const Tensor& constant_of(const Graph& graph, std::string_view name) {
  size_t i = 0;
  while (graph[static_cast<ValueId>(i)].name != name) ++i;
  return *graph[static_cast<ValueId>(i)].constant;
}

TEST_P(TrainerOn, RunningStatisticsFollowTheBatch) {
  const auto device = this->device();
  auto trainer = Trainer::create(*device, normalised(), {.optimizer = {.rate = 0.001f}});
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  EXPECT_EQ(trainer->parameters(), (std::vector<std::string>{"scale", "bias", "w"}));
  const Batch batch = digits();
  double mean = 0, square = 0;
  for (float x : batch.images.data<float>()) {
    mean += x / static_cast<double>(batch.images.count());
    square += x * x / static_cast<double>(batch.images.count());
  }
  const float first = *trainer->step(batch.images, std::vector{batch.labels});
  const Graph learned = *trainer->network();
  EXPECT_NEAR(constant_of(learned, "mean").data<float>()[0], 0.9 * 5 + 0.1 * mean, 1e-5);
  EXPECT_NEAR(constant_of(learned, "variance").data<float>()[0],
              0.9 * 3 + 0.1 * (square - mean * mean), 1e-5);
  float last = first;
  for (int i = 0; i < 10; ++i) last = *trainer->step(batch.images, std::vector{batch.labels});
  EXPECT_LT(last, first);
}

TEST(Trainer, LeavesWhatIsFrozenAsItIs) {
  const auto device = make_reference_device();
  const Graph network = normalised();
  const auto frozen = [](std::string_view name) { return name == "scale" || name == "bias"; };
  auto trainer =
      Trainer::create(*device, network, {.optimizer = {.rate = 0.1f}, .step = {.frozen = frozen}});
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  const Batch batch = digits();
  ASSERT_TRUE(trainer->step(batch.images, std::vector{batch.labels}).ok());
  const Graph learned = *trainer->network();
  for (const char* name : {"scale", "bias", "mean", "variance"}) {
    EXPECT_TRUE(
        std::ranges::equal(constant_of(learned, name).bytes(), constant_of(network, name).bytes()))
        << name;
  }
  EXPECT_FALSE(
      std::ranges::equal(constant_of(learned, "w").bytes(), constant_of(network, "w").bytes()));
  const auto all = [](std::string_view) { return true; };
  EXPECT_FALSE(Trainer::create(*device, network, {.step = {.frozen = all}}).ok());
}

TEST(Trainer, AddsPenaltiesToWhatTheyApplyTo) {
  const auto device = make_reference_device();
  const Graph network = *zoo::build("mlp", {.batch = kBatch});
  const Regularizer decay{.penalty = Regularizer::Penalty::kSquare,
                          .strength = 0.5,
                          .applies = [](std::string_view name) { return name == "fc1.weight"; }};
  TrainerOptions options;
  options.optimizer.rate = 1;
  auto without = Trainer::create(*device, network, options);
  options.regularizers.push_back(decay);
  auto with = Trainer::create(*device, network, options);
  const Batch batch = digits();
  ASSERT_TRUE(with->step(batch.images, std::vector{batch.labels}).ok());
  ASSERT_TRUE(without->step(batch.images, std::vector{batch.labels}).ok());
  EXPECT_GT(with->penalty(), 0);
  for (size_t i = 0; i < with->parameters().size(); ++i) {
    const bool applies = with->parameters()[i] == "fc1.weight";
    const float before = constant_of(network, with->parameters()[i]).data<float>()[3];
    const float want = without->weights()[i].data<float>()[3] - (applies ? before : 0);
    EXPECT_NEAR(with->weights()[i].data<float>()[3], want, 1e-6f) << with->parameters()[i];
  }
}

TEST(Trainer, GoesOnFromItsStateAsIfNothingHadHappened) {
  const auto device = make_reference_device();
  const TrainerOptions options{
      .optimizer = {.rule = OptimizerOptions::Rule::kAdam, .rate = 0.001f}};
  auto one = Trainer::create(*device, normalised(), options);
  const Batch batch = digits();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(one->step(batch.images, std::vector{batch.labels}).ok());
  auto other = Trainer::create(*device, normalised(), options);
  ASSERT_TRUE(other->restore(one->state()).ok());
  EXPECT_EQ(*one->step(batch.images, std::vector{batch.labels}),
            *other->step(batch.images, std::vector{batch.labels}));
  const auto want = one->state(), got = other->state();
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, tensor] : want) {
    EXPECT_TRUE(std::ranges::equal(got.at(name).bytes(), tensor.bytes())) << name;
  }
  auto less = want;
  less.erase("mean");
  EXPECT_EQ(other->restore(less).code(), Code::kCorrupt);
}

TEST(Trainer, RefusesABatchOfAnotherSizeAndALossThatIsNoNumber) {
  const auto device = make_reference_device();
  auto trainer = Trainer::create(*device, *zoo::build("mlp", {.batch = kBatch}),
                                 {.optimizer = {.rate = 1e30f}});
  Batch batch = digits();
  EXPECT_FALSE(trainer->step(batch.images, std::vector{Tensor({DType::kI64, {kBatch + 1}})}).ok());
  ASSERT_TRUE(trainer->step(batch.images, std::vector{batch.labels}).ok());
  const std::vector<float> before(trainer->weights()[0].data<float>().begin(),
                                  trainer->weights()[0].data<float>().end());
  EXPECT_FALSE(trainer->step(batch.images, std::vector{batch.labels}).ok());
  EXPECT_TRUE(std::ranges::equal(trainer->weights()[0].data<float>(), before));
}

}  // namespace
}  // namespace shoal::train
