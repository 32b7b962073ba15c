// Sessions on real models: open sizes, stages, wrong inputs, several threads.
#include "shoal/session/session.h"

#include <gtest/gtest.h>

#include <thread>

#include "shoal/cpu/cpu.h"
#include "shoal/graph/text.h"
#include "shoal/onnx/export.h"
#include "shoal/onnx/model.h"
#include "shoal/ops/ops.h"
#include "shoal/zoo/embedded.h"

namespace shoal {
namespace {

Session open_digits(Device& device, SessionOptions options = {}) {
  auto model = onnx::Model::parse(nullptr, zoo::digits_model());
  SHOAL_CHECK(model.ok());
  auto session = Session::open(*model, device, options);
  SHOAL_CHECK(session.ok());
  return *std::move(session);
}

Tensor images(int64_t count) {
  Tensor batch({DType::kF32, {count, 1, 28, 28}});
  float x = 0;
  for (float& pixel : batch.data<float>()) pixel = (x = x > 0.9f ? 0 : x + 0.013f);
  return batch;
}

// A model that goes through ONNX bytes, as a user's would.
Result<Session> open_text(std::string_view text, Device& device) {
  SHOAL_ASSIGN(Graph graph, parse_text(text, ops::find));
  SHOAL_ASSIGN(auto bytes, onnx::to_onnx(graph));
  auto owner = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  SHOAL_ASSIGN(auto model, onnx::Model::parse(owner, *owner));
  return Session::open(std::move(model), device);
}

TEST(Session, AnswersEveryBatchAsItAnswersOneImage) {
  auto device = make_cpu_device();
  Session session = open_digits(*device, {.max_cached_shapes = 2});
  const Tensor seven = images(7);
  auto all = session.run({{"image", seven}});
  ASSERT_TRUE(all.ok()) << all.status().message();
  for (int64_t n : {1, 3, 5, 1, 3}) {  // more shapes than are kept
    auto some = session.run({{"image", crop(seven, {{0, 0, 0, 0}, {n, 1, 28, 28}})}});
    ASSERT_TRUE(some.ok());
    const Tensor& scores = some->at("scores");
    ASSERT_EQ(scores.shape(), (Shape{n, 10}));
    for (size_t i = 0; i < scores.data<float>().size(); ++i) {
      ASSERT_NEAR(scores.data<float>()[i], all->at("scores").data<float>()[i], 1e-4f);
    }
  }
}

TEST(Session, SaysWhatIsWrongWithItsInputs) {
  auto device = make_cpu_device();
  Session session = open_digits(*device);
  auto message = [&](const Session::Tensors& inputs) {
    auto outputs = session.run(inputs);
    EXPECT_FALSE(outputs.ok());
    return outputs.ok() ? "" : std::string(outputs.status().message());
  };
  EXPECT_EQ(message({}), "input image is missing");
  EXPECT_EQ(message({{"picture", images(1)}}), "the model has no input picture");
  EXPECT_EQ(message({{"image", Tensor({DType::kF32, {1, 1, 28, 27}})}}),
            "input image: has shape [1,1,28,27], the model takes [?,1,28,28]");
  EXPECT_EQ(message({{"image", Tensor({DType::kU8, {1, 1, 28, 28}})}}),
            "input image: has elements of type u8, the model takes f32");
}

TEST(Session, SharesItselfBetweenThreads) {
  auto device = make_cpu_device({.threads = 2});
  Session session = open_digits(*device);
  const auto want = session.run({{"image", images(2)}});
  ASSERT_TRUE(want.ok());
  std::vector<std::thread> threads;
  std::vector<int> same(4, 0);
  for (size_t t = 0; t < same.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        auto got = session.run({{"image", images(2)}});
        same[t] +=
            got.ok() && std::ranges::equal(got->at("scores").bytes(), want->at("scores").bytes());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int count : same) EXPECT_EQ(count, 5);
}

TEST(Session, ObserverSeesEveryNode) {
  auto device = make_cpu_device();
  Session session = open_digits(*device);
  size_t seen = 0, nodes = 0;
  auto outputs =
      session.run({{"image", images(1)}}, [&](const Executable& executable, const Trace& trace) {
        nodes += executable.graph().nodes().size();
        for (const TraceEvent& event : trace) seen += event.begin <= event.end ? 1 : 0;
      });
  ASSERT_TRUE(outputs.ok());
  EXPECT_GT(nodes, 0u);
  EXPECT_EQ(seen, nodes);
}

TEST(Session, OutputsMayBeInputsAndConstants) {
  for (auto* make : {+[] { return make_cpu_device(); }, +[] { return make_reference_device(); }}) {
    auto device = make();
    auto session = open_text(
        "input x f32[2]\nconst c f32[2] = [3,4]\ny = Relu(x)\noutput y\noutput x\noutput c\n",
        *device);
    ASSERT_TRUE(session.ok()) << session.status().message();
    auto outputs = session->run({{"x", Tensor::of<float>({2}, {-1, 2})}});
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    ASSERT_EQ(outputs->size(), 3u);
    EXPECT_EQ(outputs->at(session->outputs()[0]).data<float>()[0], 0);
    EXPECT_EQ(outputs->at(session->outputs()[1]).data<float>()[0], -1);
    EXPECT_EQ(outputs->at(session->outputs()[2]).data<float>()[1], 4);
  }
}

}  // namespace
}  // namespace shoal
