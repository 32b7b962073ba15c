#include "shoal/shrink/prune/tprune.h"

#include <gtest/gtest.h>

#include <random>

#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/units/block_lines.h"
#include "shoal/shrink/prune/array_learning.h"
#include "shoal/shrink/prune/shrink_testing.h"

namespace shoal::shrink {
namespace {

// Tokens to scores of their classes, by a part of eighteen lines.
constexpr const char* kNetwork = R"(
const embeddings f32[7,6] = random(1)
const w1 f32[6,18] = random(2)
const b1 f32[18] = random(3)
const w2 f32[18,7] = random(4)
const rows i64[2] = [-1,7]
x = Gather(embeddings, ids)
h = MatMul(x, w1)
p = Add(h, b1)
r = Relu(p)
y = MatMul(r, w2)
scores = Reshape(y, rows)
output scores
)";

Result<LoadedGraph> network(int64_t batch) {
  const std::string input = "input ids i64[" + std::to_string(batch) + ",5]";
  SHOAL_ASSIGN(Graph graph, parse_text(input + kNetwork, ops::find));
  return LoadedGraph{std::move(graph), {"scores"}};
}

// A token's label is another token: (3 id + 1) mod 7.
ArrayExamples tokens(int64_t count, uint32_t seed) {
  std::mt19937 rng(seed);
  ArrayExamples examples{Tensor({DType::kI64, {count, 5}}), Tensor({DType::kI64, {count, 5}})};
  for (size_t i = 0; i < static_cast<size_t>(count * 5); ++i) {
    const auto id = static_cast<int64_t>(rng() % 7);
    examples.inputs.data<int64_t>()[i] = id;
    examples.targets.data<int64_t>()[i] = (3 * id + 1) % 7;
  }
  return examples;
}

class TPrune : public ::testing::Test {
 protected:
  static fit::TrainingOptions recipe(int64_t epochs) {
    fit::TrainingOptions recipe;
    recipe.epochs = epochs;
    recipe.batch = 8;
    recipe.optimizer.rule = train::OptimizerOptions::Rule::kAdam;
    recipe.optimizer.rate = 0.01F;
    return recipe;
  }

  // A network as a file for any batch.
  Model model_of(const NetworkForBatch& network, const char* name) const {
    const auto path = temporary_->path() / name;
    EXPECT_TRUE(fit::export_network(network, path).ok());
    return *open_model(path.string());
  }

  // The model after it learned its labels.
  Model trained() {
    const auto weights = learn(*device_, network, tokens(160, 1), recipe(10));
    EXPECT_TRUE(weights.ok()) << weights.status().message();
    return model_of(with_weights(network, *weights), "trained.onnx");
  }

  TPruneData data(bool labels) const {
    const ArrayExamples teach = tokens(160, 1), judge = tokens(45, 2);
    if (!labels) return {.inputs = teach.inputs, .test_inputs = judge.inputs};
    return {teach.inputs, teach.targets, judge.inputs, judge.targets};
  }

  TPruneOptions options() const {
    return {.target = {.macs = 0.6},
            .sparse = {.strength = 0.01},
            .sparse_epochs = 5,
            .recipe = recipe(10),
            .measure_seconds = 0};
  }

  std::unique_ptr<Device> device_ = make_reference_device();
  const Result<TemporaryFolder> temporary_ = TemporaryFolder::make();
  const Model model_ = model_of(network, "given.onnx");
};

TEST_F(TPrune, LearnsLabelsOfTokens) {
  const Model model = trained();
  const NetworkForBatch learned = as_given(model);
  const ArrayExamples judge = tokens(45, 2);  // which fill no whole number of batches
  const auto answers = answers_of(*device_, learned, judge.inputs, 8);
  ASSERT_TRUE(answers.ok()) << answers.status().message();
  EXPECT_EQ(answers->shape(), (Shape{45, 5 * 7}));
  EXPECT_GE(*score_of(*answers, judge.targets), 99);
  EXPECT_LT(*score_of(*answers_of(*device_, network, judge.inputs, 8), judge.targets), 60);
}

TEST_F(TPrune, ScoresValuesByTheirCosine) {
  const Tensor wanted = Tensor::of<float>({2, 2}, {1, 0, 0, 2});
  EXPECT_NEAR(*score_of(Tensor::of<float>({2, 2}, {3, 0, 1, 1}), wanted), 50 * (1 + std::sqrt(0.5)),
              1e-9);
  EXPECT_EQ(*score_of(Tensor::of<float>({2, 2}, {0, 0, 0, 0}), wanted), 0);
  EXPECT_FALSE(score_of(Tensor::of<float>({2, 1}, {0, 0}), wanted).ok());
}

// Frozen weights stay, and a strong penalty leaves fewer lines that matter.
TEST_F(TPrune, SparseLearningMakesLinesSmall) {
  const Model model = trained();
  const NetworkForBatch learned = as_given(model);
  fit::TrainingOptions frozen = recipe(10);
  frozen.freeze = {"embeddings"};
  const auto effective = [&](std::optional<SparseLearning> sparse) {
    const auto weights = learn(*device_, learned, tokens(160, 1), frozen, sparse);
    EXPECT_TRUE(weights.ok()) << weights.status().message();
    EXPECT_FALSE(weights->contains("embeddings"));
    const Graph graph = (*with_weights(learned, *weights)(1)).graph;
    const auto lines = compress::unit_lines(graph, *compress::find_groups(graph));
    EXPECT_EQ(lines[1].size(), 18u);  // after the dimensions of the embeddings
    double s1 = 0, s2 = 0;
    for (double n : compress::norms_of(graph, lines[1])) {
      s1 += n;
      s2 += n * n;
    }
    return s1 * s1 / s2;
  };
  EXPECT_LT(effective(SparseLearning{train::Regularizer::Penalty::kHoyer, 0.1}),
            0.8 * effective({}));
}

TEST_F(TPrune, RemovesLinesAndLearnsAgain) {
  const Model model = trained();
  TPruneOptions wanted = options();
  wanted.control = true;
  wanted.out = temporary_->path() / "small.onnx";
  wanted.dense = temporary_->path() / "dense.onnx";
  const auto result = tprune({*device_, *device_}, model, data(true), wanted);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_LE(result->size.macs, 0.6 * static_cast<double>(result->before.macs));
  EXPECT_GE(*result->score, 98);
  EXPECT_GE(*result->score_control, 98);
  ASSERT_EQ(result->removed.size(), 1u);
  EXPECT_EQ(result->removed[0].before, 18u);
  EXPECT_EQ(result->blocks.size(), 3u);  // the embeddings are a matrix, too, and none has heads
  // The file is the network that was evaluated.
  const auto small = open_model(wanted.out.string());
  ASSERT_TRUE(small.ok()) << small.status().message();
  const NetworkForBatch learned = as_given(*small);
  const ArrayExamples judge = tokens(45, 2);
  EXPECT_EQ(*score_of(*answers_of(*device_, learned, judge.inputs, 8), judge.targets),
            *result->score);
  EXPECT_EQ(parameters((*learned(1)).graph), result->size.parameters);
  EXPECT_TRUE(open_model(wanted.dense.string()).ok());
}

TEST_F(TPrune, ImitatesItselfWithoutLabels) {
  const Model model = trained();
  const auto result = tprune({*device_, *device_}, model, data(false), options());
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_NEAR(*result->score_before, 100, 1e-4);
  EXPECT_GT(*result->score, 95);
  EXPECT_GT(*result->score, *result->score_removed);
}

TEST_F(TPrune, GivesTheSameFileTwice) {
  const auto written = [&](const char* name) {
    TPruneOptions wanted = options();
    wanted.out = temporary_->path() / name;
    EXPECT_TRUE(tprune({*device_, *device_}, model_, data(true), wanted).ok());
    const auto file = MappedFile::open(wanted.out);
    const auto bytes = (*file)->bytes();
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  EXPECT_EQ(written("a.onnx"), written("b.onnx"));
}

TEST_F(TPrune, RefusesWhatDoesNotFit) {
  const auto code = [&](const TPruneData& data, const TPruneOptions& wanted) {
    return tprune({*device_, *device_}, model_, data, wanted).status().code();
  };
  TPruneOptions control = options();
  control.control = true;
  EXPECT_EQ(code(data(false), control), Code::kInvalidArgument);
  EXPECT_EQ(code({}, options()), Code::kInvalidArgument);
  EXPECT_EQ(code({.inputs = Tensor({DType::kF32, {16, 5}})}, options()), Code::kInvalidArgument);
  TPruneData few = data(true);
  few.labels = tokens(12, 1).targets;
  EXPECT_EQ(code(few, options()), Code::kInvalidArgument);
  TPruneData real = data(true);
  real.labels = Tensor({DType::kF64, {160, 5}});
  EXPECT_EQ(code(real, options()), Code::kInvalidArgument);
  TPruneData none = data(true);
  none.test_labels = {};
  EXPECT_EQ(code(none, options()), Code::kInvalidArgument);
  TPruneData wide = data(true);
  wide.labels = Tensor({DType::kI64, {160, 6}});
  EXPECT_EQ(code(wide, options()), Code::kInvalidArgument);
  const std::atomic<bool> cancel = true;
  EXPECT_EQ(tprune({*device_, *device_}, model_, data(true), options(), {.cancel = &cancel})
                .status()
                .code(),
            Code::kCancelled);
}

}  // namespace
}  // namespace shoal::shrink
