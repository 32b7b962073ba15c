#include "shoal/engine/delta/delta_device.h"

#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "shoal/engine/delta/delta_executable.h"

namespace shoal {

Result<std::optional<float>> parse_delta(std::string_view text) {
  if (text == "off") return std::optional<float>();
  if (text == "auto") return std::optional(kAutoDelta);
  float threshold = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threshold);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (is_number && threshold >= 0 && std::isfinite(threshold)) return std::optional(threshold);
  return invalid("delta is " + std::string(text) + ", should be off, auto or a number from 0 on");
}

DeltaDevice::DeltaDevice(std::unique_ptr<Device> device, const DeltaOptions& options)
    : device_(std::move(device)),
      options_(options),
      info_(device_->info()),
      counters_(std::make_shared<DeltaCounters>()) {}

DeltaDevice::~DeltaDevice() = default;

bool DeltaDevice::supports(const Graph& graph, const Node& node) const {
  return device_->supports(graph, node);
}

Result<std::unique_ptr<Executable>> DeltaDevice::compile(const Graph& graph) {
  SHOAL_ASSIGN(std::unique_ptr<Executable> executable, device_->compile(graph));
  auto* whole = dynamic_cast<cpu::CpuExecutable*>(executable.get());
  if (whole == nullptr) return executable;
  std::unique_ptr<cpu::CpuExecutable> owned(whole);
  static_cast<void>(executable.release());
  return std::unique_ptr<Executable>(
      std::make_unique<delta::DeltaExecutable>(std::move(owned), options_, counters_));
}

Result<DeviceValue> DeltaDevice::upload(const Tensor& tensor) { return device_->upload(tensor); }

DeltaStatistics DeltaDevice::statistics() const {
  const std::scoped_lock lock(counters_->mutex);
  return counters_->statistics;
}

void DeltaDevice::reset() { ++counters_->resets; }

}  // namespace shoal
