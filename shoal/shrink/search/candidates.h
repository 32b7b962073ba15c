// Candidates of an architecture search, and their time on several units, before anything learns.
//
// A space is a number of units of one kind, a budget of multiply-accumulates for one image, and a
// number of vertices. Candidates are drawn from the four generators in turn, with several
// parameters each. All are ranked by the estimate of shrink/search/dag_score.h; the best are
// scheduled, and their plans carried out in virtual time (plan/cost/simulate.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/plan/profile.h"
#include "shoal/shrink/search/dag_network.h"

namespace shoal::search {

struct Space {
  size_t units = 8;  // one more gathers the answer, as in shrink/search/dag_schedule.h
  size_t vertices = 40;
  concurrent::NetworkOptions network = {};
  // Of every unit.
  plan::WorkerProfile worker = {};
  plan::LinkProfile link = {};
};

// Fails with kInvalidArgument for numbers out of range.
Status check(const Space& space);

struct Candidate {
  std::string name;  // "dp-0.2-17": the generator, its parameter and the seed
  concurrent::Dag dag;
  double estimated_seconds = 0;
  double simulated_seconds = 0;  // 0: not simulated

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

// Candidate `number` of a space, with its estimate. The same on every machine. Fails where no
// width gives the budget. REQUIRES: check(space) is OK.
Result<Candidate> draw(const Space& space, uint64_t number);

// The control of the thesis: the median of so many networks of the same work that are wired at
// random in stages (WattsStrogatz), one for each level of the space, with barriers between them.
Result<double> staged_control_seconds(const Space& space, size_t count);

// Its network. Fails as make_network does.
Result<concurrent::Network> network_of(const Candidate& candidate, const Space& space,
                                       int64_t batch);

// The seconds of an answer when its plan is carried out in virtual time.
Result<double> simulated_seconds(const Candidate& candidate, const Space& space);

// Draws so many candidates and simulates the best by estimate. Returns these, the fastest first.
// `done` is called with the number drawn or simulated so far; it may be null.
Result<std::vector<Candidate>> fastest_candidates(const Space& space, uint64_t first, size_t drawn,
                                                  size_t simulated,
                                                  const std::function<void(size_t)>& done = {});

}  // namespace shoal::search
