// Exits in words: where they are, and from which probability on they answer.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/shrink/exits/learning/add_exits.h"
#include "shoal/shrink/exits/network/multi_exit.h"

namespace shoal::exits {

// Names of values, or one text "auto" or "auto:3", with the number of exits at even shares of the
// work. kInvalidArgument for another text after the colon.
Status set_places(const std::vector<std::string>& at, ExitsOptions& options);

// The threshold of each exit: "0.9,0.95", or "calibrated": as the network has them.
// kInvalidArgument unless there is a number for each, none of them negative.
Result<std::vector<double>> thresholds_in(const std::string& text, std::span<const Exit> exits);

}  // namespace shoal::exits
