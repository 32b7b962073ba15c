#include "shoal/plan/device_presets.h"

#include <array>
#include <charconv>
#include <string>

namespace shoal::plan {
namespace {

constexpr double kNever = 1e18;  // as in LinkProfile

constexpr std::array kDevices = {
    DevicePreset{"pi3", "Raspberry Pi 3: 4x Cortex-A53 at 1.2 GHz, 1 GB", 1.96e9, 335e6, 700e6},
    DevicePreset{"pi4", "Raspberry Pi 4: 4x Cortex-A72 at 1.5 GHz, 4 GB", 4.9e9, 1.2e9, 3.2e9},
    DevicePreset{"pi5", "Raspberry Pi 5: 4x Cortex-A76 at 2.4 GHz, 8 GB", 15.7e9, 1.6e9, 7e9},
    DevicePreset{"nexus5", "LG Nexus 5: 4x Krait 400 at 2.28 GHz, 2 GB", 0.992e9, 1.54e9, 1e9},
    DevicePreset{"nexus5x", "LG Nexus 5X: 2x Cortex-A57 at 1.8 GHz, 2 GB", 0.32e9, 1.54e9, 1e9},
    DevicePreset{"nexus5x-mxnet", "LG Nexus 5X, training as slowly as MXNet did (whole_time.h)",
                 0.32e9, 1.54e9, 1e9},
};

// A radio in power save takes this long to wake up, and sleeps after this much silence.
constexpr double kWakeUp = 54.7e-3, kSleep = 0.1;

constexpr std::array kLinks = {
    LinkPreset{"wifi-32", "802.11n, 32 Mbit/s", 32e6, 1e-3, kWakeUp, kSleep, true},
    LinkPreset{"wifi-43.8", "802.11n, 43.8 Mbit/s (of 2^20 bits)", 43.8 * (1 << 20), 1e-3, kWakeUp,
               kSleep, true},
    LinkPreset{"wifi-94", "802.11n, 94.1 Mbit/s", 94.1e6, 0.3e-3, kWakeUp, kSleep, true},
    LinkPreset{"ethernet-100", "100 Mbit Ethernet", 94.1e6, 0.3e-3, 0, kNever, false},
    LinkPreset{"gigabit", "gigabit Ethernet", 941e6, 0.2e-3, 0, kNever, false},
};

template <class Known>
Result<Known> find(std::span<const Known> all, std::string_view name, std::string_view what) {
  std::string names;
  for (const Known& known : all) {
    if (known.name == name) return known;
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  return invalid("there is no " + std::string(what) + " " + std::string(name) +
                 "; there are: " + names);
}

}  // namespace

WorkerProfile DevicePreset::profile() const {
  WorkerProfile worker = uniform_worker(std::string(name), macs_per_second, bytes_per_second);
  worker.memory_bytes = memory_bytes;
  return worker;
}

LinkProfile LinkPreset::profile(int medium) const {
  return {latency_seconds, bits_per_second / 8, wakeup_seconds, sleep_after_seconds,
          shared ? medium : kOwnWire};
}

std::span<const DevicePreset> device_presets() { return kDevices; }
std::span<const LinkPreset> link_presets() { return kLinks; }

Result<DevicePreset> find_device(std::string_view name) {
  return find(device_presets(), name, "device");
}
Result<LinkPreset> find_link(std::string_view name) { return find(link_presets(), name, "link"); }

ClusterProfile uniform_cluster(size_t workers, const DevicePreset& device, const LinkPreset& link) {
  ClusterProfile cluster;
  for (size_t w = 0; w < workers; ++w) {
    cluster.workers.push_back(device.profile());
    cluster.workers.back().name += "-" + std::to_string(w);
  }
  // Medium 0 for all: a shared link means one radio channel, the coordinator's included.
  cluster.links.assign(workers, link.profile(0));
  cluster.coordinator = link.profile(0);
  return cluster;
}

Result<ClusterProfile> find_cluster(std::string_view text) {
  constexpr size_t kMostWorkers = 1000;
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    SHOAL_ASSIGN(const DevicePreset device, find_device(text));
    return ClusterProfile{
        .workers = {device.profile()}, .links = {LinkProfile{}}, .coordinator = {}};
  }
  size_t workers = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + slash, workers);
  if (error != std::errc() || *stopped != 'x' || workers < 1 || workers > kMostWorkers) {
    return invalid("devices are written as 4xnexus5/wifi-43.8, not " + std::string(text));
  }
  const auto begin = static_cast<size_t>(stopped - text.data()) + 1;
  SHOAL_ASSIGN(const DevicePreset device, find_device(text.substr(begin, slash - begin)));
  SHOAL_ASSIGN(const LinkPreset link, find_link(text.substr(slash + 1)));
  return uniform_cluster(workers, device, link);
}

}  // namespace shoal::plan
