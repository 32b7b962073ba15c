#include "shoal/model/onnx/program/onnx_model.h"

#include <gtest/gtest.h>

#include <fstream>

#include "shoal/model/onnx/program/encode_testing.h"

namespace shoal::onnx {
namespace {

using namespace testing;

std::string error_of(const Message& bytes) {
  auto model = parse(bytes);
  return model.ok() ? "no error" : std::string(model.status().message());
}

// A graph that reads `x` and says `y` is what its nodes compute.
Message graph_of(std::initializer_list<Message> nodes) {
  Message graph;
  graph.message(kInput, value_info("x", kFloat, {"2"}))
      .message(kOutput, value_info("y", kFloat, {}));
  for (const Message& node : nodes) graph.message(kNode, node);
  return graph;
}

// y = the initializer, which is what a test is about.
Result<Tensor> load(const Message& tensor) {
  Message graph;
  graph.message(kInitializer, tensor).message(kOutput, value_info("w", kFloat, {}));
  SHOAL_ASSIGN(auto model, parse(model_of(graph)));
  return model->program().constants[0];
}

TEST(Model, SaysWhatItTakesAndGives) {
  auto model = parse(model_of(graph_of({node("Relu", {"x"}, {"y"})}), 13));
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_EQ((*model)->inputs().size(), 1u);
  EXPECT_EQ((*model)->inputs()[0].name, "x");
  EXPECT_EQ(to_string((*model)->inputs()[0].type), "f32[2]");
  EXPECT_EQ((*model)->outputs()[0].name, "y");
  EXPECT_EQ((*model)->metadata().opsets[0].second, 13);
}

TEST(Model, RefusesWhatIsNoModel) {
  EXPECT_EQ(error_of(Message()), "not an ONNX model: it has no graph");
  EXPECT_EQ(error_of(Message().message(7, Message())), "IR version 0 is older than 3");
}

TEST(Model, RefusesGraphsThatAreNone) {
  EXPECT_EQ(error_of(model_of(graph_of({node("Relu", {"z"}, {"y"}, {}, "n")}))),
            "n: the value z is used, but nothing computes it");
  EXPECT_EQ(
      error_of(model_of(graph_of({node("Add", {"x", "b"}, {"y"}), node("Neg", {"y"}, {"b"})}))),
      "y: the value b is used before it is computed: the nodes are out of order or form a "
      "cycle");
  EXPECT_EQ(error_of(model_of(graph_of({node("Relu", {"x"}, {"y"}), node("Neg", {"x"}, {"y"})}))),
            "y: the value y is defined twice");
  EXPECT_EQ(error_of(model_of(graph_of({node("Relu", {"x"}, {"z"})}))),
            "graph outputs: the value y is used, but nothing computes it");
}

TEST(Model, NamesAllUnsupportedOperatorsAtOnce) {
  const Message graph =
      graph_of({node("Foo", {"x"}, {"a"}, {}, "one"), node("Relu", {"a"}, {"b"}),
                node("Bar", {"b"}, {"c"}, {}, "two\n", "local"), node("Foo", {"c"}, {"y"})});
  auto model = parse(model_of(graph));
  EXPECT_EQ(model.status().code(), Code::kUnsupported);
  EXPECT_EQ(model.status().message(),
            "unsupported operators: Foo (node one, y), local.Bar (node two\\x0a)");
}

TEST(Model, RefusesOpsetsItDoesNotKnow) {
  EXPECT_EQ(error_of(model_of(graph_of({node("Relu", {"x"}, {"y"})}), 0)),
            "y: opset 0 does not exist");
}

Message function(std::string_view name, std::initializer_list<Message> nodes) {
  Message function;
  function.text(1, name).text(4, "a").text(5, "b");
  for (const Message& node : nodes) function.message(7, node);
  return function.message(9, Message().integer(2, 17)).text(10, "local");
}

Message call(std::string_view name, std::string_view input, std::string_view output) {
  return node(name, {input}, {output}, {}, "call", "local");
}

TEST(Model, InlinesFunctions) {
  const Message inner = function("Inner", {node("Relu", {"a"}, {"b"}, {}, "relu")});
  const Message outer = function("Outer", {call("Inner", "a", "m"), call("Inner", "m", "b")});
  auto model = parse(model_of(graph_of({call("Outer", "x", "y")}), 17, {inner, outer}));
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Program& program = (*model)->program();
  ASSERT_EQ(program.main.steps.size(), 2u);
  EXPECT_EQ(program.place_of(program.main.steps[0]), "call/call/relu");
  EXPECT_EQ(program.main.steps[1].inputs, program.main.steps[0].outputs);
}

TEST(Model, RefusesFunctionsThatCallThemselves) {
  const Message one = function("One", {call("Two", "a", "b")});
  const Message two = function("Two", {call("One", "a", "b")});
  EXPECT_EQ(error_of(model_of(graph_of({call("One", "x", "y")}), 17, {one, two})),
            "call: call/call: call/call/call: function One calls itself");
}

TEST(Model, GivesFunctionsTheAttributesOfTheCall) {
  const Message reference =
      Message().text(1, "alpha").integer(20, 1).text(21, "slope");  // alpha = the call's slope
  const Message leaky = function("Leaky", {node("LeakyRelu", {"a"}, {"b"}, {reference})});
  const Message call = node("Leaky", {"x"}, {"y"}, {real("slope", 0.25f)}, "call", "local");
  auto model = parse(model_of(graph_of({call}), 17, {leaky}));
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Attributes& attributes = (*model)->program().main.steps[0].attributes;
  EXPECT_EQ(std::get<float>(attributes.at("alpha")), 0.25f);
}

TEST(Model, RefusesAttributesOfTheWrongType) {
  const Message relu = node("LeakyRelu", {"x"}, {"y"}, {integer("alpha", 1)}, "n");
  EXPECT_EQ(error_of(model_of(graph_of({relu}))), "n: attribute alpha has the wrong type");
}

TEST(Tensors, AreViewsOfTheFileWhereAlignmentAllows) {
  size_t views = 0;
  for (size_t shift = 0; shift < 4; ++shift) {
    const Message w = tensor<float>("w", kFloat, {2}, {1.5f, -2}).text(12, std::string(shift, 'd'));
    Message graph;
    graph.text(10, std::string(shift, 'd')).message(kInitializer, w);
    graph.message(kOutput, value_info("w", kFloat, {}));
    auto owner = std::make_shared<const std::string>(model_of(graph).bytes());
    const auto bytes = std::as_bytes(std::span<const char>(*owner));
    auto model = Model::parse(owner, bytes);
    ASSERT_TRUE(model.ok()) << model.status().message();
    const Tensor& loaded = (*model)->program().constants[0];
    EXPECT_EQ(loaded.data<float>()[1], -2);
    const std::byte* data = loaded.bytes().data();
    views += data >= bytes.data() && data < bytes.data() + bytes.size();
  }
  EXPECT_EQ(views, 1u);
}

TEST(Tensors, ConvertsTypedData) {
  auto typed = [](int type, uint32_t field, std::initializer_list<int64_t> values) {
    Message tensor;
    tensor.integer(1, static_cast<int64_t>(values.size())).integer(2, type).text(8, "w");
    for (int64_t value : values) tensor.integer(field, value);
    return tensor;
  };
  auto i8 = load(typed(3, 5, {-128, 127}));
  ASSERT_TRUE(i8.ok()) << i8.status().message();
  EXPECT_EQ(i8->data<int8_t>()[0], -128);
  auto f16 = load(typed(10, 5, {0x3c00}));
  ASSERT_TRUE(f16.ok()) << f16.status().message();
  EXPECT_EQ(static_cast<float>(f16->data<Half>()[0]), 1.0f);
  auto boolean = load(typed(9, 5, {0, 1}));
  ASSERT_TRUE(boolean.ok());
  EXPECT_TRUE(boolean->data<bool>()[1]);
  EXPECT_EQ(load(typed(9, 5, {2})).status().message(), "w: an element does not fit its type");
  EXPECT_EQ(load(typed(3, 5, {128})).status().message(), "w: an element does not fit its type");
  EXPECT_EQ(load(typed(3, 7, {1})).status().message(),
            "w: its elements are stored as another type");
  auto u64 = load(typed(13, 11, {-1}));
  ASSERT_TRUE(u64.ok());
  EXPECT_EQ(u64->data<uint64_t>()[0], ~uint64_t{0});
}

TEST(Tensors, RefusesElementsThatDoNotFillTheShape) {
  EXPECT_EQ(load(tensor<float>("w", kFloat, {3}, {1, 2})).status().message(),
            "w: has 8 bytes, its type f32[3] needs 12");
  EXPECT_EQ(load(tensor<float>("w", kFloat, {-1}, {1})).status().message(),
            "w: dimension -1 is out of range");
  EXPECT_EQ(load(tensor<uint8_t>("w", 9, {1}, {2})).status().message(),
            "w: a bool is neither 0 nor 1");
  EXPECT_EQ(load(tensor<uint8_t>("w", 14, {1}, {2})).status().message(),
            "w: elements of type complex64 are not supported");
}

TEST(Tensors, ExpandsSparseOnes) {
  const Message values = tensor<float>("w", kFloat, {2}, {5, 7});
  auto sparse = [&](std::vector<int64_t> indices) {
    const auto n = static_cast<int64_t>(indices.size());
    Message graph;
    graph.message(15, Message()
                          .message(1, values)
                          .message(2, tensor<int64_t>("i", kInt64, {n}, indices))
                          .integer(3, 2)
                          .integer(3, 2));
    return parse(model_of(graph.message(kOutput, value_info("w", kFloat, {}))));
  };
  auto model = sparse({1, 2});
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Tensor& dense = (*model)->program().constants[0];
  EXPECT_EQ(dense.shape(), (Shape{2, 2}));
  EXPECT_EQ(dense.data<float>()[1], 5);
  EXPECT_EQ(dense.data<float>()[2], 7);
  EXPECT_EQ(sparse({1, 4}).status().message(), "w: an index is out of range");
}

TEST(Tensors, ExpandSparseOnesOfEveryCallOfAFunction) {
  const Message sparse = Message()
                             .message(1, tensor<float>("", kFloat, {2}, {5, 7}))
                             .message(2, tensor<int64_t>("", kInt64, {2}, {1, 2}))
                             .integer(3, 2)
                             .integer(3, 2);
  const Message value = Message().text(1, "sparse_value").message(22, sparse).integer(20, 11);
  const Message f =
      function("F", {node("Constant", {}, {"c"}, {value}), node("Add", {"a", "c"}, {"b"})});
  const Message calls = graph({{kNode, call("F", "x", "m")},
                               {kNode, call("F", "m", "y")},
                               {kInput, value_info("x", kFloat, {"2", "2"})},
                               {kOutput, value_info("y", kFloat, {})}});
  const auto model = parse(model_of(calls, 17, {f}));
  ASSERT_TRUE(model.ok()) << model.status().message();
  const std::vector<Tensor>& constants = (*model)->program().constants;
  ASSERT_EQ(constants.size(), 2u);
  for (const Tensor& dense : constants) EXPECT_EQ(dense.shape(), (Shape{2, 2}));
}

// A model in a folder of its own, with external data beside it.
class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("shoal_onnx_" + std::to_string(::getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_ / "model");
    write("model/w.bin", std::string(3, '\0') + std::string("\0\0\x80\x3f\0\0\0\x40", 8));
    write("secret.bin", std::string(16, 's'));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }

  Result<std::shared_ptr<const Model>> open(std::string_view location, std::string_view offset) {
    auto entry = [](std::string_view key, std::string_view value) {
      return Message().text(1, key).text(2, value);
    };
    const Message w = Message()
                          .integer(1, 2)
                          .integer(2, kFloat)
                          .text(8, "w")
                          .message(13, entry("location", location))
                          .message(13, entry("offset", offset))
                          .integer(14, 1);
    Message graph;
    graph.message(kInitializer, w).message(kOutput, value_info("w", kFloat, {}));
    write("model/model.onnx", model_of(graph).bytes());
    return Model::open(folder_ / "model" / "model.onnx");
  }

  std::filesystem::path folder_;
};

TEST_F(ExternalData, IsReadAtAnyOffset) {
  auto model = open("w.bin", "3");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ((*model)->program().constants[0].data<float>()[0], 1.0f);
  EXPECT_EQ((*model)->program().constants[0].data<float>()[1], 2.0f);
}

TEST_F(ExternalData, IsRefusedBeyondTheEndAndOutsideTheFolder) {
  EXPECT_EQ(open("w.bin", "4").status().code(), Code::kCorrupt);
  EXPECT_EQ(open("w.bin", "9223372036854775807").status().code(), Code::kCorrupt);
  EXPECT_FALSE(open("../secret.bin", "0").ok());
  EXPECT_FALSE(open((folder_ / "secret.bin").string(), "0").ok());
  EXPECT_FALSE(open("missing.bin", "0").ok());
  std::filesystem::create_symlink(folder_ / "secret.bin", folder_ / "model" / "link.bin");
  EXPECT_FALSE(open("link.bin", "0").ok());
}

}  // namespace
}  // namespace shoal::onnx
