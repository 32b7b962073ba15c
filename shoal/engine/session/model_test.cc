#include "shoal/engine/session/model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "shoal/model/onnx/export/export.h"
#include "shoal/model/onnx/program/encode_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

class Models : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("models_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // relu(x) for `rows` rows of three.
  static Graph rectifier(int64_t rows) {
    Graph graph;
    const ValueId x = graph.add_input("x", {DType::kF32, {rows, 3}});
    graph.mark_output(*graph.add(ops::relu, {x}, {}, "y"));
    return graph;
  }
  // For any number of rows.
  std::string write_open_model() const {
    const fs::path path = folder_ / "open.onnx";
    SHOAL_CHECK(onnx::write_onnx_for_any_batch(rectifier(1), rectifier(2), path).ok());
    return path.string();
  }
  // For two rows.
  std::string write_closed_model() const {
    const fs::path path = folder_ / "closed.onnx";
    SHOAL_CHECK(onnx::write_onnx(rectifier(2), path).ok());
    return path.string();
  }

  std::unique_ptr<Device> device_ = make_reference_device();
  fs::path folder_;
};

TEST_F(Models, OfTheZooAreFoundByName) {
  const auto model = open_model("zoo:lenet5");
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->name(), "zoo:lenet5");
  EXPECT_TRUE(model->has_random_weights());
  const auto loaded = model->graph();
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->graph[loaded->graph.inputs()[0]].type.shape, (Shape{1, 1, 28, 28}));
  EXPECT_EQ(loaded->outputs, std::vector<std::string>{"output"});
  EXPECT_TRUE(model->session(*device_).ok());
}

TEST_F(Models, SayWhatTheyTakeAndGive) {
  const auto model = open_model(write_open_model());
  ASSERT_TRUE(model.ok());
  const auto inputs = model->inputs(), outputs = model->outputs();
  ASSERT_TRUE(inputs.ok() && outputs.ok());
  ASSERT_EQ(inputs->size(), 1u);
  EXPECT_EQ(inputs->front().name, "x");
  EXPECT_EQ(inputs->front().dims, (std::vector<int64_t>{-1, 3}));
  ASSERT_EQ(outputs->size(), 1u);
  EXPECT_EQ(outputs->front().name, "y");
  const auto lenet = open_model("zoo:lenet5");
  EXPECT_EQ(lenet->inputs()->front().dims, (std::vector<int64_t>{1, 1, 28, 28}));
  EXPECT_EQ(lenet->outputs()->front().name, "output");
}

TEST_F(Models, OfTheZooAreBuiltOnceForAllCopies) {
  const Model model = *open_model("zoo:lenet5");
  const Model copy = model;
  const auto weight_of = [](const Model& of) {
    const Graph graph = of.graph()->graph;
    return graph[graph.nodes()[0].inputs[1]].constant->bytes().data();
  };
  EXPECT_EQ(weight_of(model), weight_of(copy));
}

TEST_F(Models, InMemoryAreParsed) {
  const auto bytes = onnx::to_onnx(rectifier(2));
  ASSERT_TRUE(bytes.ok());
  auto owner = std::make_shared<std::vector<std::byte>>(*bytes);
  const auto model = parse_model(owner, *owner);
  owner.reset();
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->inputs()->front().dims, (std::vector<int64_t>{2, 3}));
  EXPECT_TRUE(model->session(*device_).ok());
  EXPECT_EQ(parse_model(nullptr, std::as_bytes(std::span("no model"))).status().code(),
            Code::kCorrupt);
}

TEST_F(Models, ThatAreNotThereAreNamed) {
  const auto network = open_model("zoo:unknown");
  EXPECT_EQ(network.status().code(), Code::kNotFound);
  EXPECT_NE(network.status().message().find("unknown"), std::string_view::npos);
  const auto file = open_model((folder_ / "absent.onnx").string());
  EXPECT_EQ(file.status().code(), Code::kNotFound);
  EXPECT_NE(file.status().message().find("absent.onnx"), std::string_view::npos);
}

TEST_F(Models, OfTheZooHaveWeightsOfTheSeed) {
  const auto first_weight = [](uint64_t seed) {
    const auto model = open_model("zoo:lenet5", {.seed = seed});
    const auto loaded = model->graph();
    for (size_t i = 0; i < loaded->graph.value_count(); ++i) {
      const Value& value = loaded->graph[static_cast<ValueId>(i)];
      if (value.constant && value.type.shape.rank() == 4) {
        return value.constant->data<float>()[0];
      }
    }
    return 0.0f;
  };
  EXPECT_EQ(first_weight(1), first_weight(1));
  EXPECT_NE(first_weight(1), first_weight(2));
}

TEST_F(Models, OfTheZooTakeAnyBatchAndNoOtherSize) {
  const auto model = open_model("zoo:lenet5");
  ASSERT_TRUE(model.ok());
  const std::string input = [&] {
    const auto loaded = model->graph();
    return loaded->graph[loaded->graph.inputs()[0]].name;
  }();
  const auto eight = model->graph({{input, {8, 1, 28, 28}}});
  ASSERT_TRUE(eight.ok());
  EXPECT_EQ(eight->graph[eight->graph.outputs()[0]].type.shape, (Shape{8, 10}));
  EXPECT_EQ(model->graph({{input, {1, 1, 32, 32}}}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(model->graph({{input, {}}}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(model->graph({{"unknown", {1}}}).status().code(), Code::kInvalidArgument);
}

TEST_F(Models, InsideTheLibraryIsTrained) {
  const auto model = open_model(kDigitsModel);
  ASSERT_TRUE(model.ok());
  EXPECT_FALSE(model->has_random_weights());
  EXPECT_TRUE(model->graph().ok());
  EXPECT_TRUE(model->session(*device_).ok());
}

TEST_F(Models, FromFilesAreBoundToShapes) {
  const auto model = open_model(write_open_model());
  ASSERT_TRUE(model.ok());
  EXPECT_FALSE(model->has_random_weights());
  const auto rows_of = [&](const InputShapes& shapes) {
    const auto loaded = model->graph(shapes);
    return loaded.ok() ? loaded->graph[loaded->graph.inputs()[0]].type.shape[0] : -1;
  };
  EXPECT_EQ(rows_of({}), 1);  // open dimensions are 1
  EXPECT_EQ(rows_of({{"x", {5, 3}}}), 5);
  EXPECT_EQ(model->graph({{"x", {5, 4}}}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(model->graph({{"z", {5, 3}}}).status().code(), Code::kInvalidArgument);
}

TEST_F(Models, AreBoundToABatch) {
  const auto output_for = [](const std::string& name, int64_t batch) {
    const auto model = open_model(name);
    SHOAL_CHECK(model.ok());
    const auto loaded = model->graph_for_batch(batch);
    return loaded.ok() ? loaded->graph[loaded->graph.outputs()[0]].type.shape : Shape{};
  };
  EXPECT_EQ(output_for("zoo:lenet5", 8), (Shape{8, 10}));
  EXPECT_EQ(output_for(write_open_model(), 8), (Shape{8, 3}));
  EXPECT_EQ(output_for(write_closed_model(), 2), (Shape{2, 3}));
  EXPECT_EQ(output_for(write_closed_model(), 3), Shape{});  // it declares two rows
}

TEST_F(Models, OutliveTheNameTheyWereOpenedBy) {
  Result<LoadedGraph> loaded = [&]() -> Result<LoadedGraph> {
    SHOAL_ASSIGN(const Model model, open_model(write_open_model()));
    fs::remove_all(folder_);
    return model.graph();
  }();
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->outputs, std::vector<std::string>{"y"});
}

TEST_F(Models, WithShapesThatElementsDecideRunButHaveNoGraph) {
  using namespace onnx::testing;
  const Message bytes = model_of(onnx::testing::graph({{kInput, value_info("x", kFloat, {"4"})},
                                                       {kOutput, value_info("y", kInt64, {})},
                                                       {kNode, node("NonZero", {"x"}, {"n"})},
                                                       {kNode, node("Add", {"n", "n"}, {"y"})}}));
  const fs::path path = folder_ / "non_zero.onnx";
  std::ofstream(path, std::ios::binary) << bytes.bytes();
  const auto model = open_model(path.string());
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->graph().status().code(), Code::kUnsupported);
  auto session = model->session(*device_);
  ASSERT_TRUE(session.ok());
  EXPECT_TRUE(session->run({{"x", Tensor::of<float>({4}, {0, 1, 0, 2})}}).ok());
}

TEST_F(Models, GetRandomInputsOfTheirShapes) {
  const auto model = open_model(write_open_model());
  ASSERT_TRUE(model.ok());
  const auto session = model->session(*device_);
  ASSERT_TRUE(session.ok());
  const auto open = random_inputs(*session);
  ASSERT_TRUE(open.ok());
  EXPECT_EQ(open->at("x").shape(), (Shape{1, 3}));
  const auto four = random_inputs(*session, {{"x", {4, 3}}});
  ASSERT_TRUE(four.ok());
  EXPECT_EQ(four->at("x").shape(), (Shape{4, 3}));
  EXPECT_FALSE(random_inputs(*session, {{"x", {4, 2}}}).ok());
  EXPECT_FALSE(random_inputs(*session, {{"z", {4, 3}}}).ok());
  EXPECT_FALSE(random_inputs(*session, {{"x", {int64_t{1} << 50, 3}}}).ok());
}

TEST(InputShapes, AreANameAndSizes) {
  const auto shapes = parse_input_shapes(std::vector<std::string>{"x=1x3x224x224", "a=b=7", "s="});
  ASSERT_TRUE(shapes.ok());
  EXPECT_EQ(*shapes, (InputShapes{{"x", {1, 3, 224, 224}}, {"a=b", {7}}, {"s", {}}}));
}

TEST(InputShapes, RefuseTwoOfOneInput) {
  const auto shapes = parse_input_shapes(std::vector<std::string>{"x=1", "y=2", "x=3"});
  EXPECT_EQ(shapes.status().code(), Code::kInvalidArgument);
}

TEST(InputShapes, RefuseWhatIsNoShape) {
  for (const char* text : {"x", "x=1x", "x=x1", "x=1,2", "x=-1", "x=1x-2", "x=1xx2", "x=a",
                           "x=99999999999999999999", "x=1x1x1x1x1x1x1x1x1"}) {
    const auto shapes = parse_input_shapes(std::vector<std::string>{text});
    EXPECT_EQ(shapes.status().code(), Code::kInvalidArgument) << text;
    EXPECT_NE(shapes.status().message().find(text), std::string_view::npos) << text;
  }
}

}  // namespace
}  // namespace shoal
