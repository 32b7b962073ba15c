// Device and image settings of flags and files: DeviceSettings, the device of a model;
// ImageSettings, the preparation of images, and presets of that. Users' presets are in their
// configuration folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "shoal/base/status.h"
#include "shoal/base/text/setting.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/inputs/image.h"

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
// The setting that names the device; its help lists the available ones and, with `profiles`, those
// that plans know.
Setting device_setting(std::string& device, const std::string& what, bool profiles = false);

// Makes the device; one that plans know is computed here. Fails as make_device() of its name. An
// instruction set applies to the whole process.
Result<std::unique_ptr<Device>> make_device(const DeviceSettings& settings);

struct ImageSettings {
  Preprocess image = {};    // but for the layout
  std::string layout = {};  // nchw or nhwc; empty: what the network's input looks like
  std::string preset = {};  // a name that find_preset() knows, or one that was saved
  std::string save_as = {};
};

SettingList settings_of(ImageSettings& settings);

// The settings of the preset, or without one `before`, overridden by the given ones. Saves them if
// there is a name for that. Fails as load_preset() and save_preset().
Result<Preprocess> resolve(ImageSettings settings, const Preprocess& before,
                           const GivenFlags& given);

}  // namespace shoal::config
