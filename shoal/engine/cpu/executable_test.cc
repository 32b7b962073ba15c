// Several runs of one executable at once, and runs that end early.
#include "shoal/engine/cpu/executable.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <latch>
#include <mutex>
#include <thread>

#include "shoal/model/ops/ops.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

const TensorType kPair{DType::kF32, {2}};

// An operator that copies its input and tells the test that it is at it. The CPU has no kernel for
// it and runs the reference.
std::function<void()> on_pause;

Result<std::vector<TensorType>> same_type(const Node&, std::span<const Operand> inputs) {
  return std::vector{inputs[0].type};
}
void pause(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  on_pause();
  std::ranges::copy(inputs[0].bytes(), outputs[0].bytes().begin());
}
const Operator kPause = {.name = "Pause", .infer = same_type, .reference = pause};

// y = relu(pause(x + x)): an arena, an output that is the caller's, and a pause between them.
Graph paused_graph() {
  Graph graph;
  const ValueId x = graph.add_input("x", kPair);
  const ValueId sum = *graph.add(ops::add, {x, x});
  graph.mark_output(*graph.add(ops::relu, {*graph.add(kPause, {sum})}));
  return graph;
}

std::unique_ptr<Executable> compile(const Graph& graph, int threads = 2) {
  auto executable = make_cpu_device({.threads = threads})->compile(graph);
  SHOAL_CHECK(executable.ok());
  return *std::move(executable);
}

Tensor pair(float a, float b) { return Tensor::of<float>({2}, {a, b}); }

// Lets threads go on once all have come, or after ten seconds, which is a failure.
class Meeting {
 public:
  explicit Meeting(int count) : missing_(count) {}
  bool arrive() {
    std::unique_lock lock(mutex_);
    if (--missing_ == 0) all_here_.notify_all();
    return all_here_.wait_for(lock, 10s, [&] { return missing_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  int missing_;
};

TEST(CpuExecutable, RunsForSeveralCallersAtOnce) {
  constexpr size_t kCallers = 4;
  Meeting meeting(kCallers);
  std::atomic<size_t> met = 0;
  on_pause = [&] { met += meeting.arrive() ? 1 : 0; };
  const auto executable = compile(paused_graph());
  std::vector<std::vector<Tensor>> outputs(kCallers, std::vector<Tensor>(1));
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < kCallers; ++t) {
      threads.emplace_back([&, t] {
        const Tensor input = pair(static_cast<float>(t), -1);
        EXPECT_TRUE(executable->run(std::span(&input, 1), outputs[t], {}).ok());
      });
    }
  }
  EXPECT_EQ(met, kCallers) << "runs waited for each other";
  for (size_t t = 0; t < kCallers; ++t) {
    EXPECT_EQ(outputs[t][0].data<float>()[0], 2 * static_cast<float>(t));
    EXPECT_EQ(outputs[t][0].data<float>()[1], 0);
  }
}

TEST(CpuExecutable, EndsBetweenNodesWhenItIsCancelled) {
  std::stop_source source;
  on_pause = [&] { source.request_stop(); };
  const auto executable = compile(paused_graph());
  const Tensor input = pair(1, 2);
  std::vector<Tensor> outputs(1);
  Trace trace;
  const RunOptions options{.cancel = source.get_token(), .trace = &trace};
  EXPECT_EQ(executable->run(std::span(&input, 1), outputs, options).code(), Code::kCancelled);
  EXPECT_EQ(trace.size(), 2u) << "the node after the cancellation ran, too";
  on_pause = [] {};
  EXPECT_TRUE(executable->run(std::span(&input, 1), outputs, {}).ok()) << "and runs again";
  EXPECT_EQ(outputs[0].data<float>()[1], 4);
}

TEST(CpuExecutable, EndsBetweenNodesWhenItsDeadlineHasPassed) {
  const auto executable = compile(paused_graph());
  const Tensor input = pair(1, 2);
  std::vector<Tensor> outputs(1);
  Trace trace;
  RunOptions options{.trace = &trace};
  on_pause = [&] { options.deadline = std::chrono::steady_clock::now(); };  // it passes meanwhile
  EXPECT_EQ(executable->run(std::span(&input, 1), outputs, options).code(), Code::kDeadline);
  EXPECT_EQ(trace.size(), 2u);
}

TEST(CpuExecutable, PlansTheMemoryThatItUses) {
  const auto device = make_cpu_device({.threads = 1});
  const Graph graph = paused_graph();
  const auto planned = device->memory_of(graph);
  ASSERT_TRUE(planned.ok());
  const MemoryUse used = (*device->compile(graph))->memory();
  EXPECT_EQ(planned->planned, used.planned);
  EXPECT_EQ(planned->lower_bound, used.lower_bound);
}

TEST(FreeFrames, GiveTheOneUsedLast) {
  cpu::FreeFrames frames;
  EXPECT_EQ(frames.take(), nullptr);
  auto a = cpu::make_frame(100, 0), b = cpu::make_frame(100, 0);
  ASSERT_TRUE(a.ok() && b.ok());
  const cpu::Frame* last = b->get();
  frames.give(*std::move(a));
  frames.give(*std::move(b));
  EXPECT_EQ(frames.take().get(), last);
  EXPECT_NE(frames.take(), nullptr);
  EXPECT_EQ(frames.take(), nullptr);
}

}  // namespace
}  // namespace shoal
