#include "shoal/engine/run/device_checks.h"

#include <algorithm>

#include "shoal/engine/run/run_files.h"
#include "shoal/engine/session/model.h"
#include "shoal/model/zoo/embedded.h"

namespace shoal::fit {

bool DeviceCheck::is_well() const { return right.ok() && *right == zoo::digits_samples().size(); }

Result<size_t> right_samples(Device& device) {
  SHOAL_ASSIGN(const Model model, open_model(std::string(kDigitsModel)));
  SHOAL_ASSIGN(Session session, model.session(device));
  SHOAL_ASSIGN(const auto samples, classify_samples(session));
  size_t right = 0;
  for (size_t i = 0; i < samples.size(); ++i) right += samples[i].best.index == i ? 1 : 0;
  return right;
}

void check_devices(std::vector<DeviceCheck>& devices,
                   const std::function<Result<std::unique_ptr<Device>>(const std::string&)>& make) {
  const auto check = [&](const std::string& name) -> Result<size_t> {
    SHOAL_ASSIGN(const auto device, make(name));
    return right_samples(*device);
  };
  for (DeviceCheck& device : devices) device.right = check(device.name);
}

bool are_well(std::span<const DeviceCheck> devices) {
  return std::ranges::all_of(devices, &DeviceCheck::is_well);
}

Facts facts_of(const DeviceCheck& check) {
  constexpr const char* kColumn = "built-in samples right";
  Facts facts;
  for (const auto& [name, value] : check.about.members()) facts.push_back({name, value});
  facts.push_back({"name", check.name, "device"});
  if (check.right.ok()) {
    const std::string cell =
        std::to_string(*check.right) + " of " + std::to_string(zoo::digits_samples().size());
    facts.push_back({"right", *check.right, kColumn, cell});
  } else {
    facts.push_back({"error", std::string(check.right.status().message()), kColumn});
  }
  return facts;
}

}  // namespace shoal::fit
