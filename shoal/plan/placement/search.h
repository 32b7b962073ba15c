// Search: options for all cameras together.
//
// A first placement gives each camera, the one with most work first, what is best beside those
// before it; then cameras move, and pairs of them swap machines, while that helps. Branch and bound
// goes on from there: where its budget suffices, it has looked at everything that could be better.
// Of machines that are alike and idle it tries the first only, and cameras that are alike have
// options in ascending order: the smallest of all placements that differ by the names of machines
// and cameras alone, option by option, is among those that are left.
#pragma once

#include <cstddef>
#include <vector>

#include "shoal/plan/placement/options.h"

namespace shoal::placement {

struct Found {
  std::vector<const Option*> options;  // by camera
  Score score = {};
  bool optimal = true;
};

// Keeps references to all but the number.
class Search {
 public:
  // `options`: of each camera, at least one.
  Search(const Resources& resources, const Problem& problem,
         const std::vector<std::vector<Option>>& options, size_t most_evaluations);

  // Cameras with an option in `fixed` keep it; the others, which have null, are placed.
  Found run(const std::vector<const Option*>& fixed);

 private:
  Score try_option(size_t camera, const Option* option);
  void place_greedily();
  bool move_one();
  bool swap_two();
  const Option* with_network_of(size_t camera, size_t other) const;
  void keep_if_better();
  void branch(size_t depth);
  bool is_repeated(const Option& option) const;
  size_t first_option(size_t depth) const;
  Score bound(size_t depth) const;
  void count_uses(const Option& option, int by);

  const Problem& problem_;
  const std::vector<std::vector<Option>>& options_;
  const size_t most_evaluations_;
  std::vector<size_t> order_;  // cameras that are placed, the one with most work first
  std::vector<int> alike_;     // for each machine, the first that is like it
  std::vector<int> uses_;      // of each machine, by chosen options
  // Of the cameras from a place in the order on: how many can be placed, what they take at least.
  std::vector<Score> least_;
  Chosen chosen_;
  Found best_;
  size_t evaluations_ = 0;
};

}  // namespace shoal::placement
