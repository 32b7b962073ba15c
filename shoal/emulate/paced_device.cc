#include "shoal/emulate/paced_device.h"

#include <thread>

#include "shoal/base/timer_slack.h"
#include "shoal/plan/whole_time.h"

namespace shoal::emulate {
namespace {

using Clock = std::chrono::steady_clock;

class PacedExecutable : public Executable {
 public:
  PacedExecutable(std::unique_ptr<Executable> inner, double seconds,
                  std::function<double()> dilation)
      : inner_(std::move(inner)), time_(seconds), dilation_(std::move(dilation)) {}

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override {
    const double times = dilation_ ? dilation_() : 1;
    // From the beginning of the run: computing on this machine is part of the emulated time.
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(times * time_);
    const Status status = inner_->run(inputs, outputs, options);
    // The kernel may delay a sleeper by 50 us of timer slack, which is much beside a short task.
    use_exact_timers();
    std::this_thread::sleep_until(end);
    return status;
  }
  const Graph& graph() const override { return inner_->graph(); }
  MemoryUse memory() const override { return inner_->memory(); }
  const KernelInfo& kernel_of(size_t node) const override { return inner_->kernel_of(node); }

 private:
  const std::unique_ptr<Executable> inner_;
  const std::chrono::duration<double> time_;
  const std::function<double()> dilation_;
};

class PacedDevice : public Device {
 public:
  PacedDevice(Device& device, DevicePace pace) : device_(device), pace_(std::move(pace)) {}

  const DeviceInfo& info() const override { return device_.info(); }

  bool supports(const Graph& graph, const Node& node) const override {
    return device_.supports(graph, node);
  }
  Result<MemoryUse> memory_of(const Graph& graph) override { return device_.memory_of(graph); }

  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(auto inner, device_.compile(graph));
    const double seconds = plan::seconds_of_whole(graph, pace_.profile);
    return std::unique_ptr<Executable>(
        std::make_unique<PacedExecutable>(std::move(inner), seconds, pace_.dilation));
  }

 private:
  Device& device_;
  const DevicePace pace_;
};

}  // namespace

std::unique_ptr<Device> make_paced_device(Device& device, DevicePace pace) {
  return std::make_unique<PacedDevice>(device, std::move(pace));
}

}  // namespace shoal::emulate
