// Presets of common devices and links, for plans made before anything was measured.
// docs/reference/cluster.md gives the source of each number.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/plan/profile.h"

namespace shoal::plan {

struct DevicePreset {
  std::string_view name, about;
  double macs_per_second;   // of products that memory does not limit
  double bytes_per_second;  // of weights and activations that pass once
  double memory_bytes;      // available to a model

  WorkerProfile profile() const;
};

struct LinkPreset {
  std::string_view name, about;
  double bits_per_second;
  double latency_seconds;
  double wakeup_seconds;
  double sleep_after_seconds;
  bool shared;  // one radio channel for all

  LinkProfile profile(int medium) const;  // `medium`: the radio channel, if it is shared
};

std::span<const DevicePreset> device_presets();
std::span<const LinkPreset> link_presets();

// kInvalidArgument for an unknown name; the message lists the known ones.
Result<DevicePreset> find_device(std::string_view name);
Result<LinkPreset> find_link(std::string_view name);

// Equal workers, and a coordinator with the same link.
ClusterProfile uniform_cluster(size_t workers, const DevicePreset& device, const LinkPreset& link);

// The workers of a text such as "4xnexus5/wifi-43.8" or "pi4". kInvalidArgument for another text or
// more than 1000 workers.
Result<ClusterProfile> find_cluster(std::string_view text);

}  // namespace shoal::plan
