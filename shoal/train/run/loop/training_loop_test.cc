#include "shoal/train/run/loop/training_loop.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/train/run/loop/checkpoint.h"
#include "shoal/train/run/setup/tiny_network_testing.h"

namespace shoal::fit {
namespace {

using testing::make_network;
using testing::Rows;
using Weights = std::map<std::string, Tensor>;

constexpr size_t kBatch = 10, kExamples = 60, kSteps = kExamples / kBatch;

class Training : public ::testing::Test {
 protected:
  TrainingOptions options() const {
    TrainingOptions options{.epochs = 3, .batch = kBatch, .checkpoint = checkpoint_};
    options.optimizer.rule = train::OptimizerOptions::Rule::kAdam;
    options.optimizer.rate = 0.05f;
    return options;
  }
  static TrainingTask task(uint64_t data_seed = 1) {
    return {.network = make_network(kBatch),
            .data = {std::make_shared<Rows>(kExamples, data_seed), std::make_shared<Rows>(25, 99)}};
  }
  TrainingLoop create(const TrainingOptions& options, TrainingTask what = task(),
                      TrainingCallbacks callbacks = {}) {
    auto loop = TrainingLoop::create(*device_, std::move(what), options, std::move(callbacks));
    EXPECT_TRUE(loop.ok()) << loop.status().message();
    SHOAL_CHECK(loop.ok());
    return *std::move(loop);
  }
  // The weights after all epochs.
  Weights trained(const TrainingOptions& options) {
    TrainingLoop loop = create(options);
    EXPECT_TRUE(loop.run().ok());
    EXPECT_TRUE(loop.finish().ok());
    return clone(loop.weights());
  }
  static Weights clone(const Weights& weights) {
    Weights copy;
    for (const auto& [name, tensor] : weights) copy[name] = tensor.clone();
    return copy;
  }

  std::unique_ptr<Device> device_ = make_reference_device();
  const Result<TemporaryFolder> temporary_ = TemporaryFolder::make();
  const std::filesystem::path folder_ = temporary_->path();
  const std::filesystem::path checkpoint_ = folder_ / "c.safetensors";
};

TEST_F(Training, Learns) {
  TrainingLoop loop = create(options());
  const auto reason = loop.run();
  ASSERT_TRUE(reason.ok()) << reason.status().message();
  EXPECT_EQ(*reason, StopReason::kDone);
  const auto& results = loop.progress().results;
  ASSERT_EQ(results.size(), 3u);
  EXPECT_LT(results[2].loss, results[0].loss);
  EXPECT_GT(loop.evaluation().top1(), 70);
  EXPECT_EQ(loop.evaluation().images(), 25u);
  EXPECT_EQ(results[2].held_out_top1, loop.evaluation().top1());
}

TEST_F(Training, ReportsEveryStepAndEpoch) {
  std::vector<std::pair<uint64_t, size_t>> steps;
  size_t epochs = 0;
  TrainingLoop loop = create(options(), task(),
                             {.on_step =
                                  [&](const StepReport& report) {
                                    steps.emplace_back(report.progress.epoch, report.progress.step);
                                    EXPECT_EQ(report.steps_per_epoch, kSteps);
                                    EXPECT_EQ(report.epochs, 3);
                                    EXPECT_GT(report.loss, 0);
                                    EXPECT_GE(report.seconds_left, 0);
                                  },
                              .on_epoch = [&](const EpochReport& report) -> Status {
                                EXPECT_EQ(report.progress.results.size(), ++epochs);
                                EXPECT_EQ(report.evaluation.images(), 25u);
                                EXPECT_EQ(report.held_out.size(), 25u);
                                return {};
                              }});
  ASSERT_TRUE(loop.run().ok());
  EXPECT_EQ(epochs, 3u);
  ASSERT_EQ(steps.size(), 3 * kSteps);
  EXPECT_EQ(steps.front(), (std::pair<uint64_t, size_t>{0, 1}));
  EXPECT_EQ(steps.back(), (std::pair<uint64_t, size_t>{2, kSteps}));
}

TEST_F(Training, EndsWithTheFailureOfACallback) {
  TrainingLoop loop = create(options(), task(), {.on_epoch = [](const EpochReport&) {
                               return Status(Code::kExhausted, "disk full");
                             }});
  EXPECT_EQ(loop.run().status().code(), Code::kExhausted);
  EXPECT_EQ(loop.progress().results.size(), 1u);
}

TEST_F(Training, GivesTheSameWeightsEachTimeForAnyNumberOfLoaders) {
  TrainingOptions augmented = options();
  augmented.augment = {.shift = 1, .noise = 0.1};
  const Weights first = trained(augmented);
  augmented.loaders = 3;
  EXPECT_TRUE(testing::same(first, trained(augmented)));
  augmented.seed = 2;
  EXPECT_FALSE(testing::same(first, trained(augmented)));
}

// Cancelled after each step in turn: the middle and the ends of epochs are among them.
TEST_F(Training, ThatIsCancelledResumesToTheSameWeights) {
  TrainingOptions augmented = options();
  augmented.epochs = 2;
  augmented.augment = {.shift = 1, .noise = 0.1};
  const Weights wanted = trained(augmented);
  augmented.resume = true;
  for (size_t last = 1; last <= 2 * kSteps; ++last) {
    std::filesystem::remove(checkpoint_);
    std::atomic<bool> cancel = false;
    size_t done = 0;
    {
      TrainingLoop loop = create(
          augmented, task(),
          {.on_step = [&](const StepReport&) { cancel = ++done == last; }, .cancel = &cancel});
      const auto reason = loop.run();
      ASSERT_TRUE(reason.ok()) << reason.status().message();
      EXPECT_EQ(*reason, last < 2 * kSteps ? StopReason::kCancelled : StopReason::kDone);
      EXPECT_EQ(done, last);
    }
    EXPECT_TRUE(testing::same(wanted, trained(augmented))) << "after step " << last;
  }
}

TEST_F(Training, CancelledBeforeItBeginsDoesNothing) {
  const std::atomic<bool> cancel = true;
  TrainingLoop loop = create(options(), task(), {.cancel = &cancel});
  const auto reason = loop.run();
  ASSERT_TRUE(reason.ok());
  EXPECT_EQ(*reason, StopReason::kCancelled);
  EXPECT_EQ(loop.progress().step, 0u);
}

TEST_F(Training, WritesCheckpointsBetweenEpochs) {
  TrainingOptions often = options();
  often.checkpoint_every = 4;
  std::vector<size_t> positions;  // of the checkpoint, as each step finds it
  TrainingLoop loop = create(
      often, task(), {.on_step = [&](const StepReport&) {
        const auto read = read_checkpoint(checkpoint_, settings_of(often));
        positions.push_back(read.ok() ? read->progress.epoch * kSteps + read->progress.step : 0);
      }});
  ASSERT_TRUE(loop.run().ok());
  EXPECT_EQ(positions,
            (std::vector<size_t>{0, 0, 0, 0, 4, 4, 6, 6, 6, 6, 10, 10, 12, 12, 12, 12, 16, 16}));
}

TEST_F(Training, WithoutACheckpointWritesNone) {
  TrainingOptions none = options();
  none.checkpoint.clear();
  EXPECT_TRUE(create(none).run().ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Training, GoesOnForLongerThanPlanned) {
  TrainingOptions longer = options();
  longer.schedule = train::Schedule::Kind::kConstant;
  longer.epochs = 1;
  static_cast<void>(trained(longer));
  longer.epochs = 2;
  longer.resume = true;
  const Weights resumed = trained(longer);
  longer.resume = false;
  EXPECT_TRUE(testing::same(resumed, trained(longer)));
}

TEST_F(Training, RefusesACheckpointOfOtherData) {
  static_cast<void>(trained(options()));
  TrainingOptions resumed = options();
  resumed.resume = true;
  TrainingTask fewer = task();
  fewer.data.training = std::make_shared<Rows>(20);
  auto checkpoint = read_checkpoint(checkpoint_, settings_of(resumed));
  ASSERT_TRUE(checkpoint.ok());
  checkpoint->progress.step = 4;  // of an epoch that has but two
  ASSERT_TRUE(write_checkpoint(checkpoint_, *checkpoint).ok());
  const auto loop = TrainingLoop::create(*device_, std::move(fewer), resumed);
  EXPECT_EQ(loop.status().code(), Code::kInvalidArgument);
}

TEST_F(Training, BeginsAnewWithoutACheckpointAndSaysSo) {
  TrainingOptions resumed = options();
  resumed.resume = true;
  std::string note;
  static_cast<void>(
      create(resumed, task(), {.on_note = [&](const std::string& line) { note = line; }}));
  EXPECT_NE(note.find("c.safetensors"), std::string::npos) << note;
}

// At a rate that teaches nothing no epoch is better than the first.
TEST_F(Training, StopsWithoutProgressAndKeepsTheBestWeights) {
  TrainingOptions patient = options();
  patient.optimizer.rate = 1e-12f;
  patient.epochs = 9;
  patient.patience = 2;
  TrainingLoop loop = create(patient);
  const auto reason = loop.run();
  ASSERT_TRUE(reason.ok());
  EXPECT_EQ(*reason, StopReason::kPatience);
  EXPECT_EQ(loop.progress().results.size(), 3u);
}

TEST_F(Training, EndsWithTheWeightsOfTheBestEpoch) {
  TrainingOptions patient = options();
  patient.optimizer.rate = 2.0f;  // so high that results jump
  patient.schedule = train::Schedule::Kind::kConstant;
  patient.epochs = 6;
  patient.patience = 6;
  std::vector<Weights> after_epoch;
  TrainingLoop* running = nullptr;
  TrainingLoop loop = create(patient, task(), {.on_epoch = [&](const EpochReport&) -> Status {
                               after_epoch.push_back(clone(running->weights()));
                               return {};
                             }});
  running = &loop;
  ASSERT_TRUE(loop.run().ok());
  const size_t best = loop.progress().best_epoch();
  ASSERT_LT(best + 1, after_epoch.size()) << "the last epoch is the best: the test tests nothing";
  EXPECT_TRUE(loop.finish().ok());
  EXPECT_TRUE(testing::same(loop.weights(), after_epoch[best]));
  EXPECT_EQ(loop.evaluation().top1(), loop.progress().results[best].held_out_top1);
}

TEST_F(Training, OnCachedFeaturesGivesTheWeightsOfTrainingWithout) {
  TrainingOptions frozen = options();
  frozen.freeze = {"fc1.*"};
  TrainingLoop cached = create(frozen);
  EXPECT_TRUE(cached.uses_feature_cache());
  ASSERT_TRUE(cached.run().ok());
  frozen.feature_cache_bytes = 0;
  TrainingLoop plain = create(frozen);
  EXPECT_FALSE(plain.uses_feature_cache());
  ASSERT_TRUE(plain.run().ok());
  const Weights all = plain.weights(), head = cached.weights();
  ASSERT_EQ(head.size(), 2u);  // fc2.weight and fc2.bias
  for (const auto& [name, tensor] : head) {
    for (size_t i = 0; i < tensor.data<float>().size(); ++i) {
      EXPECT_NEAR(tensor.data<float>()[i], all.at(name).data<float>()[i], 1e-5) << name;
    }
  }
  EXPECT_EQ(cached.evaluation().correct(), plain.evaluation().correct());
}

TEST_F(Training, CachesFeaturesOnlyWhereThatChangesNothing) {
  TrainingOptions frozen = options();
  frozen.freeze = {"fc1.*"};
  TrainingOptions augmented = frozen, skipping = frozen, small = frozen;
  augmented.augment.flip = true;
  skipping.damaged = Damaged::kSkip;
  small.feature_cache_bytes = 100;
  EXPECT_FALSE(create(augmented).uses_feature_cache());
  EXPECT_FALSE(create(skipping).uses_feature_cache());
  EXPECT_FALSE(create(small).uses_feature_cache());
}

// x [10, 1, 4, 4] -> fc1 [40, 4], all frozen -> fc2 [40, 1] -> [10, 4]: each row of pixels is
// scored by itself.
Graph scoring_rows() {
  Graph graph;
  const auto reshape = [&](ValueId x, std::vector<int64_t> dims, const std::string& name) {
    const auto rank = static_cast<int64_t>(dims.size());
    const ValueId shape = graph.add_constant(name + ".shape", Tensor::of<int64_t>({rank}, dims));
    return *graph.add(ops::reshape, {x, shape}, {}, name);
  };
  const auto layer = [&](ValueId x, int64_t outputs, const std::string& name) {
    const ValueId w =
        graph.add_constant(name + ".weight", testing::weight({outputs, testing::kSide}, 1));
    return *graph.add(ops::gemm, {x, w}, {{"transB", int64_t{1}}}, name);
  };
  ValueId x = graph.add_input("x", {DType::kF32, {kBatch, 1, testing::kSide, testing::kSide}});
  x = layer(reshape(x, {-1, testing::kSide}, "rows"), testing::kSide, "fc1");
  x = layer(x, 1, "fc2");
  graph.mark_output(reshape(x, {kBatch, testing::kClasses}, "scores"));
  return graph;
}

TEST_F(Training, CachesNoFeaturesWithoutARowForEachExample) {
  TrainingOptions frozen = options();
  frozen.freeze = {"fc1.*"};
  TrainingTask rows = task();
  rows.network = scoring_rows();
  TrainingLoop loop = create(frozen, std::move(rows));
  EXPECT_FALSE(loop.uses_feature_cache());
  const auto reason = loop.run();
  EXPECT_TRUE(reason.ok()) << reason.status().message();
}

TEST_F(Training, RefusesATeacherOfOtherClasses) {
  TrainingTask taught = task();
  taught.teacher = make_network(kBatch + 1);
  TrainingOptions distilled = options();
  distilled.teacher = "teacher";
  distilled.loss.distill = 1;
  const auto loop = TrainingLoop::create(*device_, std::move(taught), distilled);
  EXPECT_EQ(loop.status().code(), Code::kInvalidArgument);
}

TEST_F(Training, RefusesAShareOfTheLossWithoutATeacher) {
  TrainingOptions distilled = options();
  distilled.teacher = "teacher";
  distilled.loss.distill = 1;
  const auto loop = TrainingLoop::create(*device_, task(), distilled);
  EXPECT_EQ(loop.status().code(), Code::kInvalidArgument);
}

TEST_F(Training, RefusesANetworkForAnotherBatch) {
  TrainingTask other = task();
  other.network = make_network(kBatch + 1);
  const auto loop = TrainingLoop::create(*device_, std::move(other), options());
  EXPECT_EQ(loop.status().code(), Code::kInvalidArgument);
}

TEST_F(Training, RefusesExamplesThatFillNoBatch) {
  TrainingTask few = task();
  few.data.training = std::make_shared<Rows>(kBatch - 1);
  const auto loop = TrainingLoop::create(*device_, std::move(few), options());
  EXPECT_EQ(loop.status().code(), Code::kInvalidArgument);
}

TEST_F(Training, RefusesPatienceWithoutHeldOutExamples) {
  TrainingTask all = task();
  all.data.held_out = std::make_shared<Rows>(0);
  TrainingOptions patient = options();
  patient.patience = 2;
  const auto loop = TrainingLoop::create(*device_, std::move(all), patient);
  EXPECT_EQ(loop.status().code(), Code::kInvalidArgument);
}

TEST_F(Training, NamesTheStepThatFailed) {
  TrainingOptions wild = options();
  wild.optimizer.rate = 1e30f;
  const auto reason = create(wild).run();
  ASSERT_FALSE(reason.ok());
  EXPECT_TRUE(reason.status().message().starts_with("epoch 1, step ")) << reason.status().message();
}

// Rows with one label that is no class.
class Damaging : public Rows {
 public:
  using Rows::Rows;
  Result<Example> at(size_t index) const override {
    SHOAL_ASSIGN(Example example, Rows::at(index));
    if (index == 7) example.label = 100;
    return example;
  }
};

TEST_F(Training, LeavesOutDamagedExamplesAndNamesThem) {
  TrainingTask damaged = task();
  damaged.data.training = std::make_shared<Damaging>(kExamples);
  TrainingOptions refusing = options();
  refusing.feature_cache_bytes = 0;  // else creating the loop reads all examples
  EXPECT_EQ(create(refusing, damaged).run().status().code(), Code::kCorrupt);
  TrainingOptions skipping = options();
  skipping.damaged = Damaged::kSkip;
  TrainingLoop loop = create(skipping, damaged);
  ASSERT_TRUE(loop.run().ok());
  ASSERT_EQ(loop.skipped().size(), 1u);
  EXPECT_NE(loop.skipped()[0].find("row 7"), std::string::npos);
}

TEST_F(Training, WithoutHeldOutExamplesEvaluatesNone) {
  TrainingTask all = task();
  all.data.held_out = std::make_shared<Rows>(0);
  TrainingLoop loop = create(options(), std::move(all));
  ASSERT_TRUE(loop.run().ok());
  ASSERT_TRUE(loop.finish().ok());
  EXPECT_EQ(loop.evaluation().images(), 0u);
}

}  // namespace
}  // namespace shoal::fit
