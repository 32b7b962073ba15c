#include "shoal/shrink/exits/network/places.h"

#include <gtest/gtest.h>

#include "shoal/shrink/exits/network/exits_testing.h"

namespace shoal::exits {
namespace {

// x -> conv -> relu -> [conv -> relu -> conv] + -> relu -> conv -> relu -> mean -> flat -> gemm
class Residual : public ::testing::Test {
 protected:
  Residual() {
    ValueId x = graph_.add_input("x", {DType::kF32, {2, 3, 8, 8}});
    x = relu(conv(x, "conv1"), "relu1");
    const ValueId skip = x;
    x = conv(relu(conv(x, "conv2"), "relu2"), "conv3");
    x = relu(add(ops::add, {x, skip}, "sum"), "relu3");
    x = relu(conv(x, "conv4"), "relu4");
    x = add(ops::flatten, {add(ops::global_average_pool, {x}, "mean")}, "flat");
    const ValueId w = graph_.add_constant("fc.weight", Tensor({DType::kF32, {3, 10}}));
    graph_.mark_output(add(ops::gemm, {x, w}, "scores"));
  }

  ValueId add(const Operator& op, std::vector<ValueId> inputs, const std::string& name,
              Attributes attributes = {}) {
    const auto result = graph_.add(op, std::move(inputs), std::move(attributes), name);
    SHOAL_CHECK(result.ok());
    return *result;
  }
  ValueId relu(ValueId x, const std::string& name) { return add(ops::relu, {x}, name); }
  ValueId conv(ValueId x, const std::string& name) {
    const Shape shape{3, graph_[x].type.shape[1], 3, 3};
    const ValueId w = graph_.add_constant(name + ".weight", Tensor({DType::kF32, shape}));
    return add(ops::conv, {x, w}, name, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  }
  std::vector<std::string> names(const Result<std::vector<ValueId>>& places) const {
    EXPECT_TRUE(places.ok()) << places.status().message();
    std::vector<std::string> names;
    for (ValueId id : places.ok() ? *places : std::vector<ValueId>()) {
      names.push_back(graph_[id].name);
    }
    return names;
  }
  std::string refusal(const std::vector<std::string>& at) const {
    const auto places = find_places(graph_, at);
    EXPECT_EQ(places.status().code(), Code::kInvalidArgument) << at[0];
    return std::string(places.status().message());
  }

  Graph graph_;
};

TEST_F(Residual, HasPlacesAtTheEndsOfBlocks) {
  EXPECT_EQ(names(even_places(graph_, 1)), (std::vector<std::string>{"relu3"}));
  EXPECT_EQ(names(even_places(graph_, 2)), (std::vector<std::string>{"relu1", "relu3"}));
}

TEST_F(Residual, HasNoMorePlacesThanItsStructureAllows) {
  const auto places = even_places(graph_, 5);
  EXPECT_EQ(places.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(even_places(graph_, 0).status().code(), Code::kInvalidArgument);
}

TEST_F(Residual, FindsPlacesInTheOrderOfDepth) {
  const std::vector<std::string> wanted{"relu1", "conv2", "relu3"};
  EXPECT_EQ(names(find_places(graph_, std::vector<std::string>{"relu3", "relu1", "conv2"})),
            wanted);
}

TEST_F(Residual, RefusesNamesThatAreNoPlaces) {
  EXPECT_NE(refusal({"relu1", "nowhere"}).find("no value nowhere"), std::string::npos);
  EXPECT_NE(refusal({"conv1.weight"}).find("a constant"), std::string::npos);
  EXPECT_NE(refusal({"x"}).find("the input"), std::string::npos);
  EXPECT_NE(refusal({"scores"}).find("the output"), std::string::npos);
  EXPECT_NE(refusal({"relu1", "relu1"}).find("twice"), std::string::npos);
  EXPECT_EQ(find_places(graph_, {}).status().code(), Code::kInvalidArgument);
  const ValueId aside = add(ops::relu, {graph_.inputs()[0]}, "aside");
  EXPECT_NE(refusal({graph_[aside].name}).find("no influence"), std::string::npos);
}

TEST_F(Residual, RefusesValuesWithoutABatch) {
  Graph chain;
  const ValueId x = chain.add_input("x", {DType::kF32, {2, 3, 8, 8}});
  const ValueId to = chain.add_constant("shape", Tensor::of<int64_t>({2}, {1, -1}));
  const auto l = chain.add(ops::reshape, {x, to}, {}, "line");
  const ValueId to2 = chain.add_constant("back", Tensor::of<int64_t>({2}, {2, 192}));
  const auto r = chain.add(ops::reshape, {*l, to2}, {}, "rows");
  chain.mark_output(*chain.add(ops::relu, {*r}, {}, "scores"));
  graph_ = chain;
  EXPECT_NE(refusal({"line"}).find("f32[1,384]"), std::string::npos);
  EXPECT_EQ(names(find_places(graph_, std::vector<std::string>{"rows"})).size(), 1u);
}

TEST_F(Residual, IsAClassifier) { EXPECT_TRUE(check_classifier(graph_).ok()); }

TEST_F(Residual, IsNoneWithASecondOutput) {
  graph_.mark_output(graph_.outputs()[0]);
  EXPECT_EQ(check_classifier(graph_).code(), Code::kInvalidArgument);
}

TEST_F(Residual, IsNoneUpToItsFeatures) {
  Graph features;
  const ValueId x = features.add_input("x", {DType::kF32, {2, 3, 8, 8}});
  features.mark_output(*features.add(ops::relu, {x}, {}, "y"));
  EXPECT_NE(check_classifier(features).message().find("no classifier"), std::string::npos);
}

TEST(CheckClassifier, RefusesQuantisedNetworksByTheNodeThatIs) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, 4}});
  const ValueId scale = graph.add_constant("s", Tensor::of<float>({}, {0.1F}));
  const ValueId zero = graph.add_constant("z", Tensor({DType::kI8, {}}));
  const auto q = graph.add(ops::quantize_linear, {x, scale, zero}, {}, "q");
  graph.mark_output(*graph.add(ops::dequantize_linear, {*q, scale, zero}, {}, "y"));
  const Status refused = check_classifier(graph);
  EXPECT_EQ(refused.code(), Code::kUnsupported);
  EXPECT_NE(refused.message().find("QuantizeLinear q is quantised"), std::string::npos)
      << refused.message();
}

}  // namespace
}  // namespace shoal::exits
