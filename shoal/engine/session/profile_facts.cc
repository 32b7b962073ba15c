#include "shoal/engine/session/profile_facts.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>

namespace shoal {
namespace {

Json to_json(const KernelTiming& timing) {
  if (timing.runner_up.empty()) return {};
  return {{"us", timing.microseconds},
          {"runner_up", timing.runner_up},
          {"runner_up_us", timing.runner_up_microseconds}};
}

}  // namespace

std::string describe(const KernelInfo& kernel) {
  const KernelTiming& timing = kernel.timing;
  if (timing.runner_up.empty()) return kernel.name;
  return kernel.name + " " + fixed(timing.runner_up_microseconds / timing.microseconds, 1) + "x " +
         timing.runner_up;
}

Json to_json(const LayerProfile& profile) {
  Json list = Json::array();
  std::map<std::string, double> by_kernel = profile.ms_by_kernel();
  by_kernel.insert({{"reference", 0}, {"reorder", 0}});
  for (const LayerTime& layer : profile.layers) {
    list.push_back({{"node", layer.name},
                    {"operator", layer.op},
                    {"kernel", layer.kernel.name},
                    {"tuning", to_json(layer.kernel.timing)},
                    {"output", layer.output},
                    {"macs", layer.macs},
                    {"median_ms", layer.median_ms}});
  }
  return {{"layers", std::move(list)}, {"by_kernel", by_kernel}, {"total_ms", profile.total_ms()}};
}

std::vector<Facts> rows_of(const LayerProfile& profile, size_t most) {
  std::vector<LayerTime> layers = profile.layers;
  if (most < SIZE_MAX) std::ranges::stable_sort(layers, std::greater(), &LayerTime::median_ms);
  layers.resize(std::min(layers.size(), most));
  const double total = profile.total_ms();
  std::vector<Facts> rows;
  for (const LayerTime& layer : layers) {
    const double rate = static_cast<double>(layer.macs) / layer.median_ms / 1e6;
    rows.push_back({{"node", layer.name, "node"},
                    {"operator", layer.op, "operator"},
                    {"kernel", describe(layer.kernel), "kernel"},
                    {"output", layer.output, "output"},
                    {"median_ms", layer.median_ms, "ms", 3},
                    {"share", 100 * layer.median_ms / total, "share", 1, " %"},
                    {"gmacs_per_s", rate, "GMAC/s", layer.macs > 0 ? fixed(rate, 1) : ""}});
  }
  return rows;
}

Table table_of(const LayerProfile& profile, size_t most) {
  const double total = profile.total_ms();
  Table table = shoal::table_of(rows_of(profile, most),
                                {"node", "operator", "kernel", "output", "ms", "share", "GMAC/s"});
  table.add_rule();
  if (profile.layers.size() > most) {
    const double left = total - profile.slowest_ms(most);
    table.add({std::to_string(profile.layers.size() - most) + " more", "", "", "", fixed(left, 3),
               fixed(100 * left / total, 1) + " %", ""});
  }
  table.add({"total", "", "", "", fixed(total, 3), "", ""});
  return table;
}

Json to_perfetto(const LayerProfile& profile) {
  using Micro = std::chrono::duration<double, std::micro>;
  Json events = Json::array();
  for (const LayerEvent& event : profile.events) {
    const LayerTime& layer = profile.layers[event.layer];
    events.push_back(
        {{"name", layer.name},
         {"cat", layer.op},
         {"ph", "X"},
         {"ts", Micro(event.begin).count()},
         {"dur", Micro(event.end - event.begin).count()},
         {"pid", 1},
         {"tid", 1},
         {"args",
          Json{{"kernel", layer.kernel.name}, {"output", layer.output}, {"macs", layer.macs}}}});
  }
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
}

}  // namespace shoal
