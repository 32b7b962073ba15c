#include "shoal/engine/device/failover.h"

#include <atomic>
#include <mutex>

namespace shoal {
namespace {

bool is_of_device(const Status& status) {
  return status.code() == Code::kExhausted || status.code() == Code::kUnavailable ||
         status.code() == Code::kInternal;
}

class FailoverExecutable final : public Executable {
 public:
  FailoverExecutable(std::unique_ptr<Executable> first, Device& second, const Graph& graph)
      : first_(std::move(first)), device_(second), given_(graph), now_(first_.get()) {}

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override {
    Executable* executable = now_;
    const Status status = executable->run(inputs, outputs, options);
    if (status.ok() || executable != first_.get() || !is_of_device(status)) return status;
    SHOAL_TRY(hand_over(options));
    return now_.load()->run(inputs, outputs, options);
  }

  Status run_values(std::span<const DeviceValue> inputs, std::span<DeviceValue> outputs,
                    const RunOptions& options) override {
    Executable* executable = now_;
    if (executable == first_.get()) {
      const Status status = executable->run_values(inputs, outputs, options);
      if (status.ok() || !is_of_device(status)) return status;
      SHOAL_TRY(hand_over(options));
    }
    // What the first device has, the second cannot read.
    std::vector<DeviceValue> here;
    for (const DeviceValue& input : inputs) {
      SHOAL_ASSIGN(Tensor tensor, input.to_host());
      here.emplace_back(std::move(tensor));
    }
    for (DeviceValue& output : outputs) {
      if (output.host() == nullptr) output = DeviceValue();
    }
    return now_.load()->run_values(here, outputs, options);
  }

  const Graph& graph() const override { return now_.load()->graph(); }
  MemoryUse memory() const override { return now_.load()->memory(); }
  const KernelInfo& kernel_of(size_t node) const override { return now_.load()->kernel_of(node); }

 private:
  Status hand_over(const RunOptions& options) {
    const std::scoped_lock lock(mutex_);
    if (options.trace != nullptr) options.trace->clear();
    if (second_ != nullptr) return {};
    SHOAL_ASSIGN(second_, device_.compile(given_));
    now_ = second_.get();
    return {};
  }

  const std::unique_ptr<Executable> first_;
  Device& device_;
  const Graph given_;
  std::mutex mutex_;
  std::unique_ptr<Executable> second_;  // null until the first one fails
  std::atomic<Executable*> now_;
};

class FailoverDevice final : public Device {
 public:
  FailoverDevice(std::unique_ptr<Device> first, std::unique_ptr<Device> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  const DeviceInfo& info() const override { return first_->info(); }
  bool supports(const Graph& graph, const Node& node) const override {
    return second_->supports(graph, node);
  }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    auto first = first_->compile(graph);
    if (!first.ok()) {
      return is_of_device(first.status()) ? second_->compile(graph) : std::move(first);
    }
    return std::unique_ptr<Executable>(
        std::make_unique<FailoverExecutable>(*std::move(first), *second_, graph));
  }
  Result<MemoryUse> memory_of(const Graph& graph) override { return first_->memory_of(graph); }

 private:
  const std::unique_ptr<Device> first_, second_;
};

}  // namespace

std::unique_ptr<Device> make_failover_device(std::unique_ptr<Device> first,
                                             std::unique_ptr<Device> second) {
  return std::make_unique<FailoverDevice>(std::move(first), std::move(second));
}

}  // namespace shoal
