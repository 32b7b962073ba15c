// cluster.toml: which devices a cluster has, and how they are linked. docs/cluster.md has the form.
#pragma once

#include <filesystem>

#include "shoal/base/status.h"
#include "shoal/plan/profile.h"

namespace shoal::cli {

Result<plan::ClusterProfile> read_cluster(const std::filesystem::path& path);

}  // namespace shoal::cli
