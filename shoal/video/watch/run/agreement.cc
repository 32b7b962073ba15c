#include "shoal/video/watch/run/agreement.h"

#include "shoal/video/track/assignment.h"

namespace shoal::watch {

Agreement compare(const std::vector<detect::Detection>& a,
                  const std::vector<detect::Detection>& b) {
  constexpr float kLeastOverlap = 0.5F;
  track::Costs costs{.rows = a.size(), .columns = b.size()};
  for (const detect::Detection& one : a) {
    for (const detect::Detection& other : b) {
      const bool same =
          one.label == other.label && detect::overlap(one.box, other.box) >= kLeastOverlap;
      costs.values.push_back(same ? -1 : 0);
    }
  }
  double same = 0;
  const std::vector<size_t> column_of = track::assign(costs, 1);
  for (size_t r = 0; r < a.size(); ++r) {
    if (column_of[r] != track::kUnassigned) same -= costs.at(r, column_of[r]);
  }
  return {same, static_cast<double>(a.size() + b.size()) - 2 * same};
}

}  // namespace shoal::watch
