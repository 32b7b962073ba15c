#include "devices.h"

#include "shoal/base/math/random.h"
#include "shoal/engine/device/hybrid.h"
#include "shoal/engine/devices/devices.h"

namespace shoal {
namespace {

class MoodyDevice final : public Device {
 public:
  MoodyDevice(std::unique_ptr<Device> device, uint64_t seed)
      : device_(std::move(device)), seed_(seed) {}

  const DeviceInfo& info() const override { return device_->info(); }
  bool supports(const Graph& graph, const Node& node) const override {
    const auto number = static_cast<uint64_t>(&node - graph.nodes().data());
    return RandomStream(seed_, graph.nodes().size()).below(2, number) == 0;
  }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    return device_->compile(graph);
  }
  Result<MemoryUse> memory_of(const Graph& graph) override { return device_->memory_of(graph); }

 private:
  const std::unique_ptr<Device> device_;
  const uint64_t seed_;
};

std::vector<std::unique_ptr<Device>> make_all() {
  std::vector<std::unique_ptr<Device>> all;
  for (const DeviceKind& kind : device_kinds()) {
    if (kind.is_local) all.push_back(*make_device(kind.name, {.cpu = {.threads = 1}}));
  }
  all.push_back(*make_device("cpu", {.cpu = {.threads = 2}}));
  for (const uint64_t seed : {1u, 2u}) {
    all.push_back(
        make_hybrid_device(make_moody_device(*make_device("cpu", {.cpu = {.threads = 2}}), seed),
                           make_reference_device()));
  }
  return all;
}

}  // namespace

std::unique_ptr<Device> make_moody_device(std::unique_ptr<Device> device, uint64_t seed) {
  return std::make_unique<MoodyDevice>(std::move(device), seed);
}

std::span<const std::unique_ptr<Device>> all_devices() {
  static const std::vector<std::unique_ptr<Device>> all = make_all();
  return all;
}

}  // namespace shoal
