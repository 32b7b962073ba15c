#include "shoal/plan/boxes.h"

namespace shoal::plan {

std::vector<Region> subtract(const Region& box, const Region& hole) {
  const Region common = intersection(box, hole);
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
