// DeviceSettings: what a model runs on, in words, as flags and files say it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "shoal/base/status.h"
#include "shoal/base/text/setting.h"
#include "shoal/engine/device/device.h"

namespace shoal::config {

inline constexpr const char* kHere = "here";

struct DeviceSettings {
  std::string device = "cpu";
  int threads = 0;  // 0: as many as the machine has
  bool pin = false;
  double share = 1;
  std::string tune = "fast";      // or off, or full
  std::string memory = "plenty";  // or low, or a size where a network learns
  std::string packed = {};        // empty: not kept
  std::string instructions = {};  // empty: the best the processor has
  std::string kernel = {};        // empty: the fastest
  bool profiles = false;          // `device` may also be "here" or one that plans know

  int64_t memory_limit() const;  // in bytes; 0: none was given
  // The device that plans know, if `device` names one; else empty.
  std::string profile() const;
};

// `learns`: memory may be limited to a size.
SettingList settings_of(DeviceSettings& settings, bool learns);
// The one that names the device, whose help lists those that there are; with `profiles`, those that
// plans know, too.
Setting device_setting(std::string& device, const std::string& what, bool profiles = false);

// A device that plans know is computed here. Fails as make_device() of its name. An instruction set
// counts for the whole process.
Result<std::unique_ptr<Device>> make_device(const DeviceSettings& settings);

}  // namespace shoal::config
