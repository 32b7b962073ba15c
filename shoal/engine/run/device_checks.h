// Device checks: the embedded model classifies the embedded images.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/text/facts.h"
#include "shoal/engine/device/device.h"

namespace shoal::fit {

struct DeviceCheck {
  std::string name;                  // as make_device() takes it
  Json about = Json::object();       // its description
  Result<size_t> right = size_t{0};  // of the built-in samples

  bool is_well() const;
};

// Runs the samples. Fails as the device does.
Result<size_t> right_samples(Device& device);

// Checks these devices. `make` makes a device by its name.
void check_devices(std::vector<DeviceCheck>& devices,
                   const std::function<Result<std::unique_ptr<Device>>(const std::string&)>& make);

bool are_well(std::span<const DeviceCheck> devices);

// As JSON, with the device's description.
Facts facts_of(const DeviceCheck& check);

}  // namespace shoal::fit
