// Where clusters and workers keep who they are, unless told otherwise.
#pragma once

#include <filesystem>

#include "../cli.h"

namespace shoal::cli {

// $SHOAL_CLUSTER_DIR, or config_folder()/cluster.
std::filesystem::path default_cluster_folder();
std::filesystem::path default_worker_folder();  // config_folder()/worker

// Of what fails between machines.
Exit exit_of(const Status& status);

}  // namespace shoal::cli
