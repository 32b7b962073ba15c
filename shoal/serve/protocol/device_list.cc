#include "shoal/serve/protocol/device_list.h"

#include <algorithm>
#include <string_view>

#include "shoal/base/text/json_text.h"
#include "shoal/base/text/printable.h"

namespace shoal::serve {
namespace {

std::string text(const char* name, std::string_view value) {
  return std::string("\"") + name + "\":" + json_text(valid_utf8(value));
}

std::string number(const char* name, double value) {
  return std::string(",\"") + name + "\":" + json_number(value);
}

std::string number(const char* name, const std::optional<double>& value) {
  return value ? number(name, *value) : std::string(",\"") + name + "\":null";
}

std::string whole(const char* name, uint64_t value) {
  return std::string(",\"") + name + "\":" + std::to_string(value);
}

std::string print_device(const DeviceEntry& one) {
  return "{" + text("name", one.name) + "," + text("role", one.role) + "," +
         text("kind", one.kind) + "," + text("lost", one.lost) +
         whole("threads", static_cast<uint64_t>(std::max(one.threads, 0))) +
         number("load", one.load) + whole("memory_bytes", one.memory_bytes) +
         whole("free_bytes", one.free_bytes) + whole("tasks", one.tasks) + "}";
}

std::string print_link(const LinkEntry& one) {
  return "{" + text("from", one.from) + "," + text("to", one.to) +
         number("bytes_per_second", one.bytes_per_second) +
         number("round_trip_ms", one.round_trip_ms) + "}";
}

std::string print_entry(const PlanEntry& one) {
  return "{" + text("id", std::to_string(one.id)) + "," + text("model", one.model) + "," +
         text("split", one.split) + number("ms", one.ms) + "}";
}

template <class List, class Print>
std::string print_list(const char* name, const List& list, const Print& print_one) {
  std::string printed = std::string("\"") + name + "\":[";
  for (const auto& one : list) printed += (&one == list.data() ? "" : ",") + print_one(one);
  return printed + "]";
}

}  // namespace

std::string print(const DeviceList& list) {
  return "{" + print_list("devices", list.devices, print_device) + "," +
         print_list("links", list.links, print_link) + "," +
         print_list("plans", list.plans, print_entry) + "}";
}

std::optional<std::string> print_plan(const DeviceList& list, const std::string& id) {
  const auto found = std::ranges::find_if(
      list.plans, [&](const PlanEntry& one) { return std::to_string(one.id) == id; });
  if (found == list.plans.end() || found->picture == nullptr) return std::nullopt;
  return "{" + text("picture", *found->picture) + "}";
}

}  // namespace shoal::serve
