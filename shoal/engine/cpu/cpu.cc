// The CPU device. compile() lowers the graph (blocked layout, then element-wise chains), chooses a
// kernel per node and packs its weights.
#include "shoal/engine/cpu/cpu.h"

#include <chrono>
#include <mutex>

#include "shoal/base/machine/machine.h"
#include "shoal/base/timing/contest.h"
#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/elementwise/elementwise.h"
#include "shoal/engine/cpu/executable.h"
#include "shoal/engine/cpu/instruction_set.h"
#include "shoal/engine/cpu/lower/lowering.h"
#include "shoal/engine/cpu/packed_weights.h"
#include "shoal/engine/cpu/tune.h"
#include "shoal/engine/device/memory_plan.h"

namespace shoal {
namespace {

// The graph as the CPU computes it. Chains come last: the rules of lowering know element-wise
// operators, but not chains of them.
Result<Graph> lowered(const Graph& graph) {
  SHOAL_ASSIGN(const Graph blocked, cpu::lower(graph, cpu::block_size()));
  return cpu::chain_elementwise(blocked);
}

// Whether the second of two executables of one graph is clearly faster, on made-up inputs.
Result<bool> loses(cpu::CpuExecutable& first, cpu::CpuExecutable& second) {
  using Clock = std::chrono::steady_clock;
  std::vector<Tensor> inputs, outputs(first.graph().outputs().size());
  for (ValueId id : first.graph().inputs()) {
    inputs.push_back(cpu::made_up(first.graph()[id].type));
  }
  Contest contest(2);
  while (const auto next = contest.next()) {
    const auto begin = Clock::now();
    SHOAL_TRY((*next == 0 ? first : second).run(inputs, outputs, {}));
    contest.add(*next, std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return contest.is_believed() && contest.winner() == 1;
}

class CpuDevice : public Device {
 public:
  explicit CpuDevice(const CpuOptions& options)
      : pool_(std::make_shared<ThreadPool>(ThreadPoolOptions{
            // A device that is slowed down on purpose paces one thread; a pool could not rest as a
            // whole.
            .threads = options.share < 1 ? 1 : options.threads,
            .pin = options.pin})),
        share_(options.share),
        tuner_(options, options.remember ? cpu::tuning_file() : std::filesystem::path()),
        info_{.name = "cpu",
              .threads = pool_->threads(),
              .memory_bytes = static_cast<int64_t>(physical_memory_bytes()),
              .alignment = kHostAlignment} {
    cpu::settle_instruction_set();  // before any kernel keeps a pointer from dynamic dispatch
    if (!options.packed.empty()) cache_ = std::make_unique<cpu::PackedCache>(options.packed);
  }

  const DeviceInfo& info() const override { return info_; }

  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(Graph low, lowered(graph));
    auto executable = std::make_unique<cpu::CpuExecutable>(std::move(low), pool_, share_);
    const std::scoped_lock lock(compiling_);  // kernels timed at once would disturb each other
    SHOAL_TRY(executable->prepare(tuner_, cache_.get()));
    if (tuner_.has_surprises()) SHOAL_TRY(check_tuning(executable));
    tuner_.remember();
    // A cache that cannot be written, on a full disk or in a folder of someone else, costs the next
    // start time; the model runs all the same.
    if (cache_ != nullptr) static_cast<void>(cache_->save(*pool_));
    return std::unique_ptr<Executable>(std::move(executable));
  }

  Result<MemoryUse> memory_of(const Graph& graph) override {
    SHOAL_ASSIGN(const Graph low, lowered(graph));
    // The memory plan alone answers this, without kernels: a trainer asks it of several candidate
    // layouts of the same step.
    return cpu::memory_use(plan_memory(low, info_.alignment));
  }

 private:
  // Kernels were timed one by one. If the whole network is faster with the estimates' choices,
  // those are used. Large networks are not run: there is no memory to pack their weights twice, and
  // nodes that take long are timed well.
  Status check_tuning(std::unique_ptr<cpu::CpuExecutable>& tuned) {
    constexpr int64_t kMostBytes = int64_t{16} << 20;
    if (tuned->touched_bytes() > kMostBytes) return {};
    cpu::Tuner estimates({.memory = tuner_.options().memory}, {});
    auto plain = std::make_unique<cpu::CpuExecutable>(tuned->graph(), pool_, share_);
    SHOAL_TRY(plain->prepare(estimates, nullptr));
    SHOAL_ASSIGN(const bool is_slower, loses(*tuned, *plain));
    if (!is_slower) return {};
    tuner_.doubt();
    tuned = std::move(plain);
    return {};
  }

  std::shared_ptr<ThreadPool> pool_;
  double share_;
  std::mutex compiling_;
  cpu::Tuner tuner_;
  std::unique_ptr<cpu::PackedCache> cache_;  // if requested
  DeviceInfo info_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(const CpuOptions& options) {
  return std::make_unique<CpuDevice>(options);
}

std::vector<std::string_view> cpu_kernels_of(const Operator& op) {
  std::vector<std::string_view> names;
  for (const cpu::Provider& provider : cpu::providers()) {
    if (provider.op == &op) names.push_back(provider.name);
  }
  return names;
}

}  // namespace shoal
