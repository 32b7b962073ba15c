// cluster.toml, the devices of a cluster and their links (docs/reference/cluster.md), and the
// settings for equal devices without a file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/base/text/setting.h"
#include "shoal/plan/profile.h"

namespace shoal::config {

// `name` is that of the file, for messages. kInvalidArgument with the line for invalid contents.
Result<plan::ClusterProfile> parse_cluster(std::string_view text, const std::string& name);
Result<plan::ClusterProfile> read_cluster(const std::filesystem::path& path);

struct ClusterSettings {
  std::string file = {};  // in place of the rest
  size_t workers = 4;
  std::string device = "pi4";
  std::string link = "gigabit";
};

// All settings except the file. `device` is the name of the setting for the workers' device,
// `count` the help of their number.
SettingList settings_of(ClusterSettings& settings, const std::string& device = "device",
                        const std::string& count = "How many workers");

// The same cluster as a file describes it. REQUIRES: the settings have no file.
std::string to_toml(const ClusterSettings& settings);

// Fails as read_cluster(), and with kInvalidArgument for unknown names.
Result<plan::ClusterProfile> make_cluster(const ClusterSettings& settings);

}  // namespace shoal::config
