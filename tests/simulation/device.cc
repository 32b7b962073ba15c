#include "device.h"

namespace shoal::simulation {
namespace {

class SlowExecutable final : public Executable {
 public:
  SlowExecutable(std::unique_ptr<Executable> inner, std::shared_ptr<Pace> pace)
      : inner_(std::move(inner)), pace_(std::move(pace)) {}

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override {
    pace_->compute.take();
    return inner_->run(inputs, outputs, options);
  }
  const Graph& graph() const override { return inner_->graph(); }
  MemoryUse memory() const override { return inner_->memory(); }
  const KernelInfo& kernel_of(size_t node) const override { return inner_->kernel_of(node); }

 private:
  const std::unique_ptr<Executable> inner_;
  const std::shared_ptr<Pace> pace_;
};

class SlowDevice final : public Device {
 public:
  explicit SlowDevice(std::shared_ptr<Pace> pace) : pace_(std::move(pace)) {}

  const DeviceInfo& info() const override { return inner_->info(); }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    pace_->compile.take();
    SHOAL_ASSIGN(auto executable, inner_->compile(graph));
    return std::unique_ptr<Executable>(
        std::make_unique<SlowExecutable>(std::move(executable), pace_));
  }

 private:
  const std::unique_ptr<Device> inner_ = make_reference_device();
  const std::shared_ptr<Pace> pace_;
};

}  // namespace

std::unique_ptr<Device> make_slow_device(std::shared_ptr<Pace> pace) {
  return std::make_unique<SlowDevice>(std::move(pace));
}

}  // namespace shoal::simulation
