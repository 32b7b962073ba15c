// A page about training: curves, confusions, sample mistakes. One file that needs no other, and
// whole at any time.
#pragma once

#include <filesystem>
#include <string>

#include "shoal/fit/training_loop.h"

namespace shoal::cli {

Status write_report(const std::filesystem::path& path, const std::string& title,
                    const fit::EpochReport& report);

}  // namespace shoal::cli
