#include "shoal/serve/engine/exit_server.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/model/onnx/export/export.h"
#include "shoal/model/tensor/random_tensor.h"
#include "shoal/serve/engine/engine.h"
#include "shoal/shrink/exits/network/exits_testing.h"

namespace shoal::serve {
namespace {

// A network with exits as a file for batches of any size. The first exit is said to be right in 80
// %.
Result<Model> model_with_exits(uint64_t seed) {
  SHOAL_ASSIGN(exits::MultiExit one, exits::testing::random_multi_exit(seed)(1));
  SHOAL_ASSIGN(const exits::MultiExit two, exits::testing::random_multi_exit(seed)(2));
  one.exits[0].top1 = 80;
  SHOAL_ASSIGN(const TemporaryFolder folder, TemporaryFolder::make());
  const auto file = folder.path() / "multi.onnx";
  SHOAL_TRY(onnx::write_onnx_for_any_batch(one.graph, two.graph, file, one.outputs,
                                           exits::properties_of(one.exits)));
  return open_model(file.string());
}

class ExitServing : public ::testing::Test {
 protected:
  void SetUp() override {
    ModelSource source;
    source.name = "multi";
    source.open = [] { return model_with_exits(2); };
    source.max_batch = 4;
    engine_.add(source);
    ASSERT_TRUE(engine_.load("multi").ok());
    exits_ = engine_.find("multi")->outputs().size() - 1;
    ASSERT_GT(exits_, 1u) << "the test needs two exits";
  }

  Tensor image() { return random_tensor({DType::kF32, {1, 3, 16, 16}}, rng_); }

  void submit(const Tensor& image, const Wish& wish, Outcome& outcome) {
    Job job;
    job.inputs = {image};
    job.wish = wish;
    job.arrived = std::chrono::steady_clock::now();
    job.done = [&outcome](Outcome ended) { outcome = std::move(ended); };
    ASSERT_TRUE(engine_.submit(engine_.find("multi"), job));
  }

  std::mt19937 rng_{1};
  std::unique_ptr<Device> device_ = make_reference_device();
  Engine engine_{*device_, {}, [](Time) {}};
  size_t exits_ = 0;
};

std::vector<float> values(const Tensor& tensor) {
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}

// Requests that wish for different exits wait together and share a batch; each answer is the one
// that it would have had alone, which is that of the whole model.
TEST_F(ExitServing, AnswersEachByItsWishAndAsAlone) {
  std::vector<Tensor> images;
  std::vector<Wish> wishes;
  for (size_t i = 0; i <= exits_; ++i) {
    images.push_back(image());
    wishes.push_back({.exit = static_cast<int64_t>(i + 1)});
  }
  std::vector<Outcome> alone(images.size()), together(images.size()), whole(images.size());
  for (size_t i = 0; i < images.size(); ++i) submit(images[i], wishes[i], alone[i]);
  for (size_t i = 0; i < images.size(); ++i) submit(images[i], {}, whole[i]);
  const uint64_t before = engine_.statistics("multi")[0].statistics.executions;
  Job busy;  // the others come while it has the slot
  busy.inputs = {image()};
  busy.arrived = std::chrono::steady_clock::now();
  busy.done = [&](const Outcome&) {
    for (size_t i = 0; i < images.size(); ++i) submit(images[i], wishes[i], together[i]);
  };
  ASSERT_TRUE(engine_.submit(engine_.find("multi"), busy));
  for (size_t i = 0; i < images.size(); ++i) {
    ASSERT_TRUE(together[i].status.ok()) << together[i].status.message();
    EXPECT_EQ(together[i].exits, std::vector<size_t>{i + 1});
    ASSERT_EQ(together[i].outputs.size(), 1u);
    EXPECT_EQ(values(together[i].outputs[0]), values(alone[i].outputs[0]));
    const size_t output = i == exits_ ? 0 : i + 1;
    EXPECT_EQ(values(alone[i].outputs[0]), values(whole[i].outputs[output]));
  }
  const uint64_t batches = engine_.statistics("multi")[0].statistics.executions - before;
  EXPECT_LT(batches, 1 + images.size());
}

TEST_F(ExitServing, ResolvesWishes) {
  const auto server = ExitServer::create(*model_with_exits(2), *device_);
  ASSERT_TRUE(server.has_value());
  const auto last = [&](const Wish& wish) { return server->resolve(wish).last; };
  EXPECT_EQ(last({}), exits_);
  EXPECT_EQ(last({.exit = 2}), 1u);
  EXPECT_EQ(last({.exit = 99}), exits_);
  EXPECT_EQ(last({.latency_ms = 1e-9}), 0u);
  EXPECT_EQ(last({.latency_ms = 1e9}), exits_);
  EXPECT_EQ(last({.accuracy = 0.8}), 0u);
  EXPECT_EQ(last({.accuracy = 0.81}), exits_);
  EXPECT_EQ(last({.accuracy = 0.81, .exit = 2}), 1u);
  EXPECT_EQ(server->resolve({.confidence = 0.5}).confidence, 0.5);
}

TEST_F(ExitServing, RefusesImagesOfAnotherType) {
  Outcome outcome;
  submit(Tensor({DType::kF32, {1, 3, 16, 15}}), {.exit = 1}, outcome);
  EXPECT_EQ(outcome.status.code(), Code::kInvalidArgument);
  submit(Tensor({DType::kF32, {0, 3, 16, 16}}), {.exit = 1}, outcome);
  EXPECT_EQ(outcome.status.code(), Code::kInvalidArgument);
  submit(Tensor::of<float>({}, {1.0F}), {.exit = 1}, outcome);
  EXPECT_EQ(outcome.status.code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::serve
