#include "shoal/shrink/exits/learning/add_exits.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "shoal/base/files/file.h"
#include "shoal/base/files/temporary_folder.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/onnx/export/export.h"
#include "shoal/shrink/exits/inference/runner.h"
#include "shoal/train/run/setup/tiny_network_testing.h"

namespace shoal::exits {
namespace {

using fit::testing::Rows;

// fit's tiny network, fc1 -> hidden -> fc2, with an exit at its hidden layer.
class Adding : public ::testing::Test {
 protected:
  static Model model_of(const Graph& network) {
    auto bytes = std::make_shared<std::vector<std::byte>>(*onnx::to_onnx(network));
    auto model = parse_model(bytes, *bytes);
    SHOAL_CHECK(model.ok());
    return *std::move(model);
  }
  ExitsOptions options() const {
    ExitsOptions options{.at = {"hidden"}, .wanted = {.precision = 0.8, .risk = 0.2}};
    options.recipe.epochs = 8;
    options.recipe.batch = 10;
    options.recipe.optimizer.rate = 0.05F;
    return options;
  }
  // x -> c -> hidden -> fc, with a convolution that has no norm.
  static Graph convolution() {
    auto graph = parse_text(R"(
input x f32[1,1,4,4]
const w f32[4,1,3,3] = random(1)
const v f32[4,64] = random(2)
c = Conv(x, w) pads=[1,1,1,1]
hidden = Relu(c)
flat = Flatten(hidden) axis=1
fc = Gemm(flat, v) transB=1
output fc
)",
                            ops::find);
    SHOAL_CHECK(graph.ok());
    return *std::move(graph);
  }
  Result<ExitsResult> run(const ExitsOptions& options, const ExitsCallbacks& callbacks = {}) {
    return add_exits(*device_, model_, data_, options, callbacks);
  }
  std::string bytes_of(const std::filesystem::path& path) const {
    const auto file = MappedFile::open(path);
    if (!file.ok()) return "";
    return {reinterpret_cast<const char*>((*file)->bytes().data()), (*file)->bytes().size()};
  }

  std::unique_ptr<Device> device_ = make_reference_device();
  const Model model_ = model_of(fit::testing::make_network(1));
  const fit::JudgedData data_ = {{std::make_shared<Rows>(200, 1), std::make_shared<Rows>(80, 2)},
                                 std::make_shared<Rows>(100, 3)};
  const Result<TemporaryFolder> temporary_ = TemporaryFolder::make();
  const std::filesystem::path out_ = temporary_->path() / "multi.onnx";
};

TEST_F(Adding, LetsExitsLearnAndTheRestStayAsItIs) {
  ExitsOptions with_file = options();
  with_file.out = out_;
  const auto result = run(with_file);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_GT(result->top1[0], 70);                       // of 4 classes
  EXPECT_EQ(result->top1.back(), result->top1_before);  // which has learned nothing
  const auto model = open_model(out_.string());
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto loaded = load_multi_exit(*model, 1);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  ASSERT_EQ(loaded->exits.size(), 1u);
  EXPECT_EQ(loaded->exits[0].at, "hidden");
  EXPECT_EQ(loaded->exits[0].threshold, result->exits[0].threshold);
}

TEST_F(Adding, WritesAFileThatAnswersAsItSays) {
  ExitsOptions with_file = options();
  with_file.out = out_;
  const auto result = run(with_file);
  ASSERT_TRUE(result.ok()) << result.status().message();
  const auto model = open_model(out_.string());
  ASSERT_TRUE(model.ok());
  const auto runner = Runner::create(*device_, multi_exit_in(*model));
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  EXPECT_EQ(runner->stage_macs(), result->stage_macs);
  const std::vector<double> thresholds{runner->exits()[0].threshold};
  ASSERT_LT(thresholds[0], 1) << "the test needs an exit that answers";
  const auto seen = evaluate(*runner, thresholds, *data_.test, {.batch = 7});
  ASSERT_TRUE(seen.ok()) << seen.status().message();
  EXPECT_EQ(seen->answers.images(), 100u);
  EXPECT_EQ(seen->answers.top1(), result->test.top1);
  EXPECT_EQ(seen->figures.share, result->test.share);
  EXPECT_EQ(seen->figures.precision, result->test.precision);
  EXPECT_EQ(seen->figures.mean_macs, result->test.mean_macs);
  EXPECT_GT(seen->figures.share[0], 0);
  EXPECT_EQ(evaluate(*runner, thresholds, *data_.test, {.limit = 9})->answers.images(), 9u);
}

TEST_F(Adding, WritesStagesThatAreTheNetwork) {
  ExitsOptions with_files = options();
  with_files.recipe.epochs = 1;
  with_files.out = out_;
  with_files.stages = temporary_->path() / "stages";
  ASSERT_TRUE(run(with_files).ok());
  const auto whole = open_model(out_.string());
  const auto one = open_model((with_files.stages / "stage1.onnx").string());
  const auto two = open_model((with_files.stages / "stage2.onnx").string());
  ASSERT_TRUE(whole.ok() && one.ok() && two.ok());
  Tensor images({DType::kF32, {3, 1, 4, 4}});
  fill_normal(images.data<float>(), RandomStream(1, 1), 1);
  auto all = whole->session(*device_), first = one->session(*device_),
       rest = two->session(*device_);
  ASSERT_TRUE(all.ok() && first.ok() && rest.ok());
  const auto wanted = all->run({{"x", images}});
  ASSERT_TRUE(wanted.ok()) << wanted.status().message();
  const auto early = first->run({{"x", images}});
  ASSERT_TRUE(early.ok()) << early.status().message();
  const auto late = rest->run({{"hidden", early->at("hidden")}});
  ASSERT_TRUE(late.ok()) << late.status().message();
  EXPECT_TRUE(std::ranges::equal(early->at("exit1").bytes(), wanted->at("exit1").bytes()));
  EXPECT_TRUE(std::ranges::equal(late->at("fc2").bytes(), wanted->at("fc2").bytes()));
}

TEST_F(Adding, LearnsAllAtOnceWhereItIsAskedTo) {
  ExitsOptions joint = options();
  joint.recipe.epochs = 1;
  joint.joint_epochs = 6;
  const auto result = run(joint);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_GT(result->top1.back(), result->top1_before + 20);
  EXPECT_GT(result->top1[0], 70);
}

TEST_F(Adding, LearnsWithNormsAndWritesNone) {
  ExitsOptions joint = options();
  joint.recipe.epochs = 1;
  joint.joint_epochs = 4;
  joint.out = out_;
  const Model given = model_of(convolution());
  const auto result = add_exits(*device_, given, data_, joint);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_GT(result->top1.back(), 70);
  const auto model = open_model(out_.string());
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto loaded = load_multi_exit(*model, 1);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  for (const Node& node : loaded->graph.nodes()) EXPECT_NE(node.op, &ops::batch_normalization);
  const auto runner = Runner::create(*device_, multi_exit_in(*model));
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  const std::vector<double> thresholds{runner->exits()[0].threshold};
  const auto seen = evaluate(*runner, thresholds, *data_.test, {.batch = 7});
  ASSERT_TRUE(seen.ok()) << seen.status().message();
  EXPECT_EQ(seen->answers.top1(), result->test.top1);
  joint.norms = false;  // as another network learns
  const auto without = add_exits(*device_, given, data_, joint);
  ASSERT_TRUE(without.ok()) << without.status().message();
  EXPECT_NE(without->exits[0].threshold, result->exits[0].threshold);
}

TEST_F(Adding, GivesTheSameBytesForTheSameSeed) {
  ExitsOptions joint = options();
  joint.recipe.epochs = 2;
  joint.joint_epochs = 1;
  joint.recipe.loss.focal = 2;
  joint.recipe.loss.distill = 0.3F;
  joint.out = out_;
  ASSERT_TRUE(run(joint).ok());
  const std::string first = bytes_of(out_);
  ASSERT_TRUE(run(joint).ok());
  EXPECT_EQ(bytes_of(out_), first);
  joint.head.seed = 2;
  ASSERT_TRUE(run(joint).ok());
  EXPECT_NE(bytes_of(out_), first);
}

TEST_F(Adding, EndsWhenItIsCancelledAndWritesNothing) {
  std::atomic<bool> cancel = false;
  ExitsOptions with_file = options();
  with_file.out = out_;
  const ExitsCallbacks callbacks{.on_step = [&](const ExitsStep&) { cancel = true; },
                                 .cancel = &cancel};
  EXPECT_EQ(run(with_file, callbacks).status().code(), Code::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(Adding, RefusesWhatIsNoPlaceOrNoClassifier) {
  ExitsOptions elsewhere = options();
  elsewhere.at = {"nowhere"};
  EXPECT_EQ(run(elsewhere).status().code(), Code::kInvalidArgument);
  elsewhere.at = {"fc1.weight"};
  EXPECT_EQ(run(elsewhere).status().code(), Code::kInvalidArgument);
  const auto zoo = open_model("zoo:lenet5");
  ASSERT_TRUE(zoo.ok());
  const auto untrained = add_exits(*device_, *zoo, data_, options());
  EXPECT_NE(untrained.status().message().find("train it first"), std::string::npos);
}

TEST_F(Adding, RefusesOptionsWithoutMeaning) {
  const auto refuses = [&](auto change) {
    ExitsOptions options = this->options();
    change(options);
    return check(options).code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(check(options()).ok());
  EXPECT_TRUE(refuses([](ExitsOptions& o) { o.at.clear(), o.automatic = 0; }));
  EXPECT_TRUE(refuses([](ExitsOptions& o) { o.at.clear(), o.automatic = 65; }));
  EXPECT_TRUE(refuses([](ExitsOptions& o) { o.joint_epochs = -1; }));
  EXPECT_TRUE(refuses([](ExitsOptions& o) { o.joint_rate = -1; }));
  EXPECT_TRUE(refuses([](ExitsOptions& o) { o.wanted.precision = 1; }));
  EXPECT_TRUE(refuses([](ExitsOptions& o) { o.max_drop = -1; }));
  EXPECT_TRUE(refuses([](ExitsOptions& o) { o.recipe.patience = 2; }));
  EXPECT_TRUE(refuses([](ExitsOptions& o) { o.recipe.epochs = 0; }));
  ExitsOptions weights = options();
  weights.joint_epochs = 1;
  weights.joint_weights = {1, 1, 1};
  EXPECT_EQ(run(weights).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::exits
