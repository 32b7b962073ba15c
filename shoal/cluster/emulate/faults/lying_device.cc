#include "shoal/cluster/emulate/faults/lying_device.h"

#include <atomic>

#include "shoal/base/math/random.h"
#include "shoal/engine/device/wrapped.h"

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

class LyingExecutable final : public WrappedExecutable {
 public:
  LyingExecutable(std::unique_ptr<Executable> inner, std::shared_ptr<Lies> lies)
      : WrappedExecutable(std::move(inner)), lies_(std::move(lies)) {}

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override {
    SHOAL_TRY(WrappedExecutable::run(inputs, outputs, options));
    for (Tensor& output : outputs) lies_->tell(output);
    return {};
  }

 private:
  const std::shared_ptr<Lies> lies_;
};

class LyingDevice final : public WrappedDevice {
 public:
  LyingDevice(Device& device, uint64_t every, uint64_t seed)
      : WrappedDevice(device), lies_(std::make_shared<Lies>(every, seed)) {}

  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(auto executable, inner().compile(graph));
    return std::unique_ptr<Executable>(
        std::make_unique<LyingExecutable>(std::move(executable), lies_));
  }

 private:
  const std::shared_ptr<Lies> lies_;
};

}  // namespace

std::unique_ptr<Device> make_lying_device(Device& device, uint64_t every, uint64_t seed) {
  return std::make_unique<LyingDevice>(device, every, seed);
}

}  // namespace shoal::emulate
