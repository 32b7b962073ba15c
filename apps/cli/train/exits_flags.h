// The flags of shoal exits, and the options they stand for.
#pragma once

#include <string>
#include <vector>

#include "shoal/exits/add_exits.h"
#include "train_flags.h"

namespace shoal::cli {

struct ExitsFlags {
  TrainFlags train;
  exits::ExitsOptions options;  // what needs no further reading
  std::vector<std::string> at = {"auto"};
  std::string head = "conv";
  double max_drop = -1;  // negative: thresholds are for a precision

  void add_to(Command& command);
  // All options. Saves the preset if --save-preset was given. kInvalidArgument for "auto:x".
  Result<exits::ExitsOptions> resolve() const;
};

}  // namespace shoal::cli
