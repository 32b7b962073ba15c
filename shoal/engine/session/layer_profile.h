// LayerProfile: the time of a model, layer by layer.
//
//   SHOAL_ASSIGN(const LayerProfile profile, profile_layers(session, inputs, 10));
//   for (const LayerTime& layer : profile.layers) ...
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "shoal/engine/session/session.h"

namespace shoal {

// A node of a graph that a device ran.
struct LayerTime {
  std::string name;        // as in messages
  std::string op;          // "Conv"
  std::string output;      // its type: "f32[1,64,56,56]"
  KernelInfo kernel = {};  // its implementation
  int64_t macs = 0;
  double median_ms = 0;  // over all runs
};

// When a layer was computed, counted from the start of the request.
struct LayerEvent {
  size_t layer = 0;  // index in LayerProfile::layers
  std::chrono::nanoseconds begin{0}, end{0};
};

struct LayerProfile {
  std::vector<LayerTime> layers;   // in order of their stages and nodes
  std::vector<LayerEvent> events;  // of the last run

  int64_t macs() const;
  double total_ms() const;
  double slowest_ms(size_t count) const;  // of the slowest `count` layers together
  int most_threads() const;               // of any layer; at least 1
  std::map<std::string, double> ms_by_kernel() const;
};

// Runs the model once, so that it is compiled and caches are warm, and then `runs` times. Fails as
// Session::run() does, and with kUnsupported if the device gives no times of nodes
// (DeviceInfo::traces). REQUIRES: runs > 0.
Result<LayerProfile> profile_layers(Session& session, const Session::Tensors& inputs, size_t runs);

// The transfer times of inputs to the device and outputs from it. Fails as Device::upload() and
// DeviceValue::to_host() do.
Result<double> transfer_ms(Device& device, const Session::Tensors& inputs,
                           const Session::Tensors& outputs);

}  // namespace shoal
