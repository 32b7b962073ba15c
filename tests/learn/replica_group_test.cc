// Data-parallel training of whole networks on the CPU: the same bits on any number of workers.
#include "replica_group.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "shoal/base/math/random.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/whole_time.h"
#include "shoal/train/step/graph/step_graph.h"

namespace shoal::learn {
namespace {

constexpr int64_t kBatch = 32;
constexpr int kLevels = 3;

struct Batch {
  Tensor images, labels;
};

// Noise with a bright row of blocks that tells the class.
Batch make_batch(const Shape& image, uint64_t seed) {
  Shape shape{kBatch};
  for (int64_t d : image) shape.push_back(d);
  Batch batch{Tensor({DType::kF32, shape}), Tensor({DType::kI64, {kBatch}})};
  fill_uniform(batch.images.data<float>(), RandomStream(seed, 0), 0, 0.5f);
  const auto size = static_cast<size_t>(image.count());
  for (size_t i = 0; i < kBatch; ++i) {
    const uint64_t label = RandomStream(seed, 1).below(10, i);
    batch.labels.data<int64_t>()[i] = static_cast<int64_t>(label);
    for (size_t k = 0; k < size / 10; ++k) {
      batch.images.data<float>()[i * size + label * (size / 10) + k] += 0.5f;
    }
  }
  return batch;
}

class Groups : public ::testing::Test {
 protected:
  ReplicaGroup make(const Graph& network, std::vector<int64_t> shares, CodecOptions codec = {},
                    int levels = kLevels) {
    auto group = ReplicaGroup::create(
        *device_, network, options_,
        {.exchange = {.codec = codec, .levels = levels}, .shares = std::move(shares)});
    SHOAL_CHECK(group.ok());
    return *std::move(group);
  }
  std::vector<uint64_t> hashes(ReplicaGroup group, const Shape& image, int steps) {
    std::vector<uint64_t> hashes;
    for (int i = 0; i < steps; ++i) {
      const Batch batch = make_batch(image, static_cast<uint64_t>(i));
      const auto step = group.step(batch.images, std::vector{batch.labels});
      SHOAL_CHECK(step.ok());
      hashes.push_back(step->hash);
    }
    return hashes;
  }

  // Kernels are chosen by estimate: measuring could choose another for another replica.
  std::unique_ptr<Device> device_ = make_cpu_device({.threads = 1});
  train::TrainerOptions options_{
      .optimizer = {.rate = 0.05f, .momentum = 0.9f, .weight_decay = 1e-4f}};
};

Graph lenet(int64_t batch) { return *zoo::build("lenet5", {.batch = batch}); }
const Shape kDigit{1, 28, 28};

TEST_F(Groups, LearnLeNetToTheSameBitsOnAnyNumberOfWorkers) {
  const Graph network = lenet(kBatch >> kLevels);
  const std::vector<uint64_t> alone = hashes(make(network, {8}), kDigit, 5);
  EXPECT_EQ(hashes(make(network, {4, 4}), kDigit, 5), alone);
  EXPECT_EQ(hashes(make(network, {2, 2, 2, 2}), kDigit, 5), alone);
  EXPECT_EQ(hashes(make(network, std::vector<int64_t>(8, 1)), kDigit, 5), alone);
  // Shares that are no subtrees, too: 80, 32 and 16 of 128.
  EXPECT_EQ(hashes(make(network, {5, 2, 1}), kDigit, 5), alone);
  EXPECT_EQ(hashes(make(network, {3, 0, 5}), kDigit, 5), alone);
}

// A convolution, a norm and Dropout.
Graph normed() {
  constexpr int64_t kMicro = kBatch >> kLevels;
  Graph graph;
  const auto must = [](Result<ValueId> id) {
    SHOAL_CHECK(id.ok());
    return *id;
  };
  const auto constant = [&](const std::string& name, const Shape& shape, float mean) {
    Tensor tensor({DType::kF32, shape});
    fill_normal(tensor.data<float>(), RandomStream(5, shape.rank()), 0.2);
    for (float& x : tensor.data<float>()) x += mean;
    return graph.add_constant(name, tensor);
  };
  ValueId x = graph.add_input("x", {DType::kF32, {kMicro, 1, 10, 10}});
  x = must(graph.add(ops::conv, {x, constant("conv", {8, 1, 3, 3}, 0)}, {}));
  Tensor zeros({DType::kF32, {8}}), ones({DType::kF32, {8}});
  std::ranges::fill(ones.data<float>(), 1.0f);
  x = must(graph.add(ops::batch_normalization,
                     {x, graph.add_constant("scale", ones), graph.add_constant("shift", zeros),
                      graph.add_constant("mean", zeros), graph.add_constant("variance", ones)},
                     {{"momentum", 0.8f}}));
  x = must(graph.add(ops::relu, {x}, {}));
  x = must(graph.add(ops::dropout, {x, graph.add_constant("ratio", Tensor::of<float>({}, {0.25f}))},
                     {}));
  x = must(graph.add(ops::flatten, {x}, {{"axis", int64_t{1}}}));
  x = must(graph.add(ops::gemm, {x, constant("fc", {10, 512}, 0)}, {{"transB", int64_t{1}}}));
  graph.mark_output(x);
  return graph;
}
const Shape kSmall{1, 10, 10};

// Measured statistics of norms, and what Dropout drops, are part of the bits.
TEST_F(Groups, LearnNormsAndDropoutToTheSameBits) {
  const std::vector<uint64_t> alone = hashes(make(normed(), {8}), kSmall, 6);
  EXPECT_EQ(hashes(make(normed(), {4, 4}), kSmall, 6), alone);
  EXPECT_EQ(hashes(make(normed(), {1, 4, 3}), kSmall, 6), alone);
  ReplicaGroup group = make(normed(), {4, 4});
  const Batch batch = make_batch(kSmall, 1);
  ASSERT_TRUE(group.step(batch.images, std::vector{batch.labels}).ok());
  for (const Tensor& statistic : group.replica(1).trainer().statistics()) {
    for (float m : statistic.data<float>()) EXPECT_TRUE(m != 0 && m != 1);  // was measured
  }
}

// Statistics that are not sent in every step: they stay, and are then the mean of those of the
// steps that are averaged, whatever they were before. Weights do not depend on it. Oracle: 1 - m of
// the statistics of a batch are what follows zeros.
TEST_F(Groups, AverageTheStatisticsOfSomeSteps) {
  const ExchangeOptions exchange{.codec = {.kind = CodecKind::kOneBit}, .levels = 0};
  const auto make_replica = [&] {
    auto replica = Replica::create(*device_, normed(), options_, exchange);
    SHOAL_CHECK(replica.ok());
    return *std::move(replica);
  };
  Replica sparse = make_replica(), oracle = make_replica();
  auto merger = Merger::create(exchange, step_types_of(sparse.trainer()));
  ASSERT_TRUE(merger.ok());
  constexpr int64_t kFirst = 2, kSteps = 6;
  std::vector<std::vector<double>> mean(2, std::vector<double>(8));
  size_t gradient_bytes = 0;
  for (int64_t step = 0; step < kSteps; ++step) {
    const Batch whole = make_batch(kSmall, static_cast<uint64_t>(step));
    Region region = Region::whole(whole.images.shape());
    region.end[0] = kBatch >> kLevels;
    const Tensor images = crop(whole.images, region);
    const std::vector<Tensor> labels{
        crop(whole.labels, {.begin = {0}, .end = {kBatch >> kLevels}})};
    const StatisticsUse use =
        step < kFirst ? StatisticsUse::skips() : StatisticsUse::averages(step - kFirst);
    sparse.begin_step(use);
    merger->begin_step(use.is_sent());
    ASSERT_TRUE(sparse.compute(0, images, labels).ok());
    const Contribution sent = *sparse.push();
    if (step == 0) gradient_bytes = sent.message.size();
    EXPECT_EQ(sent.message.size() - gradient_bytes, use.is_sent() ? 2 * 8 * 4u : 0u);
    ASSERT_TRUE(merger->add(sent).ok());
    const auto merged = merger->finish();
    ASSERT_TRUE(sparse.pull(merged->message, 1, {}, use).ok());
    if (step == 0) {
      EXPECT_EQ(sparse.trainer().learned().at("variance").data<float>()[3], 1) << "as it was";
    }
    for (Tensor statistic : oracle.trainer().statistics()) {
      std::ranges::fill(statistic.data<float>(), 0.0f);
    }
    ASSERT_TRUE(oracle.compute(0, images, labels).ok());
    for (size_t i = 0; i < 2 && step >= kFirst; ++i) {
      for (size_t k = 0; k < 8; ++k) {
        mean[i][k] += double{oracle.trainer().measured()[i].data<float>()[k]} / 0.2 / 4;
      }
    }
    oracle.abandon();
    ASSERT_TRUE(oracle.restore(sparse.state()).ok());
  }
  for (size_t i = 0; i < 2; ++i) {
    for (size_t k = 0; k < 8; ++k) {
      EXPECT_NEAR(sparse.trainer().statistics()[i].data<float>()[k], mean[i][k],
                  1e-4 * (1 + std::abs(mean[i][k])));
    }
  }
}

TEST_F(Groups, LearnResNetToTheSameBits) {
  const Graph network = *zoo::build("resnet20", {.batch = kBatch >> kLevels, .width = 0.5});
  const Shape image{3, 32, 32};
  const std::vector<uint64_t> alone = hashes(make(network, {8}), image, 2);
  EXPECT_EQ(hashes(make(network, {2, 2, 2, 2}), image, 2), alone);
  EXPECT_EQ(hashes(make(network, {5, 2, 1}), image, 2), alone);
}

// The mean over micro-batches is the gradient of the whole batch, but for rounding.
TEST_F(Groups, LearnWhatOneBatchWouldTeach) {
  auto whole = train::Trainer::create(*device_, lenet(kBatch), options_);
  ASSERT_TRUE(whole.ok());
  ReplicaGroup group = make(lenet(kBatch >> kLevels), {5, 2, 1});
  for (uint64_t i = 0; i < 5; ++i) {
    const Batch batch = make_batch(kDigit, i);
    const auto loss = whole->step(batch.images, std::vector{batch.labels});
    const auto step = group.step(batch.images, std::vector{batch.labels});
    ASSERT_TRUE(loss.ok() && step.ok());
    EXPECT_NEAR(double{*loss}, step->loss, 1e-5);
  }
  for (size_t i = 0; i < whole->weights().size(); ++i) {
    const auto a = whole->weights()[i].data<float>();
    const auto b = group.replica(0).trainer().weights()[i].data<float>();
    double difference = 0, norm = 0;
    for (size_t k = 0; k < a.size(); ++k) {
      difference += std::pow(double{a[k]} - double{b[k]}, 2);
      norm += std::pow(double{a[k]}, 2);
    }
    EXPECT_LE(std::sqrt(difference), 1e-5 * std::sqrt(norm)) << i;
  }
}

// With every codec, replicas stay equal (step() compares their hashes) and learn.
TEST_F(Groups, LearnWithEveryCodec) {
  const Graph network = lenet(kBatch >> 2);
  for (const CodecKind kind : all_codecs()) {
    options_.optimizer.momentum = kind == CodecKind::kTopK ? 0 : 0.9f;  // topk has its own
    ReplicaGroup group = make(network, {1, 2, 1}, {.kind = kind, .density = 0.05}, 2);
    double first = 0, last = 0;
    for (uint64_t i = 0; i < 10; ++i) {
      const Batch batch = make_batch(kDigit, i % 3);
      const auto step = group.step(batch.images, std::vector{batch.labels});
      ASSERT_TRUE(step.ok()) << name_of(kind) << ": " << step.status().message();
      (i == 0 ? first : last) = step->loss;
      if (kind == CodecKind::kOneBit) {
        EXPECT_EQ(step->sent_bytes, 58'560u);
        EXPECT_EQ(step->received_bytes, 58'560u);
      }
    }
    EXPECT_LT(last, 0.8 * first) << name_of(kind);
  }
}

TEST_F(Groups, NameTheReplicaThatDiffersAndResynchroniseIt) {
  ReplicaGroup group = make(lenet(kBatch >> kLevels), {4, 4});
  const Batch batch = make_batch(kDigit, 1);
  ASSERT_TRUE(group.step(batch.images, std::vector{batch.labels}).ok());
  auto state = group.replica(0).trainer().state();
  auto damaged = group.replica(1).trainer().learned();
  for (auto& [name, tensor] : damaged) tensor = tensor.clone();
  damaged.begin()->second.data<float>()[0] += 1;
  ASSERT_TRUE(group.replica(1).trainer().restore_learned(damaged).ok());
  const auto step = group.step(batch.images, std::vector{batch.labels});
  ASSERT_FALSE(step.ok());
  EXPECT_NE(step.status().message().find("replica 1"), std::string::npos);
  state = group.replica(0).trainer().state();
  ASSERT_TRUE(group.replica(1).trainer().restore(state).ok());
  EXPECT_TRUE(group.step(batch.images, std::vector{batch.labels}).ok());
}

// Training that goes on from saved states of trainer, worker's codec and hub's codec.
TEST_F(Groups, ResumeWithACodecBitByBit) {
  const Graph network = lenet(kBatch >> 2);
  const CodecOptions codec{.kind = CodecKind::kOneBit};
  ReplicaGroup group = make(network, {2, 2}, codec, 2);
  const auto train = [](ReplicaGroup& trained, uint64_t from, uint64_t to) {
    uint64_t hash = 0;
    for (uint64_t i = from; i < to; ++i) {
      const Batch batch = make_batch(kDigit, i);
      const auto step = trained.step(batch.images, std::vector{batch.labels});
      SHOAL_CHECK(step.ok());
      hash = step->hash;
    }
    return hash;
  };
  train(group, 0, 4);
  ReplicaGroup resumed = make(network, {2, 2}, codec, 2);
  for (size_t worker = 0; worker < 2; ++worker) {
    Replica& from = group.replica(worker);
    Replica& to = resumed.replica(worker);
    ASSERT_TRUE(to.trainer().restore(from.trainer().state()).ok());
    ASSERT_TRUE(to.codec().gradients().restore(from.codec().gradients().state()).ok());
  }
  const auto hub = group.merger().codec().gradients().state();
  ASSERT_TRUE(resumed.merger().codec().gradients().restore(hub).ok());
  EXPECT_EQ(train(resumed, 4, 8), train(group, 4, 8));
}

TEST_F(Groups, RefuseSharesThatAreNotTheStep) {
  for (const std::vector<int64_t>& shares : {std::vector<int64_t>{4, 3}, {9, -1}, {}}) {
    const auto group = ReplicaGroup::create(*device_, lenet(4), options_, {.shares = shares});
    EXPECT_EQ(group.status().code(), Code::kInvalidArgument);
  }
}

// The preset takes as long for a step alone as was published [Mao 2017b], whole or in
// micro-batches.
TEST(PublishedTimes, AreThoseOfThePreset) {
  const plan::WorkerProfile phone = plan::find_device("nexus5x-mxnet")->profile();
  const std::map<std::string, double> published = {
      {"lenet5", 11.031}, {"convnet", 14.780}, {"mlp", 0.183}};
  for (const auto& [name, seconds] : published) {
    for (const int64_t batch : {128, 16}) {
      const auto step = train::make_step_graph(*zoo::build(name, {.batch = batch}));
      const double takes = plan::seconds_of_whole(step->graph, phone);
      EXPECT_NEAR(takes * 128 / static_cast<double>(batch), seconds, 0.01 * seconds) << name;
    }
  }
}

}  // namespace
}  // namespace shoal::learn
