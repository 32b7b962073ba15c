// DeviceList: the devices of a server: those of its machine or workers of a cluster, the links to
// them, and the plans by which they share a network. GET /v2/devices and GET /v2/plans/ID.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shoal::serve {

// Texts are untrusted. An unknown number is 0, or nullopt.
struct DeviceEntry {
  std::string name;
  std::string role;                 // "coordinator", "worker", "computes", "idle"
  std::string kind;                 // of processor
  std::string lost = {};            // why it cannot be reached; empty: it is there
  int threads = 0;                  // that compute
  std::optional<double> load = {};  // of its machine: programs that want a core
  uint64_t memory_bytes = 0, free_bytes = 0;
  uint64_t tasks = 0;  // computed since it started
};

struct LinkEntry {
  std::string from, to;                         // names of devices
  std::optional<double> bytes_per_second = {};  // as it was measured for plans
  std::optional<double> round_trip_ms = {};     // of the last small message
};

struct PlanEntry {
  uint64_t id = 0;                                  // another plan has another one
  std::string model;                                // names and types of inputs
  std::string split;                                // how it is shared
  double ms = 0;                                    // of a request, as it was predicted
  std::shared_ptr<const std::string> picture = {};  // markup: each worker's tasks over time
};

struct DeviceList {
  std::vector<DeviceEntry> devices;
  std::vector<LinkEntry> links;
  std::vector<PlanEntry> plans;
};

// As JSON, without pictures.
std::string print(const DeviceList& list);
// The picture of a plan as JSON; nullopt if there is no such plan.
std::optional<std::string> print_plan(const DeviceList& list, const std::string& id);

}  // namespace shoal::serve
