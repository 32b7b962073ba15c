#include "shoal/engine/session/session.h"

#include <gtest/gtest.h>

#include <functional>
#include <latch>
#include <thread>

#include "shoal/engine/session/model.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/onnx/export/export.h"
#include "shoal/model/onnx/program/encode_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;
using Tensors = Session::Tensors;

// A model that goes through ONNX bytes, as a user's would.
Result<Session> open_text(std::string_view text, Device& device) {
  SHOAL_ASSIGN(Graph graph, parse_text(text, ops::find));
  SHOAL_ASSIGN(auto bytes, onnx::to_onnx(graph));
  auto owner = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  SHOAL_ASSIGN(const Model model, parse_model(owner, *owner));
  return model.session(device);
}

Tensor floats(std::initializer_list<float> values) {
  return Tensor::of<float>({static_cast<int64_t>(values.size())}, values);
}
Tensor integer(int64_t value) { return Tensor::of<int64_t>({1}, {value}); }
std::vector<float> to_vector(const Tensor& tensor) {
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}

// The reference device, with something to be called before it compiles.
class WatchedDevice : public Device {
 public:
  const DeviceInfo& info() const override { return device_->info(); }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    ++compiled;
    if (on_compile) on_compile();
    return device_->compile(graph);
  }

  std::atomic<int> compiled = 0;
  std::function<void()> on_compile;

 private:
  std::unique_ptr<Device> device_ = make_reference_device();
};

constexpr const char* kRelu = "input x f32[2]\ny = Relu(x)\noutput y\n";

Result<Session> open_model(const onnx::testing::Message& graph, Device& device) {
  const auto bytes = std::make_shared<const std::string>(onnx::testing::model_of(graph).bytes());
  SHOAL_ASSIGN(const Model model, parse_model(bytes, std::as_bytes(std::span(*bytes))));
  return model.session(device);
}

// Elements of `start` and `end` decide the shape of y.
Result<Session> open_slice(Device& device) {
  using namespace onnx::testing;
  return open_model(graph({{kInput, value_info("x", kFloat, {"4"})},
                           {kInput, value_info("start", kInt64, {"1"})},
                           {kInput, value_info("end", kInt64, {"1"})},
                           {kNode, node("Slice", {"x", "start", "end"}, {"s"})},
                           {kNode, node("Relu", {"s"}, {"y"})},
                           {kOutput, value_info("y", kFloat, {"n"})}}),
                    device);
}

TEST(Session, SaysWhatIsWrongWithItsInputs) {
  const auto device = make_reference_device();
  auto session = open_text(kRelu, *device);
  ASSERT_TRUE(session.ok()) << session.status().message();
  const auto message = [&](const Tensors& inputs) {
    auto outputs = session->run(inputs);
    EXPECT_FALSE(outputs.ok());
    EXPECT_EQ(session->accepts(inputs).message(), outputs.status().message());
    return outputs.ok() ? "" : std::string(outputs.status().message());
  };
  EXPECT_EQ(message({}), "input x is missing");
  EXPECT_EQ(message({{"picture", floats({1, 2})}}), "the model has no input picture");
  EXPECT_EQ(message({{"x", floats({1, 2, 3})}}), "input x: has shape [3], the model takes [2]");
  EXPECT_EQ(message({{"x", Tensor({DType::kU8, {2}})}}),
            "input x: has elements of type u8, the model takes f32");
}

TEST(Session, OutputsMayBeInputsAndConstants) {
  const auto device = make_reference_device();
  auto session = open_text(
      "input x f32[2]\nconst c f32[2] = [3,4]\ny = Relu(x)\noutput y\noutput x\noutput c\n",
      *device);
  ASSERT_TRUE(session.ok()) << session.status().message();
  auto outputs = session->run({{"x", floats({-1, 2})}});
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  ASSERT_EQ(outputs->size(), 3u);
  EXPECT_EQ(to_vector(outputs->at(session->outputs()[0])), (std::vector<float>{0, 2}));
  EXPECT_EQ(to_vector(outputs->at(session->outputs()[1])), (std::vector<float>{-1, 2}));
  EXPECT_EQ(to_vector(outputs->at(session->outputs()[2])), (std::vector<float>{3, 4}));
}

TEST(Session, RunsByPosition) {
  const auto device = make_reference_device();
  auto graph =
      parse_text("input a f32[1]\ninput b f32[1]\ny = Sub(a, b)\noutput y\noutput y\n", ops::find);
  auto session = Session::open(*graph, *device);
  ASSERT_TRUE(session.ok()) << session.status().message();
  const std::vector<Tensor> inputs = {floats({5}), floats({3})};
  std::vector<Tensor> outputs(2);
  ASSERT_TRUE(session->run(inputs, outputs).ok());
  EXPECT_EQ(to_vector(outputs[0]), (std::vector<float>{2}));
  EXPECT_EQ(to_vector(outputs[1]), (std::vector<float>{2}));

  EXPECT_EQ(session->run(std::span(inputs).first(1), outputs).message(), "input b is missing");
  EXPECT_EQ(session->run(inputs, std::span(outputs).first(1)).message(), "the model has 2 outputs");
  outputs[0] = Tensor({DType::kF32, {7}});
  EXPECT_EQ(session->run(inputs, outputs).message(),
            "an output is f32[1], memory was given for f32[7]");
}

TEST(Session, ObserverSeesEveryNodeAndMayRunTheSession) {
  const auto device = make_reference_device();
  auto session = open_text(kRelu, *device);
  ASSERT_TRUE(session.ok());
  size_t seen = 0;
  const auto observer = [&](const Executable& executable, const Trace& trace) {
    EXPECT_EQ(trace.size(), executable.graph().nodes().size());
    for (const TraceEvent& event : trace) EXPECT_LE(event.begin, event.end);
    seen += trace.size();
    EXPECT_TRUE(session->run({{"x", floats({1, 2})}}).ok());
  };
  ASSERT_TRUE(session->run({{"x", floats({1, 2})}}, {.observer = observer}).ok());
  EXPECT_EQ(seen, 1u);
}

TEST(Session, PreparesWhatItRuns) {
  WatchedDevice device;
  auto session = open_text(kRelu, device);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(device.compiled, 0);
  ASSERT_TRUE(session->prepare().ok());
  EXPECT_EQ(device.compiled, 1);
  ASSERT_TRUE(session->run({{"x", floats({1, 2})}}).ok());
  EXPECT_EQ(device.compiled, 1) << "the request compiled again";
  EXPECT_EQ(session->prepare({{"z", {2}}}).message(), "the model has no input z");
  EXPECT_EQ(session->prepare({{"x", {3}}}).message(),
            "input x: has shape [3], the model takes [2]");
}

TEST(Session, PreparesByElementsWhereTheyDecideShapes) {
  WatchedDevice device;
  auto session = open_slice(device);
  ASSERT_TRUE(session.ok()) << session.status().message();
  EXPECT_EQ(session->prepare().code(), Code::kUnsupported);
  const Tensors inputs = {{"x", floats({1, 2, 3, 4})}, {"start", integer(1)}, {"end", integer(3)}};
  ASSERT_TRUE(session->prepare_for(inputs).ok());
  const int compiled = device.compiled;
  auto outputs = session->run(inputs);
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(to_vector(outputs->at("y")), (std::vector<float>{2, 3}));
  EXPECT_EQ(device.compiled, compiled);
}

TEST(Session, KeepsNothingOfTensorsThatTheCallerWritesTo) {
  const auto device = make_reference_device();
  auto session = open_slice(*device);
  ASSERT_TRUE(session.ok());
  Tensor start = integer(0), end = integer(2);
  const auto slice = [&] {
    auto outputs = session->run({{"x", floats({1, 2, 3, 4})}, {"start", start}, {"end", end}});
    EXPECT_TRUE(outputs.ok());
    return to_vector(outputs->at("y"));
  };
  EXPECT_EQ(slice(), (std::vector<float>{1, 2}));
  start.data<int64_t>()[0] = 1;
  end.data<int64_t>()[0] = 4;
  EXPECT_EQ(slice(), (std::vector<float>{2, 3, 4})) << "the first form was taken";
  start = integer(0), end = integer(2);
  EXPECT_EQ(slice(), (std::vector<float>{1, 2})) << "the first form was changed by the caller";
}

TEST(Session, PreparesForTheShapesThatAreLeftOpen) {
  using namespace onnx::testing;
  WatchedDevice device;
  auto session = open_model(graph({{kInput, value_info("x", kFloat, {"batch", "2"})},
                                   {kNode, node("Relu", {"x"}, {"y"})},
                                   {kOutput, value_info("y", kFloat, {"batch", "2"})}}),
                            device);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(session->prepare().message(), "the model does not say which shape input x has");
  ASSERT_TRUE(session->prepare({{"x", {3, 2}}}).ok());
  ASSERT_TRUE(session->run({{"x", Tensor({DType::kF32, {3, 2}})}}).ok());
  EXPECT_EQ(device.compiled, 1);
  ASSERT_TRUE(session->run({{"x", Tensor({DType::kF32, {5, 2}})}}).ok());
  EXPECT_EQ(device.compiled, 2);
}

TEST(Session, PreparesForADeclaredShapeThatNobodyReads) {
  using namespace onnx::testing;
  WatchedDevice device;
  auto session = open_model(graph({{kInput, value_info("x", kFloat, {"2"})},
                                   {kInput, value_info("unread", kFloat, {"3"})},
                                   {kNode, node("Relu", {"x"}, {"y"})},
                                   {kOutput, value_info("y", kFloat, {"2"})}}),
                            device);
  ASSERT_TRUE(session.ok()) << session.status().message();
  const Status prepared = session->prepare();
  ASSERT_TRUE(prepared.ok()) << prepared.message();
  ASSERT_TRUE(session->run({{"x", floats({1, 2})}, {"unread", floats({1, 2, 3})}}).ok());
  EXPECT_EQ(device.compiled, 1) << "the request compiled again";
}

// How many elements are not zero is known only when they are there.
TEST(Session, RunsAModelInStagesWhereShapesDependOnWhatItComputes) {
  using namespace onnx::testing;
  WatchedDevice device;
  auto session = open_model(graph({{kInput, value_info("x", kFloat, {"4"})},
                                   {kNode, node("Relu", {"x"}, {"r"})},
                                   {kNode, node("NonZero", {"r"}, {"n"})},
                                   {kNode, node("Transpose", {"n"}, {"t"})},
                                   {kNode, node("GatherND", {"r", "t"}, {"g"})},
                                   {kNode, node("Neg", {"g"}, {"y"})},
                                   {kOutput, value_info("y", kFloat, {"n"})}}),
                            device);
  ASSERT_TRUE(session.ok()) << session.status().message();
  const auto run = [&](std::initializer_list<float> x) {
    size_t stages = 0;
    auto outputs = session->run({{"x", floats(x)}},
                                {.observer = [&](const Executable&, const Trace&) { ++stages; }});
    EXPECT_TRUE(outputs.ok()) << outputs.status().message();
    EXPECT_EQ(stages, 2u);
    return outputs.ok() ? to_vector(outputs->at("y")) : std::vector<float>();
  };
  EXPECT_EQ(run({1, -1, 2, -2}), (std::vector<float>{-1, -2}));
  EXPECT_EQ(run({-1, -1, -1, 7}), (std::vector<float>{-7}));
  const int compiled = device.compiled;
  EXPECT_EQ(run({1, -5, 2, -5}), (std::vector<float>{-1, -2}));
  EXPECT_EQ(device.compiled, compiled) << "a stage was compiled again";
}

TEST(Session, KeepsTheFormsUsedLast) {
  WatchedDevice device;
  auto session = open_slice(device);
  ASSERT_TRUE(session.ok());
  const auto run = [&](int64_t length) {
    ASSERT_TRUE(
        session->run({{"x", floats({1, 2, 3, 4})}, {"start", integer(0)}, {"end", integer(length)}})
            .ok());
  };
  for (int64_t length : {0, 1, 2, 3}) run(length);
  const int four = device.compiled;
  run(0);
  EXPECT_EQ(device.compiled, four);
  run(4);  // drops length 1, which was used longest ago
  EXPECT_EQ(device.compiled, four + 1);
  run(0);
  EXPECT_EQ(device.compiled, four + 1);
  run(1);
  EXPECT_EQ(device.compiled, four + 2);
}

// A session that one thread is compiling, until it is released.
class Compiling {
 public:
  Compiling() : session(*open_text(kRelu, device)) {
    device.on_compile = [&] {
      entered.count_down();
      go_on.wait();
    };
    thread = std::thread([&] { ok = session.run({{"x", floats({-1, 2})}}).ok(); });
    entered.wait();
  }
  ~Compiling() {
    if (thread.joinable()) finish();
  }
  void finish() {
    go_on.count_down();
    thread.join();
  }

  WatchedDevice device;
  Session session;
  std::latch entered{1}, go_on{1};
  bool ok = false;
  std::thread thread;
};

TEST(Session, CompilesOnceForTwoThreadsThatNeedTheSame) {
  Compiling other;
  std::atomic<bool> same = false;
  std::jthread second([&] {
    auto outputs = other.session.run({{"x", floats({-3, 3})}});
    same = outputs.ok() && to_vector(outputs->at("y")) == std::vector<float>{0, 3};
  });
  other.finish();
  second.join();
  EXPECT_TRUE(other.ok);
  EXPECT_TRUE(same);
  EXPECT_EQ(other.device.compiled, 1);
}

TEST(Session, WaitsForAnothersCompilingNoLongerThanItsLimits) {
  Compiling other;
  const Tensors inputs = {{"x", floats({1, 2})}};
  EXPECT_EQ(other.session.run(inputs, {.deadline = Clock::now()}).status().code(), Code::kDeadline);
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(other.session.run(inputs, {.cancel = source.get_token()}).status().code(),
            Code::kCancelled);
  other.finish();
  EXPECT_TRUE(other.session.run(inputs).ok());
}

TEST(Session, TellsAllWhoWaitThatCompilingFailed) {
  WatchedDevice device;
  auto session = open_text(kRelu, device);
  ASSERT_TRUE(session.ok());
  device.on_compile = [] { throw std::bad_alloc(); };
  EXPECT_EQ(session->run({{"x", floats({1, 2})}}).status().code(), Code::kExhausted);
  device.on_compile = {};
  EXPECT_TRUE(session->run({{"x", floats({1, 2})}}).ok()) << "a failure was kept";
}

// An operator that copies its input and tells the test that it is at it.
std::function<void()> on_pause;
Result<std::vector<TensorType>> same_type(const Node&, std::span<const Operand> inputs) {
  return std::vector{inputs[0].type};
}
void pause(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  on_pause();
  std::ranges::copy(inputs[0].bytes(), outputs[0].bytes().begin());
}
const Operator kPause = {.name = "Pause", .infer = same_type, .reference = pause};

Session open_paused(Device& device) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {2}});
  graph.mark_output(*graph.add(ops::relu, {*graph.add(kPause, {x})}));
  auto session = Session::open(graph, device);
  SHOAL_CHECK(session.ok());
  return *std::move(session);
}

TEST(Session, EndsARequestThatIsCancelledWhileItRuns) {
  const auto device = make_reference_device();
  Session session = open_paused(*device);
  std::stop_source source;
  on_pause = [&] { source.request_stop(); };
  const auto outputs = session.run({{"x", floats({1, 2})}}, {.cancel = source.get_token()});
  EXPECT_EQ(outputs.status().code(), Code::kCancelled);
  on_pause = [] {};
  EXPECT_TRUE(session.run({{"x", floats({1, 2})}}).ok());
}

TEST(Session, EndsARequestWhoseDeadlineHasPassed) {
  const auto device = make_reference_device();
  Session session = open_paused(*device);
  on_pause = [] { ADD_FAILURE() << "a node ran after the deadline"; };
  const auto outputs = session.run({{"x", floats({1, 2})}}, {.deadline = Clock::now()});
  EXPECT_EQ(outputs.status().code(), Code::kDeadline);
}

TEST(Session, AnswersWhileAnotherRequestRuns) {
  const auto device = make_reference_device();
  Session session = open_paused(*device);
  std::latch entered(1), go_on(1);
  std::atomic<int> pauses = 0;
  on_pause = [&] {
    if (pauses++ > 0) return;
    entered.count_down();
    go_on.wait();
  };
  std::jthread first([&] { EXPECT_TRUE(session.run({{"x", floats({1, 2})}}).ok()); });
  entered.wait();
  EXPECT_TRUE(session.run({{"x", floats({1, 2})}}).ok());
  go_on.count_down();
}

}  // namespace
}  // namespace shoal
