// shoal doctor: does it work here, and what is here?
#include <algorithm>
#include <cstdio>
#include <span>
#include <thread>

#include "apps/flags/json.h"
#include "cli.h"
#include "model.h"
#include "shoal/base/machine.h"
#include "shoal/cpu/instruction_set.h"
#include "shoal/devices/devices.h"
#include "shoal/fit/builtin_samples.h"
#include "shoal/ops/ops.h"
#include "shoal/zoo/embedded.h"
#include "table.h"
#ifdef SHOAL_OPENCL
#include "shoal/opencl/opencl.h"
#endif
#ifdef SHOAL_VULKAN
#include "shoal/vulkan/vulkan.h"
#endif

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal doctor          what this machine offers, and whether the built-in model answers right on it
  shoal doctor --json   the same for scripts, with all devices)";

std::string in_one_line(std::span<const std::string_view> names) {
  std::string line;
  for (std::string_view name : names) line += (line.empty() ? "" : " ") + std::string(name);
  return line.empty() ? "none" : line;
}

// How many of the built-in samples are answered right on the device.
Result<size_t> right_samples(const std::string& device_name) {
  ModelFlags flags;
  flags.device = device_name;
  SHOAL_ASSIGN(auto device, make_device(flags));
  SHOAL_ASSIGN(Session session, open_session(flags, *device));
  SHOAL_ASSIGN(const auto samples, fit::classify_samples(session));
  size_t right = 0;
  for (size_t i = 0; i < samples.size(); ++i) right += samples[i].best.index == i ? 1 : 0;
  return right;
}

// A device of this machine: as --device takes it, what it is, and how it answered.
struct LocalDevice {
  std::string name;
  Json facts;
  Result<size_t> right = size_t{0};  // of the built-in samples
};

std::vector<LocalDevice> local_devices() {
  std::vector<LocalDevice> devices;
  for (const DeviceKind& kind : device_kinds()) {
    if (kind.is_local) devices.push_back({kind.name, {{"summary", kind.summary}}});
  }
#ifdef SHOAL_OPENCL
  if (const auto found = opencl_devices(); found.ok()) {
    for (size_t i = 0; i < found->size(); ++i) {
      const OpenClDescription& device = (*found)[i];
      devices.push_back({"opencl:" + std::to_string(i),
                         {{"device_name", device.name},
                          {"platform", device.platform},
                          {"driver", device.driver},
                          {"memory_bytes", device.memory_bytes}}});
    }
  }
#endif
#ifdef SHOAL_VULKAN
  if (const auto found = vulkan_devices(); found.ok()) {
    for (size_t i = 0; i < found->size(); ++i) {
      const VulkanDescription& device = (*found)[i];
      devices.push_back({"vulkan:" + std::to_string(i),
                         {{"device_name", device.name},
                          {"kind", device.kind},
                          {"driver", device.driver},
                          {"memory_bytes", device.memory_bytes}}});
    }
  }
#endif
  for (LocalDevice& device : devices) {
    device.right = right_samples(device.name);
    device.facts["name"] = device.name;
    if (device.right.ok()) {
      device.facts["right"] = *device.right;
    } else {
      device.facts["error"] = device.right.status().message();
    }
  }
  return devices;
}

struct Flags {
  bool json = false;
};

Outcome doctor(const Flags& flags) {
  const Machine machine = describe_machine();
  const std::vector<LocalDevice> devices = local_devices();
  const bool sick = std::ranges::any_of(devices, [](const LocalDevice& device) {
    return !device.right.ok() || *device.right != zoo::digits_samples().size();
  });
  const Outcome outcome =
      sick ? Outcome{Exit::kDevice,
                     "a device answers wrong; please report this with the lines above"}
           : Outcome{};
  if (flags.json) {
    Json found = Json::array();
    for (const LocalDevice& device : devices) found.push_back(device.facts);
    const Json result = {{"version", SHOAL_VERSION},
                         {"processor", machine.processor},
                         {"cores", std::thread::hardware_concurrency()},
                         {"memory_bytes", machine.memory_bytes},
                         {"free_bytes", machine.free_bytes},
                         {"devices", found}};
    print_json(result);
    return outcome;
  }
  Table facts({"what", "here"});
  facts.add({"version", SHOAL_VERSION});
  facts.add({"processor", machine.processor});
  facts.add({"cores", std::to_string(std::thread::hardware_concurrency())});
  facts.add({"memory", in_bytes(static_cast<long long>(machine.memory_bytes))});
  facts.add({"free memory", in_bytes(static_cast<long long>(machine.free_bytes))});
  facts.add({"vector targets", in_one_line(cpu::instruction_sets())});
  facts.add({"vector extensions", in_one_line(cpu::extensions())});
  facts.add({"operators", std::to_string(ops::all().size())});
  facts.print();
  std::printf("\n");
  Table checks({"device", "built-in samples right"});
  for (const LocalDevice& device : devices) {
    checks.add({device.name, device.right.ok() ? std::to_string(*device.right) + " of 10"
                                               : std::string(device.right.status().message())});
  }
  checks.print();
  return outcome;
}

}  // namespace

void add_doctor(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "doctor", "Show what this machine offers and check that it works",
                  kExamples, doctor);
  command.add_flag("--json", flags.json, "Print one JSON object");
}

}  // namespace shoal::cli
