#include "shoal/config/device_settings.h"

#include "shoal/base/byte_size.h"
#include "shoal/cpu/cpu.h"
#include "shoal/cpu/instruction_set.h"
#include "shoal/devices/devices.h"
#include "shoal/plan/device_presets.h"

namespace shoal::config {

std::string DeviceSettings::profile() const {
  return profiles && plan::find_cluster(device).ok() ? device : "";
}

int64_t DeviceSettings::memory_limit() const { return parse_byte_size(memory).value_or(0); }

Result<std::unique_ptr<Device>> make_device(const DeviceSettings& settings) {
  if (!settings.instructions.empty()) cpu::use_instruction_set(settings.instructions);
  const Tune tune = settings.tune == "off"    ? Tune::kOff
                    : settings.tune == "full" ? Tune::kFull
                                              : Tune::kFast;
  const CpuOptions cpu{.threads = settings.threads,
                       .pin = settings.pin,
                       .share = settings.share,
                       .tune = tune,
                       .memory = settings.memory == "low" ? Memory::kLow : Memory::kPlenty,
                       .remember = tune != Tune::kOff,
                       .packed = settings.packed,
                       .prefer = settings.kernel};
  const bool here = settings.profiles && (settings.device == kHere || !settings.profile().empty());
  return shoal::make_device(here ? "cpu" : settings.device, {.cpu = cpu});
}

}  // namespace shoal::config
