#include "shoal/train/run/setup/training_network.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/model/onnx/export/export.h"
#include "shoal/train/run/setup/tiny_network_testing.h"
#include "shoal/train/step/graph/step_graph.h"

namespace shoal::fit {
namespace {

using testing::make_network;

class Networks : public ::testing::Test {
 protected:
  // A file that declares batches of two.
  Model open_closed() {
    const auto path = folder_ / "two.onnx";
    SHOAL_CHECK(onnx::write_onnx(make_network(2), path).ok());
    return open(path.string());
  }
  static Model open(const std::string& name) {
    auto model = open_model(name);
    SHOAL_CHECK(model.ok());
    return *std::move(model);
  }
  static Shape scores_of(const Result<LoadedGraph>& loaded) {
    return loaded.ok() ? loaded->graph[loaded->graph.outputs()[0]].type.shape : Shape{};
  }
  static std::map<std::string, Tensor> weights_of(const Graph& graph) {
    std::map<std::string, Tensor> weights;
    for (ValueId id : train::learned_values(graph)) weights[graph[id].name] = *graph[id].constant;
    return weights;
  }
  const Result<TemporaryFolder> temporary_ = TemporaryFolder::make();
  const std::filesystem::path folder_ = temporary_->path();
};

TEST_F(Networks, AreLoadedForAnyBatch) {
  EXPECT_EQ(scores_of(load_for_batch(open("zoo:lenet5"), 3)), (Shape{3, 10}));
  EXPECT_EQ(scores_of(load_for_batch(open_closed(), 2)), (Shape{2, 4}));
  EXPECT_EQ(scores_of(load_for_batch(open_closed(), 5)), (Shape{5, 4}));  // rebuilt
}

TEST_F(Networks, HaveSessionsForAnyBatch) {
  const auto device = make_reference_device();
  const Model model = open_closed();
  const auto batch_of = [&](int64_t batch) {
    return session_for_batch(model, batch, *device)->inputs()[0].sizes()[0];
  };
  EXPECT_EQ(batch_of(0), 2) << "as the file declares it";
  EXPECT_EQ(batch_of(5), 5);
}

TEST_F(Networks, KeepTheirWeightsForAnyBatch) {
  const auto five = load_for_batch(open_closed(), 5);
  ASSERT_TRUE(five.ok());
  EXPECT_TRUE(testing::same(weights_of(five->graph), weights_of(make_network(2))));
}

TEST_F(Networks, BeginWithFreshWeightsIfThatIsWanted) {
  const Model model = open_closed();
  const auto weights_for = [&](const TrainingOptions& options) {
    const auto network = network_to_train(model, options, 2);
    SHOAL_CHECK(network.ok());
    return weights_of(network->graph);
  };
  const auto original = weights_of(make_network(2));
  EXPECT_TRUE(testing::same(weights_for({}), original));
  const auto fresh = weights_for({.from_scratch = true, .seed = 3});
  EXPECT_FALSE(testing::same(fresh, original));
  EXPECT_TRUE(testing::same(fresh, weights_for({.from_scratch = true, .seed = 3})));
  EXPECT_FALSE(testing::same(fresh, weights_for({.from_scratch = true, .seed = 4})));
}

TEST_F(Networks, GetAnotherLastLayer) {
  const auto network = network_to_train(open_closed(), {.retarget = 7}, 2);
  EXPECT_EQ(scores_of(network), (Shape{2, 7}));
}

TEST_F(Networks, OfSeveralOutputsAreRefused) {
  Graph two = make_network(2);
  two.mark_output(*two.add(ops::relu, {two.outputs()[0]}, {}, "more"));
  ASSERT_TRUE(onnx::write_onnx(two, folder_ / "outputs.onnx").ok());
  const auto network = network_to_train(open((folder_ / "outputs.onnx").string()), {}, 2);
  EXPECT_EQ(network.status().code(), Code::kInvalidArgument);
}

TEST_F(Networks, AreExportedWithWeightsForAnyBatch) {
  const Model model = open_closed();
  const auto learned = weights_of(make_network(2, /*seed=*/9));
  const TrainingOptions options{.out = folder_ / "out.onnx"};
  ASSERT_TRUE(export_network(model, options, learned).ok());
  const auto three = open(options.out.string()).graph_for_batch(3);
  ASSERT_TRUE(three.ok()) << three.status().message();
  EXPECT_TRUE(testing::same(weights_of(three->graph), learned));
}

TEST_F(Networks, ThatKnowTheBatchAreExportedForOneImage) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, 1, 4, 4}});
  const ValueId shape = graph.add_constant("shape", Tensor::of<int64_t>({2}, {1, 16}));
  const ValueId flat = *graph.add(ops::reshape, {x, shape}, {}, "flat");
  const ValueId w = graph.add_constant("w", testing::weight({4, 16}, 1));
  graph.mark_output(*graph.add(ops::gemm, {flat, w}, {{"transB", int64_t{1}}}, "y"));
  ASSERT_TRUE(onnx::write_onnx(graph, folder_ / "one.onnx").ok());
  const Model model = open((folder_ / "one.onnx").string());
  EXPECT_FALSE(load_for_batch(model, 5).ok());
  EXPECT_TRUE(load_for_batch(model, 1).ok());
}

TEST_F(Networks, WhoseReshapesKnowTheBatchAreExportedForAnyBatch) {
  const auto network = [](int64_t batch) -> Result<LoadedGraph> {
    Graph graph;
    const ValueId x = graph.add_input("x", {DType::kF32, {batch, 1, 4, 4}});
    const ValueId shape = graph.add_constant("shape", Tensor::of<int64_t>({2}, {batch, 16}));
    SHOAL_ASSIGN(const ValueId flat, graph.add(ops::reshape, {x, shape}, {}, "flat"));
    graph.mark_output(flat);
    return LoadedGraph{std::move(graph), {"flat"}};
  };
  ASSERT_TRUE(export_network(network, folder_ / "any.onnx").ok());
  const auto three = open((folder_ / "any.onnx").string()).graph_for_batch(3);
  ASSERT_TRUE(three.ok()) << three.status().message();
  EXPECT_EQ(three->graph[three->graph.outputs()[0]].type.shape, (Shape{3, 16}));
}

TEST_F(Networks, EndAtTheirScores) {
  const auto scores = up_to_scores(make_network(2, 1, /*softmax=*/true));
  ASSERT_TRUE(scores.ok());
  for (const Node& node : scores->nodes()) EXPECT_NE(node.op, &ops::softmax);
  EXPECT_EQ((*scores)[scores->outputs()[0]].type.shape, (Shape{2, 4}));
}

}  // namespace
}  // namespace shoal::fit
