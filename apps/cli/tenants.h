// Plans for several models on one cluster, in words and as JSON.
#pragma once

#include <string>
#include <vector>

#include "cli.h"
#include "planning.h"

namespace shoal::cli {

struct TenantFlags {
  std::vector<std::string> with;  // models beside the first
  std::vector<double> rates;      // requests a second, of each model; empty: one for each

  void add_to(Command& command);
};

Outcome plan_together(const PlanFlags& plan, const TenantFlags& tenants, bool json);

}  // namespace shoal::cli
