// cluster.toml: the devices of a cluster and their links. docs/reference/cluster.md has the form.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/plan/profile.h"

namespace shoal::config {

// `name` is that of the file, for messages. kInvalidArgument with the line where it makes no sense.
Result<plan::ClusterProfile> parse_cluster(std::string_view text, const std::string& name);
Result<plan::ClusterProfile> read_cluster(const std::filesystem::path& path);

}  // namespace shoal::config
