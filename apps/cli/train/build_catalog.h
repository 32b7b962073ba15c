// shoal catalog build: makes, measures and stores the variants of a task.
#pragma once

#include "../cli.h"
#include "apps/flags/flags.h"

namespace shoal::cli {

// Adds 'build' to 'shoal catalog'.
void add_catalog_build(Command& catalog, Action& action);

}  // namespace shoal::cli
