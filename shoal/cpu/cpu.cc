// The CPU device. compile() lowers the graph (blocked layout, then element-wise chains), chooses a
// kernel per node and packs its weights.
#include "shoal/cpu/cpu.h"

#include <mutex>

#include "shoal/base/machine.h"
#include "shoal/cpu/conv/conv_tile.h"
#include "shoal/cpu/elementwise/elementwise_chain.h"
#include "shoal/cpu/executable.h"
#include "shoal/cpu/instruction_set.h"
#include "shoal/cpu/lower/lower.h"
#include "shoal/cpu/packed_cache.h"
#include "shoal/cpu/tune.h"
#include "shoal/device/memory_plan.h"

namespace shoal {
namespace {

// The graph as the CPU computes it. Chains come last: the rules of lowering know element-wise
// operators, but not chains of them.
Result<Graph> lowered(const Graph& graph) {
  SHOAL_ASSIGN(const Graph blocked, cpu::lower(graph, cpu::block_size()));
  return cpu::chain_elementwise(blocked);
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
  std::shared_ptr<ThreadPool> pool_;
  double share_;
  std::mutex compiling_;
  cpu::Tuner tuner_;
  std::unique_ptr<cpu::PackedCache> cache_;  // if one was asked for
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
