// Groups of similar workers one after the other, cut into teams. A team that lies across the end of
// a group has workers of two groups.
#include "shoal/plan/hierarchy/teams.h"

namespace shoal::plan {

std::vector<std::vector<int>> make_teams(const std::vector<Choices::Group>& groups, size_t size) {
  std::vector<std::vector<int>> teams;
  for (const Choices::Group& group : groups) {
    for (int worker : group) {
      if (teams.empty() || teams.back().size() == size) teams.emplace_back();
      teams.back().push_back(worker);
    }
  }
  return teams;
}

}  // namespace shoal::plan
