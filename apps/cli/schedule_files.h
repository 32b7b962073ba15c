// The files of `shoal catalog`: what a scheduler chooses from, and the day it has to last.
// docs/reference/scheduling.md has their form.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/schedule/day.h"

namespace shoal::cli {

// A day: what it may cost, where else variants can run, and what is asked.
struct Trace {
  schedule::Budgets budgets;
  schedule::Paging paging;
  schedule::Usage usage;
};

// A file of tasks and variants, a folder of variants, or a folder of such folders, each of which is
// a task. kInvalidArgument where it makes no sense; fails as catalog::read_catalog() does.
Result<schedule::Catalog> read_tasks(const std::filesystem::path& path);
Result<schedule::Catalog> parse_tasks(std::string_view text, const std::string& name);

// The folders of variants in a folder, each of which is a task: itself, or those in it.
std::vector<std::filesystem::path> catalogs_in(const std::filesystem::path& folder);
// What the task of such a folder is called.
std::string task_name(const std::filesystem::path& folder);

// The trace for a catalog, whose tasks it names. Where it has another server, the catalog gets each
// variant there, too, and what is expected of each task. kInvalidArgument where it makes no sense.
Result<Trace> read_trace(const std::filesystem::path& path, schedule::Catalog& catalog);
Result<Trace> parse_trace(std::string_view text, const std::string& name,
                          schedule::Catalog& catalog);

}  // namespace shoal::cli
