#include "shoal/engine/gpu/device/driver_device.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

#include "shoal/engine/device/failover.h"
#include "shoal/engine/device/hybrid.h"
#include "shoal/engine/gpu/plan/gpu_plan.h"
#include "shoal/engine/gpu/work.h"
#include "shoal/model/ops/ops.h"

namespace shoal::gpu {

Result<DeviceName> parse_device_name(std::string_view kind, std::string_view argument) {
  DeviceName name;
  const size_t colon = argument.find(':');
  const std::string_view number = argument.substr(0, colon);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), name.index);
  bool is_known = number.empty() || (error == std::errc() && end == number.end());
  std::string_view rest = colon == argument.npos ? "" : argument.substr(colon);
  while (is_known && !rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find(':'));
    rest.remove_prefix(word.size());
    is_known = word == "fp32" || word == "fp16" || word == "or-cpu";
    if (word == "fp16") name.precision = GpuPrecision::kF16;
    name.or_cpu |= word == "or-cpu";
  }
  if (is_known) return name;
  const std::string first = std::string(kind) + ":N";
  return invalid("such a device is named " + first + ", " + first + ":fp16 or " + first +
                 ":fp16:or-cpu");
}

Result<DeviceName> parse_whole_name(std::string_view kind, std::string_view name) {
  if (!name.starts_with(kind)) {
    return invalid(std::string(name) + " is no device of the kind " + std::string(kind));
  }
  name.remove_prefix(kind.size());
  if (name.starts_with(':')) name.remove_prefix(1);
  return parse_device_name(kind, name);
}

std::unique_ptr<Device> with_cpu(std::unique_ptr<Device> device, const DeviceName& name,
                                 const DeviceOptions& options) {
  auto hybrid = make_hybrid_device(std::move(device), make_cpu_device(options.cpu));
  if (!name.or_cpu) return hybrid;
  return make_failover_device(std::move(hybrid), make_cpu_device(options.cpu));
}

namespace {

// A step of training: gradients of a loss that is a mean are below what f16 holds.
bool is_training(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) {
    return node.op == &ops::softmax_cross_entropy_loss || node.op->name.ends_with("Backward");
  });
}

class DriverDevice final : public Device {
 public:
  DriverDevice(DeviceInfo info, std::unique_ptr<const Driver> driver)
      : driver_(std::move(driver)), options_(driver_->plan_options()), info_(std::move(info)) {}

  const DeviceInfo& info() const override { return info_; }
  bool supports(const Graph& graph, const Node& node) const override {
    return gpu::supports(graph, node, options_.device);
  }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    if (options_.precision == GpuPrecision::kF16 && is_training(graph)) {
      return Status(Code::kUnsupported,
                    "gradients would be lost in f16: training is for the device without :fp16, and "
                    "bf16 halves the memory of activations");
    }
    SHOAL_ASSIGN(Graph lowered, gpu::lowered(graph));
    MeasureNodes measure;
    if (options_.tunes && info_.traces) {
      measure = [this](Plan plan) { return measure_nodes(std::move(plan)); };
    }
    const Ranks ranks = ranks_for(lowered, options_, tuning_, measure);
    SHOAL_ASSIGN(Plan plan, make_plan(std::move(lowered), options_, ranks));
    return driver_->compile(std::move(plan));
  }
  Result<MemoryUse> memory_of(const Graph& graph) override {
    SHOAL_ASSIGN(const Graph lowered, gpu::lowered(graph));
    const MemoryPlan plan = plan_memory(lowered, info_.alignment);
    return MemoryUse{plan.arena_bytes + plan.caller_bytes, plan.live_bytes + plan.caller_bytes};
  }
  Result<DeviceValue> upload(const Tensor& tensor) override { return driver_->upload(tensor); }

 private:
  // Of several runs, the fastest of each node: the first one warms up.
  Result<std::vector<double>> measure_nodes(Plan plan) const {
    constexpr int kRuns = 5;
    SHOAL_ASSIGN(const auto executable, driver_->compile(std::move(plan)));
    const Graph& graph = executable->graph();
    std::vector<DeviceValue> inputs;
    for (ValueId id : graph.inputs()) {
      SHOAL_ASSIGN(DeviceValue value, driver_->upload(Tensor(graph[id].type)));
      inputs.push_back(std::move(value));
    }
    std::vector<double> seconds(graph.nodes().size(), std::numeric_limits<double>::infinity());
    for (int run = 0; run < kRuns; ++run) {
      Trace trace;
      SHOAL_TRY(executable->run_values(inputs, {}, {.trace = &trace}));
      for (const TraceEvent& event : trace) {
        const std::chrono::duration<double> took = event.end - event.begin;
        if (run > 0) seconds[event.node] = std::min(seconds[event.node], took.count());
      }
    }
    return seconds;
  }

  const std::unique_ptr<const Driver> driver_;
  const PlanOptions options_;
  const DeviceInfo info_;
  Tuning tuning_{options_.tuning};
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
