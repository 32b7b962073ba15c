// The engine on one thread: `done` of a request is called while its slot is taken, so that what it
// submits waits.
#include "shoal/serve/engine/engine.h"

#include <gtest/gtest.h>

#include <random>

#include "shoal/model/tensor/random_tensor.h"

namespace shoal::serve {
namespace {

using Clock = std::chrono::steady_clock;

class EngineTest : public ::testing::Test {
 protected:
  void start(const EngineOptions& options) {
    engine_ = std::make_unique<Engine>(*device_, options, [this](Time time) { woken_ = time; });
    ModelSource source = *parse_model_source("zoo:digits");
    source.max_batch = 4;
    engine_->add(source);
    ASSERT_TRUE(engine_->load("digits").ok());
  }

  Tensor image(int64_t items = 1) { return random_tensor({DType::kF32, {items, 1, 28, 28}}, rng_); }

  // Returns where the outcome will be.
  std::shared_ptr<std::optional<Outcome>> submit(Job job) {
    auto outcome = std::make_shared<std::optional<Outcome>>();
    if (job.inputs.empty()) job.inputs = {image()};
    job.arrived = Clock::now();
    auto then = std::move(job.done);
    job.done = [outcome, then = std::move(then)](Outcome ended) {
      EXPECT_FALSE(outcome->has_value());
      *outcome = std::move(ended);
      if (then) then(**outcome);
    };
    EXPECT_TRUE(engine_->submit(engine_->find("digits"), job));
    return outcome;
  }

  // Runs a request, and `during` while it holds its slot.
  void while_busy(const std::function<void()>& during) {
    Job job;
    job.done = [&](const Outcome&) { during(); };
    submit(std::move(job));
  }

  ModelStatistics statistics() { return engine_->statistics("digits")[0].statistics; }

  std::mt19937 rng_{1};
  std::unique_ptr<Device> device_ = make_reference_device();
  std::unique_ptr<Engine> engine_;
  Time woken_ = kNever;  // when pump() is to be called
};

TEST_F(EngineTest, AnswersABatchAsItAnswersEachAlone) {
  ModelSource source = *parse_model_source("zoo:digits");
  source.max_batch = 4;
  const auto model = *ServedModel::load(source, *device_);
  EXPECT_EQ(model->max_batch(), 4);
  std::vector<Inputs> requests;
  for (int64_t items : {1, 2}) requests.push_back({image(items)});
  EXPECT_EQ(model->batch_items(requests[1]), 2);
  EXPECT_EQ(model->batch_items({image(5000)}), 0);
  EXPECT_EQ(model->batch_items({Tensor({DType::kF32, {1, 1, 28, 27}})}), 0);
  const std::vector<const Inputs*> together = {&requests[0], &requests[1]};
  const auto answers = model->run_batch(together, {});
  ASSERT_TRUE(answers.ok()) << answers.status().message();
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto alone = model->run(requests[i], {});
    ASSERT_TRUE(alone.ok());
    ASSERT_EQ((*answers)[i][0].type(), (*alone)[0].type());
    for (size_t k = 0; k < (*alone)[0].data<float>().size(); ++k) {
      EXPECT_NEAR((*answers)[i][0].data<float>()[k], (*alone)[0].data<float>()[k], 1e-4);
    }
  }
}

TEST_F(EngineTest, AnswersAtOnceWhereItCan) {
  start({});
  const auto outcome = submit({});
  ASSERT_TRUE(outcome->has_value());
  EXPECT_TRUE((*outcome)->status.ok());
  EXPECT_EQ((*outcome)->outputs[0].shape(), Shape({1, 10}));
  EXPECT_EQ(statistics().success.count, 1u);
  EXPECT_EQ(statistics().executions, 1u);
}

TEST_F(EngineTest, KeepsAThreadThatPassesForOneBatchOnly) {
  start({});
  std::vector<std::shared_ptr<std::optional<Outcome>>> others;
  Job job;
  job.is_passing = true;
  job.done = [&](const Outcome&) {
    EXPECT_FALSE(engine_->is_quick("digits"));  // its slot is taken
    for (int i = 0; i < 6; ++i) others.push_back(submit({}));
  };
  EXPECT_TRUE(submit(std::move(job))->has_value());
  for (const auto& other : others) EXPECT_FALSE(other->has_value());
  EXPECT_LE(woken_, Clock::now());  // for the others
  engine_->pump();
  for (const auto& other : others) EXPECT_TRUE(other->has_value());
  EXPECT_EQ(statistics().executions, 3u);  // of 1, 4 and 2 items
  EXPECT_FALSE(engine_->is_quick("none"));
}

TEST_F(EngineTest, RefusesWhoDoesNotFitAndSaysWhen) {
  start({.max_waiting = 2});
  std::vector<std::shared_ptr<std::optional<Outcome>>> outcomes;
  while_busy([&] {
    for (int i = 0; i < 3; ++i) outcomes.push_back(submit({}));
  });
  EXPECT_TRUE((*outcomes[0])->status.ok());
  EXPECT_TRUE((*outcomes[1])->status.ok());
  EXPECT_EQ((*outcomes[2])->status.code(), Code::kExhausted);
  EXPECT_TRUE((*outcomes[2])->retry_after.has_value());
  EXPECT_EQ(statistics().refused, 1u);
}

TEST_F(EngineTest, RunsWhoWaitsTogether) {
  start({});
  std::vector<std::shared_ptr<std::optional<Outcome>>> outcomes;
  while_busy([&] {
    for (int i = 0; i < 3; ++i) outcomes.push_back(submit({}));
  });
  for (const auto& outcome : outcomes) {
    ASSERT_TRUE((*outcome)->status.ok());
    EXPECT_EQ((*outcome)->outputs[0].shape(), Shape({1, 10}));
  }
  EXPECT_EQ(statistics().executions, 2u);
  EXPECT_EQ(statistics().inferences, 4u);
  EXPECT_EQ(statistics().batches.at(3).infer.count, 1u);
}

TEST_F(EngineTest, CancelsWhoWaits) {
  start({});
  std::shared_ptr<std::optional<Outcome>> outcome;
  while_busy([&] {
    std::stop_source stop;
    Job job;
    job.cancel = stop.get_token();
    outcome = submit(std::move(job));
    engine_->cancel_stopped();
    EXPECT_FALSE(outcome->has_value());
    stop.request_stop();
    engine_->cancel_stopped();
  });
  EXPECT_EQ((*outcome)->status.code(), Code::kCancelled);
  EXPECT_EQ(statistics().cancelled, 1u);
}

TEST_F(EngineTest, GivesUpWhoIsLate) {
  start({});
  Job job;
  job.timeout = Duration(1);
  const auto outcome = submit(std::move(job));
  EXPECT_EQ((*outcome)->status.code(), Code::kDeadline);
  EXPECT_EQ(statistics().late, 1u);
}

TEST_F(EngineTest, AnswersWhoWaitsThroughReloadAndUnload) {
  start({});
  std::vector<std::shared_ptr<std::optional<Outcome>>> outcomes;
  const auto old = engine_->find("digits");
  while_busy([&] {
    outcomes.push_back(submit({}));
    EXPECT_TRUE(engine_->load("digits").ok());
    EXPECT_NE(engine_->find("digits"), old);
    Job job;
    job.inputs = {image()};
    EXPECT_FALSE(engine_->submit(old, job));
    EXPECT_EQ(job.inputs.size(), 1u);  // as it was
    outcomes.push_back(submit({}));
    EXPECT_TRUE(engine_->unload("digits").ok());
    EXPECT_EQ(engine_->find("digits"), nullptr);
  });
  for (const auto& outcome : outcomes) EXPECT_TRUE((*outcome)->status.ok());
  EXPECT_EQ(engine_->index(false)[0].state, "UNAVAILABLE");
  EXPECT_TRUE(engine_->index(true).empty());
  EXPECT_EQ(engine_->load("other").code(), Code::kNotFound);
}

TEST(ModelSource, TakesNamesFromTexts) {
  EXPECT_EQ(parse_model_source("zoo:digits")->name, "digits");
  EXPECT_EQ(parse_model_source("zoo:digits")->labels.size(), 10u);
  EXPECT_EQ(parse_model_source("/a/b/small.v2.onnx")->name, "small.v2");
  EXPECT_EQ(parse_model_source("mine=/a/b=c.onnx")->model, "/a/b=c.onnx");
  EXPECT_EQ(parse_model_source("/a/b=c.onnx").status().code(), Code::kInvalidArgument);
  for (const char* text : {"", "x=", "stats=zoo:digits", "a b.onnx", ".onnx"}) {
    EXPECT_FALSE(parse_model_source(text).ok()) << text;
  }
}

TEST(ModelSource, TakesANameOnce) {
  EXPECT_EQ(parse_model_sources({"zoo:digits", "two=zoo:digits"})->at(1).name, "two");
  EXPECT_EQ(parse_model_sources({"a.onnx", "/b/a.onnx"}).status().message(),
            "two models are called a; name one: NAME=/b/a.onnx");
  EXPECT_FALSE(parse_model_sources({"a.onnx", ""}).ok());
}

}  // namespace
}  // namespace shoal::serve
