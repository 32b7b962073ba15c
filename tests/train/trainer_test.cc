#include "shoal/train/step/trainer/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "../devices/devices.h"
#include "shoal/base/math/random.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/zoo/embedded.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/train/step/graph/features.h"

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

class TrainerOn : public testing::TestWithParam<size_t> {
 protected:
  Device& device() const { return *all_devices()[GetParam()]; }
};
INSTANTIATE_TEST_SUITE_P(Devices, TrainerOn, testing::Range<size_t>(0, all_devices().size()));

TEST_P(TrainerOn, LeNetLearnsDigits) {
  const auto network = zoo::build("lenet5", {.batch = kBatch});
  auto trainer =
      Trainer::create(device(), *network, {.optimizer = {.rate = 0.05f, .momentum = 0.9f}});
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
  ASSERT_TRUE((*device->compile(*learned))->run(std::vector{batch.images}, scores, {}).ok());
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
  auto trainer = Trainer::create(device(), normalised(), {.optimizer = {.rate = 0.001f}});
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

TEST(Trainer, LearnsNoWeightsButF32) {
  const auto device = make_reference_device();
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF64, {kBatch, 5}});
  const ValueId w = graph.add_constant("w", Tensor({DType::kF64, {5, 10}}));
  graph.mark_output(*graph.add(ops::mat_mul, {x, w}));
  const Status refused = Trainer::create(*device, graph, {}).status();
  EXPECT_EQ(refused.code(), Code::kUnsupported);
  EXPECT_NE(refused.message().find("w is f64"), std::string::npos) << refused.message();
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

constexpr int64_t kWide = 200;

Tensor ones() {
  Tensor tensor({DType::kF32, {kBatch, kWide}});
  std::ranges::fill(tensor.data<float>(), 1.0f);
  return tensor;
}

// Ones, some of them dropped, times weights of one: the scores show what was dropped; twice:
// in which elements two masks differ.
Graph dropping(float ratio, bool twice = false) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {kBatch, kWide}});
  const ValueId share = graph.add_constant("ratio", Tensor::of<float>({}, {ratio}));
  ValueId kept = *graph.add(ops::dropout, {x, share});
  if (twice) kept = *graph.add(ops::sub, {kept, *graph.add(ops::dropout, {x, share})});
  Tensor weights({DType::kF32, {kWide}});
  std::ranges::fill(weights.data<float>(), 1.0f);
  graph.mark_output(*graph.add(ops::mul, {kept, graph.add_constant("w", weights)}));
  return graph;
}

Tensor scores_after_a_step(const Graph& network, uint64_t seed) {
  const auto device = make_reference_device();
  TrainerOptions options{.optimizer = {.rate = 1e-9f}};
  options.seed = seed;
  auto trainer = Trainer::create(*device, network, options);
  EXPECT_TRUE(trainer->step(ones(), std::vector{Tensor({DType::kI64, {kBatch}})}).ok());
  return trainer->scores().clone();
}

TEST(Trainer, DropsOtherThingsInEveryPlaceAndForEverySeed) {
  const Graph network = dropping(0.5f);
  const Tensor tensor = scores_after_a_step(network, 1), same = scores_after_a_step(network, 1);
  EXPECT_TRUE(std::ranges::equal(tensor.bytes(), same.bytes()));
  EXPECT_FALSE(std::ranges::equal(tensor.bytes(), scores_after_a_step(network, 2).bytes()));
  // Two masks that have nothing to do with each other agree in half of their elements.
  const Tensor difference = scores_after_a_step(dropping(0.5f, true), 1);
  const auto agreed = std::ranges::count(difference.data<float>(), 0.0f);
  EXPECT_NEAR(static_cast<double>(agreed) / static_cast<double>(difference.count()), 0.5, 0.05);
}

TEST_P(TrainerOn, DropsTheShareItIsAskedToAndScalesTheRest) {
  auto trainer = Trainer::create(device(), dropping(0.25f), {.optimizer = {.rate = 1e-9f}});
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  const Tensor labels({DType::kI64, {kBatch}});
  ASSERT_TRUE(trainer->step(ones(), std::vector{labels}).ok());
  const Tensor first = trainer->scores().clone();
  const auto dropped = std::ranges::count(first.data<float>(), 0.0f);
  EXPECT_NEAR(static_cast<double>(dropped) / static_cast<double>(first.count()), 0.25, 0.03);
  for (float y : first.data<float>()) EXPECT_TRUE(y == 0 || std::abs(y - 4.0f / 3) < 1e-5f) << y;
  ASSERT_TRUE(trainer->step(ones(), std::vector{labels}).ok());
  EXPECT_FALSE(std::ranges::equal(first.bytes(), trainer->scores().bytes()));
}

TEST(Trainer, DropsTheSameAfterAnInterruption) {
  const auto device = make_reference_device();
  const TrainerOptions options{.optimizer = {.rate = 0.01f}};
  auto one = Trainer::create(*device, dropping(0.5f), options);
  auto other = Trainer::create(*device, dropping(0.5f), options);
  const Tensor labels({DType::kI64, {kBatch}});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(one->step(ones(), std::vector{labels}).ok());
  ASSERT_TRUE(other->restore(one->state()).ok());
  EXPECT_EQ(*one->step(ones(), std::vector{labels}), *other->step(ones(), std::vector{labels}));
  EXPECT_TRUE(std::ranges::equal(one->scores().bytes(), other->scores().bytes()));
  auto less = one->state();
  less.erase("trainer.steps");
  EXPECT_EQ(other->restore(less).code(), Code::kCorrupt);
  less["trainer.steps"] = Tensor::of<int64_t>({}, {std::numeric_limits<int64_t>::max()});
  EXPECT_EQ(other->restore(less).code(), Code::kCorrupt);
}

// Adds random weights to a graph.
class Weights {
 public:
  explicit Weights(Graph& graph) : graph_(graph) {}
  ValueId operator()(const Shape& shape) {
    Tensor tensor({DType::kF32, shape});
    fill_normal(tensor.data<float>(), RandomStream(1, next_++), 0.1);
    return graph_.add_constant("w", tensor);
  }

 private:
  Graph& graph_;
  uint64_t next_ = 0;
};

// Many layers of the same size, with short cuts past every second of them: [4, 8, 16, 16] to
// [4, 10].
Graph deep() {
  Graph graph;
  Weights weight(graph);
  ValueId x = graph.add_input("x", {DType::kF32, {4, 8, 16, 16}}), before = x;
  for (int layer = 0; layer < 32; ++layer) {
    const ValueId y = *graph.add(ops::conv, {x, weight({8, 8, 3, 3})},
                                 {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    x = *graph.add(ops::relu, {layer % 2 == 1 ? *graph.add(ops::add, {y, before}) : y});
    if (layer % 2 == 1) before = x;
  }
  const ValueId flat = *graph.add(ops::flatten, {x});
  graph.mark_output(*graph.add(ops::gemm, {flat, weight({2048, 10})}));
  return graph;
}

// VGG-16 with a quarter of its channels: its first two layers have half of all activations.
Graph narrowing() {
  Graph graph;
  Weights weight(graph);
  ValueId x = graph.add_input("x", {DType::kF32, {16, 3, 32, 32}});
  int64_t channels = 3;
  for (const auto& [layers, wanted] : {std::pair{2, 16}, {2, 32}, {3, 64}, {3, 128}, {3, 128}}) {
    for (int i = 0; i < layers; ++i) {
      x = *graph.add(ops::conv, {x, weight({wanted, channels, 3, 3})},
                     {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
      x = *graph.add(ops::relu, {x});
      channels = wanted;
    }
    x = *graph.add(
        ops::max_pool, {x},
        {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
  }
  const ValueId flat = *graph.add(ops::flatten, {x});
  graph.mark_output(*graph.add(ops::gemm, {flat, weight({128, 10})}));
  return graph;
}

// The images and labels of no meaning that memory is measured on.
struct Noise {
  explicit Noise(const Graph& network)
      : images(network[network.inputs()[0]].type), labels({DType::kI64, {images.shape()[0]}}) {
    fill_normal(images.data<float>(), RandomStream(2, 0), 1);
    for (size_t i = 0; i < labels.data<int64_t>().size(); ++i) {
      labels.data<int64_t>()[i] = static_cast<int64_t>(i % 10);
    }
  }
  Tensor images, labels;
};

// All that a step has in memory but weights and their gradients.
int64_t activation_bytes(const Trainer& trainer) {
  int64_t others = 0;
  for (const Tensor& w : trainer.weights()) others += 2 * static_cast<int64_t>(w.bytes().size());
  return trainer.memory().planned - others;
}

void learns_the_same_in_half_the_memory(const Graph& network) {
  const auto device = make_cpu_device({.threads = 1});
  TrainerOptions options{.optimizer = {.rate = 0.001f, .momentum = 0.9f}};
  auto natural = Trainer::create(*device, network, options);
  ASSERT_TRUE(natural.ok()) << natural.status().message();
  options.memory_bytes = natural->memory().planned - activation_bytes(*natural) / 2;
  auto limited = Trainer::create(*device, network, options);
  ASSERT_TRUE(limited.ok()) << limited.status().message();
  EXPECT_LE(limited->memory().planned, options.memory_bytes);
  const Noise noise(network);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(*limited->step(noise.images, std::vector{noise.labels}),
              *natural->step(noise.images, std::vector{noise.labels}));
  }
  for (size_t i = 0; i < natural->weights().size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(limited->weights()[i].bytes(), natural->weights()[i].bytes()))
        << natural->parameters()[i];
  }
}

TEST(Trainer, LearnsTheSameInHalfTheMemoryOfItsActivations) {
  learns_the_same_in_half_the_memory(deep());
}

TEST(Trainer, LearnsTheSameInHalfTheMemoryWhereTheFirstLayersHaveMostOfIt) {
  learns_the_same_in_half_the_memory(narrowing());
}

double distance(const Tensor& got, const Tensor& want) {
  double sum = 0, length = 0;
  for (size_t i = 0; i < want.data<float>().size(); ++i) {
    const double w = double{want.data<float>()[i]}, off = double{got.data<float>()[i]} - w;
    sum += off * off;
    length += w * w;
  }
  return std::sqrt(sum / length);
}

// Gradients may be off by `tolerance` of their lengths.
void keeps_activations_as_bfloat16(const Graph& network, double tolerance) {
  const auto device = make_cpu_device({.threads = 1});
  auto natural = Trainer::create(*device, network, {});
  auto narrow = Trainer::create(*device, network, {.bf16 = true});
  ASSERT_TRUE(narrow.ok()) << narrow.status().message();
  EXPECT_LT(activation_bytes(*narrow), 0.7 * static_cast<double>(activation_bytes(*natural)));
  const Noise noise(network);
  // The way forward is the same: only what waits is rounded.
  EXPECT_EQ(*narrow->compute(noise.images, std::vector{noise.labels}),
            *natural->compute(noise.images, std::vector{noise.labels}));
  for (size_t i = 0; i < natural->gradients().size(); ++i) {
    EXPECT_LT(distance(narrow->gradients()[i], natural->gradients()[i]), tolerance);
  }
}

TEST(Trainer, KeepsActivationsAsBFloat16) { keeps_activations_as_bfloat16(deep(), 0.02); }

// Of elements that are nearly alike rounding makes the same, and a pool's gradient goes to the
// first of them.
TEST(Trainer, KeepsActivationsOfPoolsAsBFloat16) {
  keeps_activations_as_bfloat16(narrowing(), 0.1);
}

TEST(Trainer, RepeatsFromWhatItKeepsAsBFloat16) {
  const auto device = make_cpu_device({.threads = 1});
  const Graph network = deep();
  auto natural = Trainer::create(*device, network, {});
  const int64_t limit = natural->memory().planned - activation_bytes(*natural) * 3 / 4;
  auto limited = Trainer::create(*device, network, {.bf16 = true, .memory_bytes = limit});
  ASSERT_TRUE(limited.ok()) << limited.status().message();
  EXPECT_LE(limited->memory().planned, limit);
  const Noise noise(network);
  EXPECT_EQ(*limited->compute(noise.images, std::vector{noise.labels}),
            *natural->compute(noise.images, std::vector{noise.labels}));
  for (size_t i = 0; i < natural->gradients().size(); ++i) {
    EXPECT_LT(distance(limited->gradients()[i], natural->gradients()[i]), 0.1);
  }
}

TEST(Trainer, LeNetLearnsDigitsFromActivationsInBFloat16) {
  const auto device = make_cpu_device();
  const auto network = zoo::build("lenet5", {.batch = kBatch});
  auto trainer = Trainer::create(*device, *network,
                                 {.optimizer = {.rate = 0.05f, .momentum = 0.9f}, .bf16 = true});
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  const Batch batch = digits();
  for (int i = 0; i < 15; ++i) {
    ASSERT_TRUE(trainer->step(batch.images, std::vector{batch.labels}).ok());
  }
  EXPECT_EQ(right(trainer->scores()), kBatch);
}

TEST(FrozenBody, AndHeadAreTheNetwork) {
  const auto device = make_reference_device();
  const Graph network = *zoo::build("lenet5", {.batch = kBatch});
  const auto run = [&](const Graph& graph, const Tensor& x) {
    std::vector<Tensor> outputs(1);
    EXPECT_TRUE((*device->compile(graph))->run(std::vector{x}, outputs, {}).ok());
    return outputs[0];
  };
  const auto parted = part_frozen_body(
      network, {.frozen = [](std::string_view name) { return name.starts_with("conv"); }});
  ASSERT_TRUE(parted.ok() && parted->has_value());
  EXPECT_EQ(learned_values((*parted)->head).size(), 4u);
  const Batch batch = digits();
  const Tensor features = run((*parted)->body, batch.images);
  EXPECT_EQ(features.shape()[1], 800);
  EXPECT_TRUE(std::ranges::equal(run((*parted)->head, features).bytes(),
                                 run(network, batch.images).bytes()));
}

TEST(FrozenBody, IsNotThereWhereEverythingLearns) {
  const auto parted = part_frozen_body(*zoo::build("lenet5"), {});
  ASSERT_TRUE(parted.ok());
  EXPECT_FALSE(parted->has_value());
  // A norm measures though nothing before it learns.
  const auto last = [](std::string_view name) { return name == "w"; };
  EXPECT_FALSE((*part_frozen_body(normalised(), {.frozen = last})).has_value());
}

TEST(Trainer, SaysHowMuchMemoryItCouldDoWith) {
  const auto device = make_cpu_device({.threads = 1});
  const Graph network = deep();
  TrainerOptions options;
  options.memory_bytes = 1000;
  const Status refused = Trainer::create(*device, network, options).status();
  EXPECT_EQ(refused.code(), Code::kExhausted);
  const std::string message(refused.message());
  const size_t at = message.find("at least ");
  ASSERT_NE(at, message.npos) << message;
  options.memory_bytes = static_cast<int64_t>((std::stod(message.substr(at + 9)) + 0.1) * 1e6);
  EXPECT_TRUE(Trainer::create(*device, network, options).ok()) << message;
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
