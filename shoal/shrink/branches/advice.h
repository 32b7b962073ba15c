// What is better than branches, in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shoal/shrink/branches/compare.h"
#include "shoal/shrink/branches/learn_branches.h"

namespace shoal::branch {

// One sentence each; none where branches are the best that is known.
std::vector<std::string> advice(const std::optional<LearnResult>& learned,
                                const std::optional<Comparison>& times);

}  // namespace shoal::branch
