#include "shoal/emulate/lying_device.h"

#include <atomic>

#include "shoal/base/random.h"

namespace shoal::emulate {
namespace {

// Counts the results of all executables of a device.
class Lies {
 public:
  Lies(uint64_t every, uint64_t seed) : every_(every), random_(seed, 0) {}

  // Counts a result, and damages a copy of it if it is its turn: others may hold the elements.
  void tell(Tensor& result) {
    const uint64_t number = ++results_;
    if (number % every_ != 0 || result.bytes().empty()) return;
    result = result.clone();
    const uint64_t bit = random_.below(8 * result.bytes().size(), number);
    result.bytes()[bit / 8] ^= std::byte{1} << (bit % 8);
  }

 private:
  const uint64_t every_;
  const RandomStream random_;
  std::atomic<uint64_t> results_ = 0;
};

class LyingExecutable : public Executable {
 public:
  LyingExecutable(std::unique_ptr<Executable> inner, std::shared_ptr<Lies> lies)
      : inner_(std::move(inner)), lies_(std::move(lies)) {}

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override {
    SHOAL_TRY(inner_->run(inputs, outputs, options));
    for (Tensor& output : outputs) lies_->tell(output);
    return {};
  }
  const Graph& graph() const override { return inner_->graph(); }
  MemoryUse memory() const override { return inner_->memory(); }
  const KernelInfo& kernel_of(size_t node) const override { return inner_->kernel_of(node); }

 private:
  const std::unique_ptr<Executable> inner_;
  const std::shared_ptr<Lies> lies_;
};

class LyingDevice : public Device {
 public:
  LyingDevice(Device& device, uint64_t every, uint64_t seed)
      : device_(device), lies_(std::make_shared<Lies>(every, seed)) {}

  const DeviceInfo& info() const override { return device_.info(); }
  bool supports(const Graph& graph, const Node& node) const override {
    return device_.supports(graph, node);
  }
  Result<MemoryUse> memory_of(const Graph& graph) override { return device_.memory_of(graph); }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(auto inner, device_.compile(graph));
    return std::unique_ptr<Executable>(std::make_unique<LyingExecutable>(std::move(inner), lies_));
  }

 private:
  Device& device_;
  const std::shared_ptr<Lies> lies_;
};

}  // namespace

std::unique_ptr<Device> make_lying_device(Device& device, uint64_t every, uint64_t seed) {
  return std::make_unique<LyingDevice>(device, every, seed);
}

}  // namespace shoal::emulate
