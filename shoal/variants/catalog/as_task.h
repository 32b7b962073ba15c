// A catalog as a scheduler sees it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "shoal/variants/catalog/catalog.h"
#include "shoal/variants/scheduler/task.h"

namespace shoal::catalog {

// A task with each variant here, an option each in the catalog's order. A special network falls
// back to the widest.
schedule::Task as_task(const Catalog& catalog, std::string name);

// The folders of variants in a folder, one per task: itself, or those in it.
std::vector<std::filesystem::path> catalogs_in(const std::filesystem::path& folder);
// The name of the task of such a folder.
std::string task_name(const std::filesystem::path& folder);

}  // namespace shoal::catalog
