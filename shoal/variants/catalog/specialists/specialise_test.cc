#include "shoal/variants/catalog/specialists/specialise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>

#include "shoal/base/files/atomic_file.h"
#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/tensor/compare.h"
#include "shoal/shrink/exits/network/exits_testing.h"
#include "shoal/shrink/exits/network/multi_exit.h"
#include "shoal/shrink/prune/shrink_testing.h"
#include "shoal/shrink/retraining/retrain.h"
#include "shoal/train/data/safetensors.h"
#include "shoal/variants/catalog/specialists/special_network.h"

namespace shoal::catalog {
namespace {

TEST(Stream, HasAllOfSomeClassesAndAShareOfOthers) {
  std::vector<int64_t> labels;
  for (size_t i = 0; i < 1000; ++i) labels.push_back(static_cast<int64_t>(i % 10));
  const std::vector<int64_t> classes = {7, 2};
  const Stream stream = stream_of(labels, classes, 0.2, 1);
  EXPECT_EQ(stream.examples.size(), 250u);
  size_t others = 0;
  for (size_t i = 0; i < stream.examples.size(); ++i) {
    const int64_t label = labels[stream.examples[i]], target = stream.targets[i];
    EXPECT_EQ(target, label == 7 ? 0 : label == 2 ? 1 : 2);
    others += target == 2 ? 1 : 0;
  }
  EXPECT_EQ(others, 50u);
  EXPECT_TRUE(std::ranges::is_sorted(stream.examples));
  EXPECT_EQ(stream_of(labels, classes, 0, 1).examples.size(), 200u);
  EXPECT_NE(stream_of(labels, classes, 0.2, 2).examples, stream.examples);
}

TEST(Stream, HasNoMoreOfAClassThanIsWanted) {
  std::vector<int64_t> labels(60, 1);  // and others, fewer of them
  for (size_t i = 0; i < 40; ++i) labels.push_back(i < 5 ? 2 : 3);
  const std::vector<int64_t> classes = {2, 1};
  const auto count = [](const Stream& stream, int64_t target) {
    return std::ranges::count(stream.targets, target);
  };
  const Stream stream = stream_of(labels, classes, 0.2, 1, 11);
  EXPECT_EQ(count(stream, 0), 5);
  EXPECT_EQ(count(stream, 1), 11);
  EXPECT_EQ(count(stream, 2), 4) << "a fifth of all are others";
  EXPECT_TRUE(std::ranges::is_sorted(stream.examples));
  EXPECT_NE(stream_of(labels, classes, 0.2, 2, 11).examples, stream.examples);
  EXPECT_EQ(stream_of(labels, classes, 0.2, 1, 100).examples,
            stream_of(labels, classes, 0.2, 1).examples);
}

// The special network is sure and right about three images, sure and wrong about none, and calls
// one "another class": the general one answers that, whatever the threshold.
TEST(Cascade, TakesTheCheapestThresholdThatIsGoodEnough) {
  const std::vector<Answer> special = {{0, 0.9}, {1, 0.8}, {0, 0.7}, {0, 0.4}, {2, 0.99}};
  const std::vector<int64_t> targets = {0, 1, 0, 1, 2}, labels = {5, 6, 5, 6, 9};
  const std::vector<int64_t> general = {5, 6, 5, 6, 9};
  const exits::Verdicts verdicts = cascade_of(special, targets, 2, general, labels);
  const std::vector<int64_t> macs = {10, 100};
  const double threshold = threshold_for(verdicts, 0, macs);
  EXPECT_EQ(threshold, 0.7);
  const exits::Figures figures = exits::figures_with(verdicts, std::span(&threshold, 1), macs);
  EXPECT_EQ(figures.top1, 100);
  EXPECT_NEAR(figures.mean_macs, 10 + 100 * 0.4, 1e-9);
  const double low = threshold_for(verdicts, 100, macs);
  EXPECT_GT(low, 0);
  EXPECT_NEAR(exits::figures_with(verdicts, std::span(&low, 1), macs).share[0], 0.8, 1e-9);
}

// Joined, body and head compute what they do one after the other.
TEST(SpecialNetwork, IsBodyAndHead) {
  const auto device = make_reference_device();
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Graph network = exits::testing::RandomNetwork(seed, 2).graph();
    for (const char* at : {kAuto, kHead}) {
      const auto end = end_of_body(network, at);
      ASSERT_TRUE(end.ok()) << end.status().message();
      const auto body = body_of(network, *end);
      ASSERT_TRUE(body.ok()) << body.status().message();
      const TensorType features = (*body)[body->outputs()[0]].type;
      ASSERT_EQ(features.shape.rank(), 2u);
      EXPECT_LE(features.shape[1], 1024);
      const Graph head = *make_head(features, 3, 1);
      const auto whole = joined(*body, head);
      ASSERT_TRUE(whole.ok()) << whole.status().message();
      std::mt19937 rng(static_cast<uint32_t>(seed));
      const auto run = [&](const Graph& graph, const std::vector<Tensor>& inputs) {
        std::vector<Tensor> outputs(1);
        EXPECT_TRUE((*device->compile(graph))->run(inputs, outputs, {}).ok());
        return outputs;
      };
      const auto inputs = random_inputs(network, rng);
      EXPECT_LE(relative_error(run(*whole, inputs), run(head, run(*body, inputs))), 1e-6);
    }
  }
  const Graph network = exits::testing::RandomNetwork(1, 2).graph();
  EXPECT_EQ(end_of_body(network, "nowhere").status().code(), Code::kInvalidArgument);
}

class Special : public shrink::Shrinking {
 protected:
  void SetUp() override {
    ASSERT_TRUE(make_folder(folder() / "data").ok());
    ASSERT_TRUE(write_file(folder() / "data" / "images", "a").ok());
  }
  SpecialiseOptions special() const {
    SpecialiseOptions options{.classes = {0, 2}, .at = kHead};
    options.recipe = Shrinking::options().recipe;
    options.recipe.loss.distill = 0;
    options.recipe.data = folder() / "data";
    options.cache = folder() / "cache";
    options.out = out_;
    return options;
  }
  Result<SpecialiseResult> make(const SpecialiseOptions& options) {
    return specialise(*device_, model_, nullptr, data_, options);
  }
  std::filesystem::path folder() const { return temporary_->path(); }
  size_t files() const {
    const std::filesystem::directory_iterator all(folder() / "cache");
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }
};

TEST_F(Special, LearnsTheSameWithAndWithoutTheCache) {
  SpecialiseOptions options = special();
  options.controls = true;
  const auto result = make(options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_TRUE(result->controls.has_value());
  EXPECT_LE(result->controls->weights_error, 1e-6);
  EXPECT_GT(result->controls->seconds_full, 0);
  EXPECT_GT(result->top1, 70);
  EXPECT_FALSE(result->warm);
}

TEST_F(Special, LearnsTheSameFromFewImages) {
  SpecialiseOptions options = special();
  options.per_class = 20;
  options.controls = true;
  const auto result = make(options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_LE(result->controls->weights_error, 1e-6);
  EXPECT_GT(result->top1, 60);
  const std::string few = written();
  options.controls = false;
  EXPECT_TRUE(make(options)->warm) << "features of all images are kept";
  EXPECT_EQ(written(), few);
  EXPECT_TRUE(make(special())->warm);
  EXPECT_NE(written(), few);
}

TEST_F(Special, IsWarmForOtherClassesAndColdForOtherData) {
  EXPECT_FALSE(make(special())->warm);
  EXPECT_EQ(files(), 1u);
  const std::string first = written();
  EXPECT_TRUE(make(special())->warm);
  EXPECT_EQ(written(), first);
  SpecialiseOptions others = special();
  others.classes = {1, 2, 3};
  EXPECT_TRUE(make(others)->warm);
  ASSERT_TRUE(write_file(folder() / "data" / "images", "ab").ok());
  EXPECT_FALSE(make(special())->warm);
  SpecialiseOptions scaled = special();
  scaled.recipe.preprocess.bgr = true;
  EXPECT_FALSE(make(scaled)->warm);
  EXPECT_EQ(files(), 3u);
}

TEST_F(Special, DamagedFeaturesAreRefused) {
  ASSERT_TRUE(make(special()).ok());
  const auto file = std::filesystem::directory_iterator(folder() / "cache")->path();
  TensorFile stored = *read_safetensors(file);
  const Tensor training = stored.tensors.at("training");
  const auto code = [&] { return make(special()).status().code(); };
  stored.tensors["training"] = Tensor({DType::kF32, {3, 3}});
  ASSERT_TRUE(write_safetensors(file, stored).ok());
  EXPECT_EQ(code(), Code::kCorrupt);
  stored.tensors["training"] = training;
  stored.metadata["key"] = "another";
  ASSERT_TRUE(write_safetensors(file, stored).ok());
  EXPECT_EQ(code(), Code::kCorrupt);
  std::filesystem::resize_file(file, 100);
  EXPECT_EQ(code(), Code::kCorrupt);
}

TEST_F(Special, FileAnswersAsItWasJudged) {
  SpecialiseOptions options = special();
  options.other = 0;
  const auto result = make(options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  const Model model = *open_model(out_.string());
  EXPECT_EQ(model.properties().at("shoal.classes"), "0,2");
  const auto one = model.graph_for_batch(1);
  ASSERT_TRUE(one.ok()) << one.status().message();
  int64_t all = 0;
  for (const Node& node : one->graph.nodes()) all += macs(one->graph, node);
  EXPECT_EQ(all, result->macs);
  EXPECT_EQ(one->graph[one->graph.outputs()[0]].type.shape[1], 2);
  EXPECT_NEAR(result->cascade.share[0] + result->cascade.share[1], 1, 1e-9);
  EXPECT_NEAR(result->cascade.mean_macs,
              static_cast<double>(result->macs) +
                  result->cascade.share[1] * static_cast<double>(result->macs_general),
              1e-6);
}

TEST_F(Special, RefusesOptionsWithoutAMeaning) {
  const auto code_of = [&](auto change) {
    SpecialiseOptions options = special();
    change(options);
    return make(options).status().code();
  };
  EXPECT_EQ(code_of([](auto& o) { o.classes = {}; }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& o) { o.classes = {1, 1}; }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& o) { o.classes = {-1, 1}; }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& o) { o.classes = {1, 99}; }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& o) { o.other = 1; }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& o) { o.per_class = -1; }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& o) { o.recipe.augment.flip = true; }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& o) { o.at = "nowhere"; }), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::catalog
