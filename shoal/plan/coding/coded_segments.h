// Coded segments: finds the products of a plan that can be coded.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "shoal/plan/coding/products.h"
#include "shoal/plan/plan.h"

namespace shoal::plan {

// A product and the workers of its blocks.
struct SharedProduct {
  SplitProduct split;
  std::vector<int> workers;
};

struct CodedSegment {
  std::map<size_t, SharedProduct> products;  // by node; none: it is to be repeated
  std::string why_not;
  bool is_light = false;  // no product at all, so that readers may compute it themselves
};

// For one segment, and for all of a plan. `spare` workers must be left beside those of a product,
// for parities.
CodedSegment find_coded_segment(const Graph& graph, const Segment& segment,
                                const std::vector<Part>& parts, size_t spare,
                                const std::vector<int>& workers);
std::vector<CodedSegment> find_coded_segments(const Graph& graph, const Plan& plan,
                                              const Schedule& schedule, size_t spare,
                                              const std::vector<int>& workers);

}  // namespace shoal::plan
