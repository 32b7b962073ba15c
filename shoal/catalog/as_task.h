// A catalog as a scheduler sees it.
#pragma once

#include <string>

#include "shoal/catalog/catalog.h"
#include "shoal/schedule/task.h"

namespace shoal::catalog {

// A task with each variant here, an option each in the catalog's order. A special network falls
// back to the widest.
schedule::Task as_task(const Catalog& catalog, std::string name);

}  // namespace shoal::catalog
