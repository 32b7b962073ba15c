// What boxes have in common, and what remains of them.
#pragma once

#include <vector>

#include "shoal/plan/part.h"

namespace shoal::plan {

// How many elements both have.
int64_t common_count(const Region& a, const Region& b);

// The smallest box that holds both.
Region bounding_box(const Region& a, const Region& b);

// Boxes that make up `box` without `hole`, disjoint.
std::vector<Region> subtract(const Region& box, const Region& hole);
std::vector<Region> subtract(std::vector<Region> boxes, const Region& hole);

}  // namespace shoal::plan
