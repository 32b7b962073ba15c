// Sessions on real models and the CPU: open sizes, several threads.
#include <gtest/gtest.h>

#include <thread>

#include "shoal/base/math/random.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/session/model.h"
#include "shoal/model/zoo/zoo.h"

namespace shoal {
namespace {

using Tensors = Session::Tensors;

Session open_digits(Device& device, SessionOptions options = {}) {
  auto session = Session::open(std::string(kDigitsModel), device, options);
  SHOAL_CHECK(session.ok());
  return *std::move(session);
}

Tensor images(int64_t count) {
  Tensor batch({DType::kF32, {count, 1, 28, 28}});
  float x = 0;
  for (float& pixel : batch.data<float>()) pixel = (x = x > 0.9f ? 0 : x + 0.013f);
  return batch;
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

// What a session answers to 8 inputs, one after the other.
std::vector<Tensors> answers_alone(Session& session, const std::vector<Tensors>& inputs) {
  std::vector<Tensors> answers;
  for (const Tensors& input : inputs) answers.push_back(*session.run(input));
  return answers;
}

std::vector<Tensors> random_inputs(const Session& session, size_t count) {
  std::vector<Tensors> inputs(count);
  for (size_t i = 0; i < count; ++i) {
    for (const TensorInfo& input : session.inputs()) {
      Tensor tensor({*input.dtype, Shape(input.sizes())});
      fill_uniform(tensor.data<float>(), RandomStream(1, i), -1, 1);
      inputs[i][input.name] = tensor;
    }
  }
  return inputs;
}

bool is_same(const Tensors& a, const Tensors& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first && std::ranges::equal(x.second.bytes(), y.second.bytes());
  });
}

struct Load {
  const char* network;
  size_t requests;  // of each thread
};

class Threads : public testing::TestWithParam<Load> {};

// With two threads in the device's pool, so that requests find it busy, and free, by turns.
TEST_P(Threads, GetTheAnswersThatOneGets) {
  const auto device = make_cpu_device({.threads = 2});
  auto session = Session::open(*zoo::build(GetParam().network), *device);
  ASSERT_TRUE(session.ok()) << session.status().message();
  const std::vector<Tensors> inputs = random_inputs(*session, 3);
  const std::vector<Tensors> want = answers_alone(*session, inputs);
  for (const size_t count : {1u, 2u, 4u, 8u}) {
    std::atomic<size_t> right = 0;
    {
      std::vector<std::jthread> threads;
      for (size_t t = 0; t < count; ++t) {
        threads.emplace_back([&, t] {
          for (size_t i = 0; i < GetParam().requests; ++i) {
            const size_t which = (t + i) % inputs.size();
            const auto got = session->run(inputs[which]);
            right += got.ok() && is_same(*got, want[which]) ? 1 : 0;
          }
        });
      }
    }
    EXPECT_EQ(right, count * GetParam().requests) << count << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Threads,
                         testing::Values(Load{"lenet5", 20}, Load{"mobilenetv2", 2}),
                         [](const auto& test) { return std::string(test.param.network); });

TEST(Session, TakesDifferentBatchesFromDifferentThreads) {
  const auto device = make_cpu_device({.threads = 2});
  Session session = open_digits(*device, {.max_cached_shapes = 2});
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int64_t n : {1, 2, 3, 4}) {
      threads.emplace_back([&, n] {
        for (int i = 0; i < 5; ++i) {
          const auto got = session.run({{"image", images(n)}});
          right += got.ok() && got->at("scores").shape() == Shape{n, 10} ? 1 : 0;
        }
      });
    }
  }
  EXPECT_EQ(right, 20);
}

}  // namespace
}  // namespace shoal
