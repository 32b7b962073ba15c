#include "shoal/engine/gpu/device/device_name.h"

#include <charconv>
#include <string>

#include "shoal/engine/device/failover.h"
#include "shoal/engine/device/hybrid.h"

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

}  // namespace shoal::gpu
