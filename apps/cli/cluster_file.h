// cluster.toml: the devices of a cluster and their links. docs/reference/cluster.md has the form.
#pragma once

#include <filesystem>

#include "shoal/base/status.h"
#include "shoal/plan/profile.h"

namespace shoal::cli {

Result<plan::ClusterProfile> read_cluster(const std::filesystem::path& path);

}  // namespace shoal::cli
