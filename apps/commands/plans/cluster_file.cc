// The reader of cluster.toml. The file is written by hand: unknown keys and numbers that make no
// sense are errors that name the key.
#include "apps/commands/plans/cluster_file.h"

#include <map>
#include <span>

#include "apps/commands/toml_file.h"
#include "shoal/plan/device_presets.h"

namespace shoal::config {
namespace {

using plan::DevicePreset;
using plan::LinkPreset;

constexpr int64_t kMostWorkers = 4096;

class ClusterReader {
 public:
  explicit ClusterReader(const toml::table& root) : root_(root) {}

  Result<plan::ClusterProfile> run() {
    SHOAL_TRY(allow(root_, {"keep_awake", "coordinator", "worker", "link", "device"}));
    SHOAL_TRY(read_links());
    SHOAL_TRY(read_devices());
    cluster_.keep_awake = root_["keep_awake"].value_or(true);
    const toml::array* workers = root_["worker"].as_array();
    if (workers == nullptr || workers->empty()) return invalid("there is no [[worker]]");
    for (const toml::node& entry : *workers) {
      if (!entry.is_table()) return invalid("worker is not a list of tables: write [[worker]]");
      SHOAL_TRY(add_workers(*entry.as_table()));
    }
    return read_coordinator();
  }

 private:
  // 0, or a number whose products and quotients are finite; `fallback` if absent.
  static Result<double> number(const toml::table& table, std::string_view key, double fallback) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return fallback;
    const auto value = node->value<double>();
    if (!value || (*value != 0 && !(*value >= 1e-15 && *value <= 1e15))) {
      return invalid(std::string(key) + " is not a number that makes sense");
    }
    return *value;
  }

  Status read_links() {
    const toml::table* tables = root_["link"].as_table();
    if (tables == nullptr) return {};
    for (const auto& [name, node] : *tables) {
      if (!node.is_table()) return invalid("link." + std::string(name.str()) + " is no table");
      const toml::table& table = *node.as_table();
      SHOAL_TRY(allow(table, {"mbit", "latency_ms", "wakeup_ms", "sleep_after_ms", "shared"}));
      SHOAL_ASSIGN(const double mbit, number(table, "mbit", 0));
      if (mbit <= 0) return invalid("link." + std::string(name.str()) + " has no mbit");
      SHOAL_ASSIGN(const double latency, number(table, "latency_ms", 0));
      SHOAL_ASSIGN(const double wakeup, number(table, "wakeup_ms", 0));
      SHOAL_ASSIGN(const double sleep, number(table, "sleep_after_ms", 100));
      links_.emplace(name.str(), LinkPreset{name.str(), "", mbit * 1e6, latency / 1e3, wakeup / 1e3,
                                            sleep / 1e3, table["shared"].value_or(false)});
    }
    return {};
  }

  Status read_devices() {
    const toml::table* tables = root_["device"].as_table();
    if (tables == nullptr) return {};
    for (const auto& [name, node] : *tables) {
      if (!node.is_table()) return invalid("device." + std::string(name.str()) + " is no table");
      const toml::table& table = *node.as_table();
      SHOAL_TRY(allow(table, {"gmac_per_s", "gb_per_s", "memory_mb"}));
      SHOAL_ASSIGN(const double gmac, number(table, "gmac_per_s", 0));
      SHOAL_ASSIGN(const double gb, number(table, "gb_per_s", 0));
      SHOAL_ASSIGN(const double memory, number(table, "memory_mb", 1e12));
      if (gmac <= 0 || gb <= 0) {
        return invalid("device." + std::string(name.str()) + " needs gmac_per_s and gb_per_s");
      }
      devices_.emplace(name.str(),
                       DevicePreset{name.str(), "", gmac * 1e9, gb * 1e9, memory * 1e6});
    }
    return {};
  }

  Result<plan::LinkProfile> link_of(const toml::table& table) {
    const std::string name = table["link"].value_or(std::string());
    if (name.empty()) return invalid("no link is named");
    const auto own = links_.find(name);
    Result<LinkPreset> link = own != links_.end() ? own->second : plan::find_link(name);
    if (!link.ok()) return link.status();
    // Links of one name share one channel, unless they say which.
    const std::string channel = table["channel"].value_or(name);
    return link->profile(media_.emplace(channel, static_cast<int>(media_.size())).first->second);
  }

  Status add_workers(const toml::table& table) {
    SHOAL_TRY(allow(table, {"name", "device", "link", "channel", "count", "speed", "memory_mb"}));
    const std::string name = table["device"].value_or(std::string());
    const auto own = devices_.find(name);
    Result<DevicePreset> device = own != devices_.end() ? own->second : plan::find_device(name);
    if (!device.ok()) return device.status();
    SHOAL_ASSIGN(const double speed, number(table, "speed", 1));
    SHOAL_ASSIGN(const double memory, number(table, "memory_mb", device->memory_bytes / 1e6));
    if (speed <= 0) return invalid("a worker of speed 0 does nothing");
    device->macs_per_second *= speed;
    device->bytes_per_second *= speed;
    device->memory_bytes = memory * 1e6;
    const int64_t count = table["count"].value_or(int64_t{1});
    const auto there = static_cast<int64_t>(cluster_.workers.size());
    if (count < 1 || count > kMostWorkers - there) return invalid("too few or too many workers");
    SHOAL_ASSIGN(const plan::LinkProfile link, link_of(table));
    for (int64_t i = 0; i < count; ++i) {
      plan::WorkerProfile worker = device->profile();
      worker.name = table["name"].value_or(name) +
                    (count > 1 || !table["name"] ? "-" + std::to_string(there + i) : "");
      cluster_.workers.push_back(std::move(worker));
      cluster_.links.push_back(link);
    }
    return {};
  }

  // Without a table, it is linked as the first worker is.
  Result<plan::ClusterProfile> read_coordinator() {
    cluster_.coordinator = cluster_.links[0];
    if (const toml::table* table = root_["coordinator"].as_table()) {
      SHOAL_TRY(allow(*table, {"link", "channel"}));
      SHOAL_ASSIGN(cluster_.coordinator, link_of(*table));
    }
    return std::move(cluster_);
  }

  const toml::table& root_;
  std::map<std::string, LinkPreset, std::less<>> links_;
  std::map<std::string, DevicePreset, std::less<>> devices_;
  std::map<std::string, int, std::less<>> media_;
  plan::ClusterProfile cluster_;
};

template <class Known>
std::string names_of(std::span<const Known> all) {
  std::string names;
  for (const Known& known : all) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

}  // namespace

Result<plan::ClusterProfile> parse_cluster(std::string_view text, const std::string& name) {
  SHOAL_ASSIGN(const toml::table root, parse_toml(text, name));
  auto cluster = ClusterReader(root).run();
  if (!cluster.ok()) return cluster.status().at(name);
  return cluster;
}

Result<plan::ClusterProfile> read_cluster(const std::filesystem::path& path) {
  return read_toml(path, parse_cluster);
}

SettingList settings_of(ClusterSettings& s, const std::string& device, const std::string& count) {
  // Where --device is what computes here, workers' is --worker; that goes everywhere.
  Setting what(device, s.device, "What they are: " + names_of(plan::device_presets()));
  if (device != "worker") what.also("worker");
  return {Setting("workers", s.workers, count).in(1, 4096),
          what,
          {"link", s.link, "What links them: " + names_of(plan::link_presets())}};
}

std::string to_toml(const ClusterSettings& s) {
  const std::string link = "link = \"" + s.link + "\"\n";
  return "[coordinator]\n" + link + "[[worker]]\ndevice = \"" + s.device + "\"\n" + link +
         "count = " + std::to_string(s.workers) + "\n";
}

Result<plan::ClusterProfile> make_cluster(const ClusterSettings& settings) {
  if (!settings.file.empty()) return read_cluster(settings.file);
  SHOAL_ASSIGN(const plan::DevicePreset device, plan::find_device(settings.device));
  SHOAL_ASSIGN(const plan::LinkPreset link, plan::find_link(settings.link));
  return plan::uniform_cluster(settings.workers, device, link);
}

}  // namespace shoal::config
