// Whole training runs in virtual time (chaos/training), with a network that has convolutions, on
// the processor's kernels.
#include <gtest/gtest.h>

#include "shoal/base/math/random.h"
#include "shoal/cluster/chaos/training/simulated_training.h"
#include "shoal/cluster/chaos/training/training_history.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/train/distributed/run/small_task.h"

namespace shoal::learn {
namespace {

using chaos::SimulatedTraining;
using chaos::SimulatedTrainingOptions;

constexpr int64_t kMicro = 2;  // samples

// Digits of noise with a bright band that tells the class.
Result<MicroBatch> make_micro_batch(int64_t step, int64_t number) {
  const RandomStream random =
      RandomStream(static_cast<uint64_t>(step % 4), static_cast<uint64_t>(number));
  MicroBatch batch{Tensor({DType::kF32, {kMicro, 1, 28, 28}}), {Tensor({DType::kI64, {kMicro}})}};
  fill_uniform(batch.inputs.data<float>(), random, 0, 0.5f);
  for (size_t i = 0; i < kMicro; ++i) {
    const uint64_t label = random.child(1).below(10, i);
    batch.targets[0].data<int64_t>()[i] = static_cast<int64_t>(label);
    for (size_t k = 0; k < 78; ++k) batch.inputs.data<float>()[i * 784 + label * 78 + k] += 0.5f;
  }
  return batch;
}

class Sessions : public ::testing::Test {
 protected:
  static SimulatedTrainingOptions with(int workers, CodecKind codec = CodecKind::kF32) {
    return {.exchange = {.codec = {.kind = codec}, .levels = 3},
            .hub = {.steps = 6},
            .workers = workers};
  }
  uint64_t trained(const SimulatedTrainingOptions& options) {
    SimulatedTraining training(*device_, task_, options);
    const Status status = training.run();
    EXPECT_TRUE(status.ok()) << status.message() << ", seed " << options.seed;
    kills_ += training.figures().kills;
    hub_kills_ += training.figures().hub_kills;
    return training.hash();
  }

  const std::unique_ptr<Device> device_ = make_cpu_device({.threads = 1});
  const chaos::TrainingTask task_{*zoo::build("lenet5", {.batch = kMicro, .width = 0.2}),
                                  {.optimizer = {.rate = 0.05f, .momentum = 0.9f}},
                                  make_micro_batch};
  int kills_ = 0, hub_kills_ = 0;
};

// B10, B11: 10,000 of them by hand (docs/measurements).
TEST(TrainingHistories, KeepTheirPromisesInHundreds) {
  const auto device = make_reference_device();
  chaos::TrainingHistories histories(*device);
  const chaos::TrainingCampaign campaign = histories.live_through(1, 300);
  EXPECT_EQ(campaign.violations, 0u)
      << "seed " << campaign.first_bad_seed << ": " << campaign.first_violation;
  EXPECT_GT(campaign.compared, 100u);
  EXPECT_GT(campaign.kills, 100);
  EXPECT_GT(campaign.hub_kills, 100);
  EXPECT_GT(campaign.damages, 40);
}

// B10: with an exact codec, the result depends neither on the number of workers nor on which of
// them was killed when.
TEST_F(Sessions, LearnTheSameBitsWhoeverIsKilled) {
  const uint64_t alone = trained(with(1));
  EXPECT_EQ(trained(with(3)), alone);
  SimulatedTrainingOptions options = with(3);
  options.faults = {.kills = 4};
  for (options.seed = 1; options.seed <= 10; ++options.seed) {
    EXPECT_EQ(trained(options), alone) << "seed " << options.seed;
  }
  EXPECT_GT(kills_, 10);
  options.hub.steps = 5;
  EXPECT_NE(trained(options), alone);
}

// B11: and neither on the hub's process, whatever the codec: its errors are in the checkpoint.
TEST_F(Sessions, LearnTheSameBitsWhenTheHubIsKilled) {
  for (const CodecKind kind : {CodecKind::kF32, CodecKind::kOneBit, CodecKind::kTopK}) {
    SimulatedTrainingOptions options = with(3, kind);
    options.hub.fixed_shares = true;
    const uint64_t calm = trained(options);
    options.faults = {.hub_kills = 3};
    for (options.seed = 1; options.seed <= 4; ++options.seed) {
      EXPECT_EQ(trained(options), calm) << name_of(kind) << ", seed " << options.seed;
    }
  }
  EXPECT_GT(hub_kills_, 10);
}

// B11: and if a lost worker sends the run back to its checkpoint, neither on that, with any codec
// and local steps. A checkpoint without a part of a worker that was lost meanwhile does not count.
TEST_F(Sessions, LearnTheSameBitsWhenTheyRepeatSteps) {
  const SmallTask small;
  const chaos::TrainingTask task{small.network(), task_.trainer, small.source()};
  for (const int64_t local_steps : {1, 3}) {
    SimulatedTrainingOptions options = with(3, CodecKind::kOneBit);
    options.exchange.local_steps = local_steps;
    options.exchange.outer = {.rate = 0.7f, .momentum = 0.5f};
    options.hub.fixed_shares = true;
    options.hub.steps = 8;
    options.repeats = true;
    const auto hash = [&] {
      SimulatedTraining training(*device_, task, options);
      const Status status = training.run();
      EXPECT_TRUE(status.ok()) << status.message();
      kills_ += training.figures().kills;
      return training.hash();
    };
    const uint64_t calm = hash();
    options.faults = {.kills = 3, .hub_kills = 1};
    for (options.seed = 1; options.seed <= 15; ++options.seed) {
      EXPECT_EQ(hash(), calm) << local_steps << ", seed " << options.seed;
    }
  }
  EXPECT_GT(kills_, 50);
}

// Statistics of norms are sent in the steps before a checkpoint and before the end only. They have
// the same bits on every worker, and weights are those of a run that sends them in every step.
TEST_F(Sessions, MeasureTheSameStatistics) {
  const SmallTask small{.has_norm = true};
  const chaos::TrainingTask task{small.network(), {.optimizer = {.rate = 0.01f}}, small.source()};
  SimulatedTrainingOptions options = with(1);
  options.hub.steps = 200;
  options.save_every = 150;
  const auto learned = [&] {
    SimulatedTraining training(*device_, task, options);
    const Status status = training.run();
    EXPECT_TRUE(status.ok()) << status.message();
    hub_kills_ += training.figures().hub_kills;
    return std::pair(training.hash(), training.learned());
  };
  const auto [alone, state] = learned();
  options.workers = 3;
  EXPECT_EQ(learned().first, alone);
  options.faults.hub_kills = 4;
  EXPECT_EQ(learned().first, alone);
  EXPECT_GT(hub_kills_, 0);
  options.save_every = 1;
  const auto [other, followed] = learned();
  EXPECT_NE(other, alone);
  for (const auto& [name, tensor] : state) {
    const auto elements = tensor.data<float>(), of_other = followed.at(name).data<float>();
    const bool is_statistic = name == "mean" || name == "variance";
    EXPECT_EQ(std::ranges::equal(elements, of_other), !is_statistic) << name;
    for (size_t i = 0; i < elements.size() && is_statistic; ++i) {
      EXPECT_NEAR(elements[i], of_other[i], 0.2) << name;
    }
  }
}

// A worker that is sent the state while it computes begins anew.
TEST_F(Sessions, DropWhatCameFromOtherWeights) {
  const Graph network = *zoo::build("lenet5", {.batch = kMicro, .width = 0.2});
  const auto make = [&] {
    auto replica = Replica::create(*device_, network, {}, {});
    SHOAL_CHECK(replica.ok());
    return WorkerSession(*std::move(replica), make_micro_batch);
  };
  WorkerSession disturbed = make(), calm = make();
  const StateMessage state{0, calm.replica().trainer().state()};
  ASSERT_TRUE(disturbed.handle(state).ok());
  ASSERT_TRUE(disturbed.handle(AssignMessage{0, 0, 4}).ok());
  ASSERT_TRUE(disturbed.work().ok());
  for (WorkerSession* session : {&disturbed, &calm}) {
    ASSERT_TRUE(session->handle(state).ok());
    ASSERT_TRUE(session->handle(AssignMessage{0, 2, 4}).ok());
    while (session->has_work()) ASSERT_TRUE(session->work().ok());
  }
  EXPECT_EQ(encode(disturbed.take_messages().back()), encode(calm.take_messages().back()));
  EXPECT_EQ(calm.handle(AssignMessage{1, 0, 1}).code(), Code::kCorrupt);  // another step
  EXPECT_EQ(calm.handle(AssignMessage{0, 0, 9}).code(), Code::kCorrupt);  // no such micro-batch
  EXPECT_EQ(calm.handle(LateMessage{5}).code(), Code::kCorrupt);
}

// Local steps of one worker, whose sum is taken as it is, are steps of a trainer.
TEST_F(Sessions, StepLocallyAsATrainerDoes) {
  SimulatedTrainingOptions options = with(1);
  options.exchange.levels = 0;
  options.exchange.local_steps = 3;
  options.exchange.outer = {.rate = 1};
  options.hub.steps = 1;
  SimulatedTraining training(*device_, task_, options);
  const Status status = training.run();
  ASSERT_TRUE(status.ok()) << status.message();
  auto trainer = train::Trainer::create(*device_, task_.network, task_.trainer);
  ASSERT_TRUE(trainer.ok());
  for (int64_t step = 0; step < 3; ++step) {
    const auto batch = make_micro_batch(step, 0);
    ASSERT_TRUE(trainer->step(batch->inputs, batch->targets).ok());
  }
  for (const auto& [name, tensor] : training.learned()) {
    const Tensor wanted = trainer->learned().at(name);
    for (size_t i = 0; i < tensor.data<float>().size(); ++i) {
      ASSERT_NEAR(tensor.data<float>()[i], wanted.data<float>()[i], 1e-6) << name;
    }
  }
}

// They learn the same even if the hub is killed: the outer rule's memory is in the checkpoint.
TEST_F(Sessions, LearnInLocalSteps) {
  for (const CodecKind kind : {CodecKind::kF32, CodecKind::kOneBit}) {
    SimulatedTrainingOptions options = with(3, kind);
    options.exchange.local_steps = 4;
    options.exchange.outer = {.rate = 0.7f, .momentum = 0.5f};
    options.hub.fixed_shares = true;
    options.hub.steps = 10;
    SimulatedTraining training(*device_, task_, options);
    const Status status = training.run();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_LT(training.losses().back(), 0.5 * training.losses().front()) << name_of(kind);
    options.faults = {.hub_kills = 3};
    EXPECT_EQ(trained(options), training.hash()) << name_of(kind);
    options.hub.slack = 1.05;
    options.computing.assign(3, std::chrono::milliseconds(100));
    options.straggler = 10;
    options.hub.fixed_shares = false;
    trained(options);
  }
}

// The mean time of a step, without the first ones, in which speeds are not known yet.
double mean_step(const SimulatedTraining& training) {
  constexpr size_t kFirst = 8;
  const std::vector<chaos::Time>& merges = training.merges();
  const std::chrono::duration<double> all = merges.back() - merges[kFirst];
  return all.count() / static_cast<double>(merges.size() - 1 - kFirst);
}

// B12: where a step need not be complete, one worker that is ten times slower, another in each
// step, costs little; what it computes comes later.
TEST_F(Sessions, DoNotWaitForStragglers) {
  SimulatedTrainingOptions options = with(8, CodecKind::kOneBit);
  options.exchange.levels = 5;
  options.hub.steps = 40;
  options.computing.assign(8, std::chrono::milliseconds(100));
  const auto step_of = [&](double straggler, double slack) {
    options.straggler = straggler;
    options.hub.slack = slack;
    SimulatedTraining training(*device_, task_, options);
    EXPECT_TRUE(training.run().ok());
    return mean_step(training);
  };
  const double calm = step_of(1, 1.05);
  EXPECT_LE(step_of(10, 1.05), 1.15 * calm);
  EXPECT_GT(step_of(10, 0), 4 * calm) << "a step that waits for all";
}

// B9: workers whose speeds are 1 : 2 : 4 : 8 learn as fast as all of them together could.
TEST_F(Sessions, ShareStepsBySpeed) {
  SimulatedTrainingOptions options = with(4);
  options.exchange.levels = 6;
  options.hub.steps = 12;
  double speeds = 0;
  for (const int speed : {1, 2, 4, 8}) {
    options.computing.push_back(std::chrono::milliseconds(800 / speed));
    speeds += speed / 0.8;
  }
  SimulatedTraining training(*device_, task_, options);
  const Status status = training.run();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_GE(64 / mean_step(training), 0.95 * speeds);
}

// B12: codecs and stragglers change what is learned, but all replicas stay equal and learn.
TEST_F(Sessions, LearnWithACodecAndWithoutStragglers) {
  for (const CodecKind kind : {CodecKind::kF32, CodecKind::kOneBit, CodecKind::kQsgd}) {
    SimulatedTrainingOptions options = with(4, kind);
    options.exchange.levels = 4;
    options.hub.steps = 40;
    options.hub.slack = 1.05;
    options.faults = {.kills = 3};
    SimulatedTraining training(*device_, task_, options);
    const Status status = training.run();
    ASSERT_TRUE(status.ok()) << status.message();
    const std::vector<double>& losses = training.losses();
    EXPECT_LT(losses.back(), 0.5 * losses.front()) << name_of(kind);
  }
}

}  // namespace
}  // namespace shoal::learn
