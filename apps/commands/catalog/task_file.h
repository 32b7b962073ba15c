// The file of 'shoal catalog build': a network, its training data, and the variants to make.
// docs/reference/scheduling.md describes the format.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "apps/commands/training/shrink.h"
#include "shoal/base/status.h"
#include "shoal/variants/catalog/builder/build.h"

namespace shoal::config {

struct CatalogTask {
  ShrinkRecipe recipe;            // model, data and devices
  catalog::BuildOptions options;  // without folders
};

// kInvalidArgument for invalid contents.
Result<CatalogTask> parse_task(std::string_view text, const std::string& name);
Result<CatalogTask> read_task(const std::filesystem::path& path);

}  // namespace shoal::config
