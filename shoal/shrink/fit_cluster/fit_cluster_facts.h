// What was tried to meet a time, for scripts and people.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/shrink/fit_cluster/fit_cluster.h"

namespace shoal::fit_cluster {

// An attempt in words. What is not known: empty.
std::string macs_of(const Attempt& attempt);
std::string top1_of(const Attempt& attempt);
std::string control_of(const Attempt& attempt);
std::string verdict_of(const Attempt& attempt);

// An attempt each, and below them what was wanted.
std::vector<Facts> rows_of(const FitResult& result);
std::vector<std::string> lines_of(const FitResult& result);
Json to_json(const FitResult& result);

}  // namespace shoal::fit_cluster
