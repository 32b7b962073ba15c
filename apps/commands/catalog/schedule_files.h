// The files of `shoal catalog`: a scheduler's options, and the day it has to last.
// docs/reference/scheduling.md describes the format.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/variants/scheduler/simulation/days.h"

namespace shoal::config {

// A file of tasks and variants, a folder of variants, or a folder of such folders, one per task.
// kInvalidArgument for invalid contents; fails as catalog::read_catalog() does.
Result<schedule::Catalog> read_tasks(const std::filesystem::path& path);
Result<schedule::Catalog> parse_tasks(std::string_view text, const std::string& name);

// The trace for a catalog, whose tasks it names. If it has another server, the catalog gets each
// variant there, too, with the expected load of each task. kInvalidArgument for invalid contents.
Result<schedule::Trace> read_trace(const std::filesystem::path& path, schedule::Catalog& catalog);
Result<schedule::Trace> parse_trace(std::string_view text, const std::string& name,
                                    schedule::Catalog& catalog);

}  // namespace shoal::config
