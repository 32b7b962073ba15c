// Ask: the frames of an index that show a class, with few answers of an expensive network.
//
//   for each cluster of the class:                                            [Huynh 2019, 5]
//     for exit j: if the probability of its best class reaches tau[j]:
//                   the cluster is taken iff that is the class; next cluster
//     else it is taken iff the expensive network sees the class in its first object
//
// Thresholds tau are learned from examples that the expensive network has seen: the lowest ones for
// which these say, at some risk, that the wanted share of an exit's answers is right
// (shrink/exits/thresholds/thresholds.h). An exit of which they say it of no threshold stays off.
// Since the index has the answers of exits, they cost nothing when somebody asks: asking never
// takes more calls than without exits, however weak these are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/shrink/exits/thresholds/thresholds.h"
#include "shoal/video/query/index.h"

#pragma GCC visibility push(default)

namespace shoal::query {

// The thresholds of exits that examples say. Fails as exits::thresholds_for_precision() does.
Result<std::vector<double>> thresholds_from(std::span<const Example> examples,
                                            const exits::WantedPrecision& wanted = {.shares = 20});

// The class that the expensive network sees in the first object of a cluster.
using ExpensiveFunction = std::function<Result<int64_t>(const Cluster& cluster)>;

// The answer.
struct AskResult {
  std::vector<int64_t> frames = {};   // ascending, each once
  size_t clusters = 0;                // of the class
  size_t calls = 0;                   // of the expensive network
  size_t accepted = 0, rejected = 0;  // by exits alone
};

// The frames that show the class, with these thresholds of exits; those that are missing are never
// reached. Fails as `expensive` does.
Result<AskResult> ask(const Index& index, int64_t label, std::span<const double> thresholds,
                      const ExpensiveFunction& expensive);

// How many calls ask() will take.
size_t calls_needed(const Index& index, int64_t label, std::span<const double> thresholds);

// Precision and recall of frames against the true ones, both ascending; 1 where there is nothing
// to find or nothing was found.
struct Retrieval {
  double precision = 1, recall = 1;
};
// See above.
Retrieval retrieval(std::span<const int64_t> found, std::span<const int64_t> truth);

}  // namespace shoal::query

#pragma GCC visibility pop
