#include "shoal/engine/device/device.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <latch>
#include <mutex>

namespace shoal {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

const TensorType kPair{DType::kF32, {2}};

Tensor pair(float a, float b) { return Tensor::of<float>({2}, {a, b}); }
std::vector<float> to_vector(const Tensor& tensor) {
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}

Graph identity() {
  Graph graph;
  graph.mark_output(graph.add_input("x", kPair));
  return graph;
}

// The least that a device has to say: doubles its input, once it is let go. A run that is
// cancelled before that ends at once.
class Doubling : public Executable {
 public:
  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override {
    entered.count_down();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, options.cancel, [&] { return open_; });
    SHOAL_TRY(options.interrupted());
    if (!outputs[0].defined()) outputs[0] = Tensor(kPair);
    for (size_t i = 0; i < 2; ++i) {
      outputs[0].data<float>()[i] = 2 * inputs[0].data<float>()[i];
    }
    return {};
  }
  const Graph& graph() const override { return graph_; }
  MemoryUse memory() const override { return {16, 16}; }
  const KernelInfo& kernel_of(size_t) const override { return info_; }

  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  std::latch entered{1};  // by the first run

 private:
  const Graph graph_ = identity();
  const KernelInfo info_ = {};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool open_ = false;
};

TEST(RunOptions, SayWhyARunHasToEnd) {
  EXPECT_TRUE(RunOptions{}.interrupted().ok());
  EXPECT_TRUE(RunOptions{.deadline = Clock::now() + 1h}.interrupted().ok());
  EXPECT_EQ(RunOptions{.deadline = Clock::now()}.interrupted().code(), Code::kDeadline);
  std::stop_source source;
  const RunOptions options{.deadline = Clock::now(), .cancel = source.get_token()};
  source.request_stop();
  EXPECT_EQ(options.interrupted().code(), Code::kCancelled);
}

TEST(Start, ReturnsBeforeTheRunHasEnded) {
  Doubling executable;
  const DeviceValue input = pair(1, 2);
  DeviceValue output;
  auto run = executable.start(std::span(&input, 1), std::span(&output, 1), {});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ((*run)->wait(Clock::now()).code(), Code::kDeadline);
  EXPECT_FALSE((*run)->done());
  executable.open();
  EXPECT_TRUE((*run)->wait().ok());
  EXPECT_TRUE((*run)->done());
  EXPECT_EQ(to_vector(*output.to_host()), (std::vector<float>{2, 4}));
}

TEST(Start, EndsARunThatIsCancelled) {
  Doubling executable;
  const DeviceValue input = pair(1, 2);
  DeviceValue output;
  auto run = executable.start(std::span(&input, 1), std::span(&output, 1), {});
  ASSERT_TRUE(run.ok());
  executable.entered.wait();
  (*run)->cancel();
  EXPECT_EQ((*run)->wait().code(), Code::kCancelled);
}

TEST(Start, EndsARunByTheCallersToken) {
  Doubling executable;
  std::stop_source source;
  const DeviceValue input = pair(1, 2);
  DeviceValue output;
  auto run =
      executable.start(std::span(&input, 1), std::span(&output, 1), {.cancel = source.get_token()});
  ASSERT_TRUE(run.ok());
  executable.entered.wait();
  source.request_stop();
  EXPECT_EQ((*run)->wait().code(), Code::kCancelled);
}

TEST(Start, EndsARunThatNobodyWaitsFor) {
  Doubling executable;
  const DeviceValue input = pair(1, 2);
  DeviceValue output;
  ASSERT_TRUE(executable.start(std::span(&input, 1), std::span(&output, 1), {}).ok());
  EXPECT_FALSE(output.defined());
}

TEST(DeviceValue, OfAHostDeviceIsTheTensorItself) {
  const auto device = make_reference_device();
  const Tensor tensor = pair(1, 2);
  const auto value = device->upload(tensor);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->type(), kPair);
  EXPECT_EQ(value->to_host()->bytes().data(), tensor.bytes().data());
  EXPECT_FALSE(DeviceValue().defined());
}

TEST(RunValues, GivesOutputsInTheMemoryThatWasGiven) {
  Doubling executable;
  executable.open();
  const DeviceValue input = pair(3, 4);
  const Tensor mine(kPair);
  DeviceValue output = mine;
  ASSERT_TRUE(executable.run_values(std::span(&input, 1), std::span(&output, 1), {}).ok());
  EXPECT_EQ(to_vector(mine), (std::vector<float>{6, 8}));
}

// Memory that the host cannot see, but for copy_to().
class FarMemory : public DeviceMemory {
 public:
  explicit FarMemory(Tensor hidden) : hidden_(std::move(hidden)) {}
  Status copy_to(Tensor& tensor) const override {
    std::ranges::copy(hidden_.bytes(), tensor.bytes().begin());
    return {};
  }

 private:
  Tensor hidden_;
};

class FarRun : public Run {
 public:
  Status wait(Deadline) override { return {}; }
  bool done() const override { return true; }
  void cancel() override {}
};

// Copies its input into memory of its own.
class FarExecutable : public AsyncExecutable {
 public:
  Result<std::unique_ptr<Run>> start(std::span<const DeviceValue> inputs,
                                     std::span<DeviceValue> outputs, const RunOptions&) override {
    SHOAL_ASSIGN(const Tensor tensor, inputs[0].to_host());
    outputs[0] = DeviceValue(tensor.type(), std::make_shared<FarMemory>(tensor.clone()));
    return std::unique_ptr<Run>(std::make_unique<FarRun>());
  }
  const Graph& graph() const override { return graph_; }
  MemoryUse memory() const override { return {}; }
  const KernelInfo& kernel_of(size_t) const override { return info_; }

 private:
  const Graph graph_ = identity();
  const KernelInfo info_ = {};
};

TEST(AsyncExecutable, KeepsValuesOnTheDeviceBetweenRuns) {
  FarExecutable executable;
  const DeviceValue input = pair(5, 6);
  DeviceValue once, twice;
  ASSERT_TRUE(executable.run_values(std::span(&input, 1), std::span(&once, 1), {}).ok());
  EXPECT_EQ(once.host(), nullptr);
  ASSERT_TRUE(executable.run_values(std::span(&once, 1), std::span(&twice, 1), {}).ok());
  EXPECT_EQ(to_vector(*twice.to_host()), (std::vector<float>{5, 6}));
}

TEST(AsyncExecutable, AnswersInHostMemory) {
  FarExecutable executable;
  const Tensor input = pair(5, 6), mine(kPair);
  std::vector<Tensor> outputs = {mine};
  ASSERT_TRUE(executable.run(std::span(&input, 1), outputs, {}).ok());
  EXPECT_EQ(to_vector(mine), (std::vector<float>{5, 6}));
  outputs[0] = {};
  ASSERT_TRUE(executable.run(std::span(&input, 1), outputs, {}).ok());
  EXPECT_EQ(to_vector(outputs[0]), (std::vector<float>{5, 6}));
}

TEST(Reference, GivesOutputsThatShareNoMemory) {
  Graph graph;
  const ValueId x = graph.add_input("x", kPair);
  const ValueId w = graph.add_constant("w", pair(3, 4));
  for (ValueId id : {x, w, w}) graph.mark_output(id);
  const auto device = make_reference_device();
  const auto executable = device->compile(graph);
  ASSERT_TRUE(executable.ok());
  std::vector<Tensor> inputs = {pair(1, 2)}, outputs(3), again(3);
  ASSERT_TRUE((*executable)->run(inputs, outputs, {}).ok());
  for (Tensor& output : outputs) output.data<float>()[0] = 9;
  EXPECT_EQ(to_vector(inputs[0]), (std::vector<float>{1, 2}));
  ASSERT_TRUE((*executable)->run(inputs, again, {}).ok());
  EXPECT_EQ(to_vector(again[1]), (std::vector<float>{3, 4}));
  EXPECT_NE(again[1].bytes().data(), again[2].bytes().data());
}

TEST(Device, AsksWhatItCompilesForItsMemory) {
  const auto device = make_reference_device();
  const auto use = device->memory_of(identity());
  ASSERT_TRUE(use.ok());
  EXPECT_EQ(use->planned, (*device->compile(identity()))->memory().planned);
}

}  // namespace
}  // namespace shoal
