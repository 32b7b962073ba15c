#include "shoal/cluster/tasks/deployment.h"

#include <gtest/gtest.h>

#include "shoal/model/ops/ops.h"

namespace shoal::cluster {
namespace {

constexpr Deployment::Time kStart{};

Tensor floats(std::vector<float> values) {
  Tensor tensor({DType::kF32, {static_cast<int64_t>(values.size())}});
  std::ranges::copy(values, tensor.data<float>().begin());
  return tensor;
}

plan::Piece piece(int64_t begin, int64_t end) { return {ValueId{7}, {{begin}, {end}}}; }

// A task that reads this many elements.
WorkerTask make_task(int64_t elements, DType dtype = DType::kF32) {
  Graph graph;
  const ValueId x = graph.add_input("x", {dtype, {elements}});
  graph.mark_output(*graph.add(ops::relu, {x}));
  WorkerTask task;
  task.executable = *make_reference_device()->compile(graph);
  task.inputs = {piece(0, elements)};
  task.outputs = {{ValueId{8}, {{0}, {elements}}}};
  return task;
}

Deployment make_deployment(int64_t elements = 4, size_t most_bytes = 1 << 20) {
  return Deployment({make_task(elements)}, {}, most_bytes);
}

TEST(Deployment, CountsNothingTwice) {
  Deployment deployment = make_deployment();
  EXPECT_TRUE(deployment.put(1, piece(0, 2), floats({1, 2}), kStart).ok());
  EXPECT_TRUE(deployment.put(1, piece(0, 2), floats({1, 2}), kStart).ok());
  EXPECT_TRUE(deployment.put(1, piece(1, 3), floats({2, 3}), kStart).ok());
  EXPECT_FALSE(deployment.take(kStart).has_value()) << "the last element is missing";
  EXPECT_TRUE(deployment.put(1, piece(2, 4), floats({3, 4}), kStart).ok());
  const auto task = deployment.take(kStart);
  ASSERT_TRUE(task.has_value());
  EXPECT_TRUE(std::ranges::equal(task->inputs[0].data<float>(), std::vector<float>{1, 2, 3, 4}));
}

TEST(Deployment, ChangesNothingThatIsComplete) {
  Deployment deployment = make_deployment();
  const Tensor whole = floats({1, 2, 3, 4});
  EXPECT_TRUE(deployment.put(1, piece(0, 4), whole, kStart).ok());
  EXPECT_TRUE(deployment.put(1, piece(1, 2), floats({9}), kStart).ok());
  const auto task = deployment.take(kStart);
  ASSERT_TRUE(task.has_value());
  EXPECT_TRUE(std::ranges::equal(task->inputs[0].data<float>(), std::vector<float>{1, 2, 3, 4}));
  EXPECT_FALSE(deployment.take(kStart).has_value());
}

// Replicas send the same: what comes after a request has ended must neither begin it again nor be
// an error, however many requests ago that was.
TEST(Deployment, DropsWhatComesAfterTheEnd) {
  Deployment deployment = make_deployment();
  const Tensor whole = floats({1, 2, 3, 4});
  for (uint64_t request = 1; request <= 3000; ++request) {
    ASSERT_TRUE(deployment.put(request, piece(0, 4), whole, kStart).ok());
    const auto task = deployment.take(kStart);
    ASSERT_TRUE(task.has_value()) << request;
    ASSERT_EQ(task->request, request);
    EXPECT_TRUE(deployment.put(request, piece(0, 4), whole, kStart).ok()) << "while it runs";
    EXPECT_TRUE(deployment.finish(*task, std::span(&whole, 1), kStart).ok());
    EXPECT_TRUE(deployment.put(request, piece(0, 4), whole, kStart).ok());
    EXPECT_TRUE(deployment.put(1, piece(0, 4), whole, kStart).ok());
    EXPECT_FALSE(deployment.take(kStart).has_value());
  }
}

// Requests whose deadline has passed are dropped for others, even without a message.
TEST(Deployment, DropsWhatIsOverForOthers) {
  using namespace std::chrono_literals;
  Deployment deployment = make_deployment();
  uint64_t request = 1;
  const auto put = [&](Deployment::Time now) {
    return deployment.put(request++, piece(0, 2), floats({1, 2}), now, kStart + 10ms);
  };
  while (put(kStart).ok()) ASSERT_LT(request, 1000u);
  EXPECT_EQ(put(kStart + 10ms).code(), Code::kExhausted) << "the last moment counts";
  EXPECT_TRUE(put(kStart + 11ms).ok());
  EXPECT_TRUE(deployment.put(1, piece(2, 4), floats({3, 4}), kStart + 11ms).ok());
  EXPECT_FALSE(deployment.take(kStart + 11ms).has_value()) << "it does not begin again";
}

TEST(Deployment, ComputesNothingAfterTheDeadline) {
  using namespace std::chrono_literals;
  Deployment deployment = make_deployment();
  const Tensor whole = floats({1, 2, 3, 4});
  EXPECT_TRUE(deployment.put(1, piece(0, 4), whole, kStart, kStart + 10ms).ok());
  EXPECT_TRUE(deployment.put(2, piece(0, 4), whole, kStart, kStart + 20ms).ok());
  const auto task = deployment.take(kStart + 15ms);
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(task->request, 2u);
  EXPECT_EQ(task->deadline, kStart + 20ms) << "for what is sent on";
}

// Whoever sends parts of many requests must not make the machine run out of memory.
TEST(Deployment, PutsTogetherNoMoreThanItsQuota) {
  Deployment deployment = make_deployment(4, 4 * sizeof(float));
  EXPECT_TRUE(deployment.put(1, piece(0, 2), floats({1, 2}), kStart).ok());
  EXPECT_EQ(deployment.put(2, piece(0, 2), floats({1, 2}), kStart).code(), Code::kExhausted);
  EXPECT_TRUE(deployment.put(2, piece(0, 4), floats({1, 2, 3, 4}), kStart).ok());
  EXPECT_FALSE(deployment.take(kStart).has_value()) << "the request that did not fit is over";
  EXPECT_TRUE(deployment.put(1, piece(2, 4), floats({3, 4}), kStart).ok());
  EXPECT_EQ(deployment.take(kStart)->request, 1u);
  EXPECT_TRUE(deployment.put(3, piece(0, 2), floats({1, 2}), kStart).ok()) << "there is room again";
  deployment.cancel(3);
  EXPECT_TRUE(deployment.put(4, piece(0, 2), floats({1, 2}), kStart).ok());
}

TEST(Deployment, IsNotCutIntoAnyNumberOfBoxes) {
  Deployment deployment = make_deployment(2048);
  Status status;
  int64_t taken = 0;
  while (status.ok() && taken < 1024) {
    status = deployment.put(1, piece(2 * taken, 2 * taken + 1), floats({1}), kStart);
    ++taken;
  }
  EXPECT_EQ(status.code(), Code::kExhausted);
  EXPECT_EQ(taken, 257);
}

TEST(Deployment, KeepsNoRequestOfWhatNobodyReads) {
  Deployment deployment = make_deployment();
  for (uint64_t request = 1; request <= 100; ++request) {
    EXPECT_EQ(deployment.put(request, piece(4, 6), floats({1, 2}), kStart).code(),
              Code::kInvalidArgument);
  }
}

TEST(Deployment, NeedsTasksThatAgreeOnTypes) {
  EXPECT_TRUE(check_dtypes({make_task(4), make_task(4)}).ok());
  EXPECT_FALSE(check_dtypes({make_task(4), make_task(4, DType::kF64)}).ok());
}

TEST(Deployment, RefusesWhatNobodyReads) {
  Deployment deployment = make_deployment();
  EXPECT_FALSE(deployment.put(1, piece(4, 6), floats({1, 2}), kStart).ok());
  EXPECT_FALSE(deployment.put(1, {ValueId{3}, {{0}, {4}}}, floats({1, 2, 3, 4}), kStart).ok());
}

}  // namespace
}  // namespace shoal::cluster
