#include "shoal/gpu/driver_device.h"

#include "shoal/gpu/lower.h"

namespace shoal::gpu {
namespace {

class DriverDevice final : public Device {
 public:
  DriverDevice(DeviceInfo info, std::unique_ptr<const Driver> driver)
      : driver_(std::move(driver)), options_(driver_->plan_options()), info_(std::move(info)) {}

  const DeviceInfo& info() const override { return info_; }
  bool supports(const Graph& graph, const Node& node) const override {
    return gpu::supports(graph, node, options_.device);
  }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(Graph lowered, gpu::lowered(graph));
    SHOAL_ASSIGN(Plan plan, make_plan(std::move(lowered), options_));
    return driver_->compile(std::move(plan));
  }
  Result<MemoryUse> memory_of(const Graph& graph) override {
    SHOAL_ASSIGN(const Graph lowered, gpu::lowered(graph));
    const MemoryPlan plan = plan_memory(lowered, info_.alignment);
    return MemoryUse{plan.arena_bytes + plan.caller_bytes, plan.live_bytes + plan.caller_bytes};
  }
  Result<DeviceValue> upload(const Tensor& tensor) override { return driver_->upload(tensor); }

 private:
  const std::unique_ptr<const Driver> driver_;
  const PlanOptions options_;
  const DeviceInfo info_;
};

}  // namespace

std::unique_ptr<Device> make_driver_device(std::string_view kind, int64_t memory_bytes, bool traces,
                                           std::unique_ptr<const Driver> driver) {
  const PlanOptions options = driver->plan_options();
  DeviceInfo info{.name = std::string(kind) + "(" + options.device_name + ")",
                  .memory_bytes = memory_bytes,
                  .unified_memory = false,  // values are copied into buffers of the driver's
                  .alignment = options.alignment,
                  .max_in_flight = 1,
                  .traces = traces};
  return std::make_unique<DriverDevice>(std::move(info), std::move(driver));
}

}  // namespace shoal::gpu
