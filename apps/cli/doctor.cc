// shoal doctor: checks the installation and lists the available parts.
#include <cstdio>
#include <span>
#include <thread>

#include "cli.h"
#include "facts.h"
#include "model.h"
#include "shoal/base/machine/machine.h"
#include "shoal/engine/cpu/instruction_set.h"
#include "shoal/engine/gpu/device/registry.h"
#include "shoal/engine/run/device_checks.h"
#include "shoal/model/ops/ops.h"

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

std::vector<fit::DeviceCheck> checked_devices() {
  std::vector<fit::DeviceCheck> devices;
  for (gpu::FoundDevice& found : gpu::found_devices()) {
    devices.push_back({std::move(found.name), std::move(found.facts)});
  }
  fit::check_devices(devices, [](const std::string& name) {
    return make_device(config::DeviceSettings{.device = name});
  });
  return devices;
}

struct Flags {
  bool json = false;
};

Outcome doctor(const Flags& flags) {
  const Machine machine = describe_machine();
  const std::vector<fit::DeviceCheck> devices = checked_devices();
  std::vector<Facts> checks;
  for (const fit::DeviceCheck& device : devices) checks.push_back(facts_of(device));
  const Facts facts = {{"version", std::string(SHOAL_VERSION), "version"},
                       {"processor", machine.processor, "processor"},
                       {"cores", std::thread::hardware_concurrency(), "cores"},
                       sized("memory_bytes", machine.memory_bytes, "memory"),
                       sized("free_bytes", machine.free_bytes, "free memory"),
                       shown("vector targets", in_one_line(cpu::instruction_sets())),
                       shown("vector extensions", in_one_line(cpu::extensions())),
                       shown("operators", std::to_string(ops::all().size()))};
  if (flags.json) {
    Json result = object_of(facts);
    result["devices"] = list_of(checks);
    print_json(result);
  } else {
    Table here({"what", "here"});
    for (const Fact& fact : facts) here.add({fact.column, fact.cell});
    here.print();
    std::printf("\n");
    table_of(checks).print();
  }
  if (are_well(devices)) return {};
  return {Exit::kDevice, "a device answers wrong; please report this with the lines above"};
}

}  // namespace

void add_doctor(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "doctor", "Show what this machine offers and check that it works",
                  kExamples, doctor);
  command.add_flag("--json", flags.json, "Print one JSON object");
}

}  // namespace shoal::cli
