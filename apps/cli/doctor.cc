// shoal doctor: does it work here, and what is here?
#include <cmath>
#include <cstdio>
#include <span>
#include <thread>

#include "cli.h"
#include "model.h"
#include "shoal/base/machine.h"
#include "shoal/cpu/instruction_set.h"
#include "shoal/data/image.h"
#include "shoal/devices/devices.h"
#include "shoal/ops/ops.h"
#include "shoal/zoo/embedded.h"
#include "table.h"
#ifdef SHOAL_OPENCL
#include "shoal/opencl/opencl.h"
#endif

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal doctor      what this machine offers, and whether the built-in model answers right on it)";

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
  size_t right = 0;
  const auto samples = zoo::digits_samples();
  for (size_t digit = 0; digit < samples.size(); ++digit) {
    SHOAL_ASSIGN(Tensor image, parse_image(samples[digit].png));
    SHOAL_ASSIGN(Tensor x, preprocess(image, {.channels = 1}, 28, 28));
    SHOAL_ASSIGN(auto outputs, session.run({{session.inputs()[0].name, x}}));
    const auto scores = outputs.begin()->second.data<float>();
    right +=
        static_cast<size_t>(std::ranges::max_element(scores) - scores.begin()) == digit ? 1 : 0;
  }
  return right;
}

// The devices of this machine, as --device takes them.
std::vector<std::string> local_devices() {
  std::vector<std::string> names;
  for (const DeviceKind& kind : device_kinds()) {
    if (kind.is_local) names.push_back(kind.name);
  }
#ifdef SHOAL_OPENCL
  if (const auto found = opencl_devices(); found.ok()) {
    for (size_t i = 0; i < found->size(); ++i) names.push_back("opencl:" + std::to_string(i));
  }
#endif
  return names;
}

Outcome doctor() {
  const Machine machine = describe_machine();
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
  bool sick = false;
  for (const std::string& name : local_devices()) {
    auto right = right_samples(name);
    sick |= !right.ok() || *right != zoo::digits_samples().size();
    checks.add({name, right.ok() ? std::to_string(*right) + " of 10"
                                 : std::string(right.status().message())});
  }
  checks.print();
  if (sick)
    return {Exit::kDevice, "a device answers wrong; please report this with the lines above"};
  return {};
}

}  // namespace

void add_doctor(Command& app, Action& action) {
  Command* command =
      app.add_subcommand("doctor", "Show what this machine offers and check that it works");
  command->footer(kExamples);
  command->callback([&action] { action = doctor; });
}

}  // namespace shoal::cli
