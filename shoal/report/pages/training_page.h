// A page about training: curves, confusions, sample mistakes. It needs no other file.
#pragma once

#include <string>

#include "shoal/train/run/loop/training_loop.h"

namespace shoal::report {

// The title may be anybody's text.
std::string training_page(const std::string& title, const fit::EpochReport& report);

}  // namespace shoal::report
