// Boxes: intersections, differences and bounding boxes of regions. Pure functions, any thread.
#pragma once

#include <vector>

#include "shoal/plan/part.h"

namespace shoal::plan {

// Number of elements that both boxes have. REQUIRES: equal ranks, here and below.
int64_t common_count(const Region& a, const Region& b);

// The smallest box that holds both.
Region bounding_box(const Region& a, const Region& b);

// Disjoint boxes that together are `box` without `hole`: at most two for each axis.
std::vector<Region> subtract(const Region& box, const Region& hole);
std::vector<Region> subtract(std::vector<Region> boxes, const Region& hole);

}  // namespace shoal::plan
