// Base classes for devices that add to another one.
#pragma once

#include <functional>
#include <memory>

#include "shoal/engine/device/device.h"

namespace shoal {

// Forwards runs to an executable of another device, which others may run, too. Values stay in host
// memory.
class WrappedExecutable : public Executable {
 public:
  explicit WrappedExecutable(std::shared_ptr<Executable> inner) : inner_(std::move(inner)) {}

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override {
    return inner_->run(inputs, outputs, options);
  }
  const Graph& graph() const override { return inner_->graph(); }
  MemoryUse memory() const override { return inner_->memory(); }
  const KernelInfo& kernel_of(size_t node) const override { return inner_->kernel_of(node); }

 private:
  const std::shared_ptr<Executable> inner_;
};

// A device over another one, which it owns or which outlives it. Derived classes implement
// compile().
class WrappedDevice : public Device {
 public:
  explicit WrappedDevice(Device& inner) : inner_(inner) {}
  explicit WrappedDevice(std::unique_ptr<Device> inner)
      : owned_(std::move(inner)), inner_(*owned_) {}

  const DeviceInfo& info() const override { return inner_.info(); }
  bool supports(const Graph& graph, const Node& node) const override {
    return inner_.supports(graph, node);
  }
  Result<MemoryUse> memory_of(const Graph& graph) override { return inner_.memory_of(graph); }

 protected:
  Device& inner() { return inner_; }

 private:
  const std::unique_ptr<Device> owned_;  // null: not owned
  Device& inner_;
};

// A device that reports when it is lost.

// Calls `gone` with the failure of each run that fails with kUnavailable, on the thread of the run.
// REQUIRES: `gone` does not wait for the run.
std::unique_ptr<Device> make_watched_device(std::unique_ptr<Device> device,
                                            std::function<void(const Status& why)> gone);

}  // namespace shoal
