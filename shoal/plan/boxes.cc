// Boxes as unions of disjoint boxes. A difference peels off, axis by axis, the slabs before and
// after the hole: at most 2 * rank boxes, and none of them overlap because the core shrinks to the
// hole's extent along an axis before the next axis is looked at.
#include "shoal/plan/boxes.h"

#include <algorithm>

namespace shoal::plan {

int64_t common_count(const Region& a, const Region& b) {
  int64_t count = 1;
  for (size_t d = 0; d < a.begin.rank(); ++d) {
    const int64_t length = std::min(a.end[d], b.end[d]) - std::max(a.begin[d], b.begin[d]);
    if (length <= 0) return 0;
    count *= length;
  }
  return count;
}

Region bounding_box(const Region& a, const Region& b) {
  Region box = a;
  for (size_t d = 0; d < a.begin.rank(); ++d) {
    box.begin[d] = std::min(a.begin[d], b.begin[d]);
    box.end[d] = std::max(a.end[d], b.end[d]);
  }
  return box;
}

std::vector<Region> subtract(const Region& box, const Region& hole) {
  const Region common = intersection(box, hole);
  // Also for an empty box, which callers must filter where it matters.
  if (is_empty(common)) return {box};
  std::vector<Region> rest;
  Region core = box;  // shrinks, axis by axis, to what is common
  for (size_t d = 0; d < box.begin.rank(); ++d) {
    if (core.begin[d] < common.begin[d]) {
      Region before = core;
      before.end[d] = common.begin[d];
      rest.push_back(before);
    }
    if (common.end[d] < core.end[d]) {
      Region after = core;
      after.begin[d] = common.end[d];
      rest.push_back(after);
    }
    core.begin[d] = common.begin[d];
    core.end[d] = common.end[d];
  }
  return rest;
}

std::vector<Region> subtract(std::vector<Region> boxes, const Region& hole) {
  std::vector<Region> rest;
  for (const Region& box : boxes) {
    for (Region& piece : subtract(box, hole)) rest.push_back(std::move(piece));
  }
  return rest;
}

}  // namespace shoal::plan
