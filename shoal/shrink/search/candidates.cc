// Candidates of an architecture search: see candidates.h.
#include "shoal/shrink/search/candidates.h"

#include <algorithm>
#include <array>
#include <utility>

#include "shoal/plan/cost/simulate.h"
#include "shoal/plan/scheduled_plan.h"
#include "shoal/shrink/search/dag_score.h"
#include "shoal/shrink/search/generate_dag.h"

namespace shoal::search {
namespace {

using concurrent::Generator;

struct NamedGenerator {
  const char* name;
  Generator generator;
};

// Sparse graphs: what the thesis' tables and [Hadidi 2021, 5.2] compare, without those that are one
// chain.
const std::array<NamedGenerator, 8>& generators() {
  static const std::array<NamedGenerator, 8> all = {{
      {"dp-0.2", concurrent::DistanceProbability{.alpha = 0.2, .probability = 0.9}},
      {"er-0.05", concurrent::ErdosRenyi{0.05}},
      {"ba-1", concurrent::BarabasiAlbert{1}},
      {"ws-0.75", concurrent::WattsStrogatz{.neighbours = 4, .probability = 0.75}},
      {"dp-0.1", concurrent::DistanceProbability{.alpha = 0.1, .probability = 0.9}},
      {"er-0.1", concurrent::ErdosRenyi{0.1}},
      {"ba-2", concurrent::BarabasiAlbert{2}},
      {"ws-1", concurrent::WattsStrogatz{.neighbours = 2, .probability = 1}},
  }};
  return all;
}

concurrent::Units units_of(const Space& space) {
  const plan::OperatorSpeed& speed = space.worker.speed_of("Conv");
  return {.count = space.units,
          .macs_per_second = 1 / speed.seconds_per_mac,
          .bytes_per_second = space.link.bytes_per_second,
          .latency_seconds = space.link.latency_seconds};
}

plan::ClusterProfile cluster_of(const Space& space) {
  const size_t workers = space.units + 1;
  return {.workers = std::vector(workers, space.worker),
          .links = std::vector(workers, space.link),
          .coordinator = space.link};
}

Result<Candidate> estimated(std::string name, concurrent::Dag dag, const Space& space) {
  Candidate candidate{.name = std::move(name), .dag = std::move(dag)};
  SHOAL_ASSIGN(const concurrent::Network network, network_of(candidate, space, 1));
  candidate.estimated_seconds =
      concurrent::best_score(workload_of(network), space.units).seconds(units_of(space));
  return candidate;
}

}  // namespace

Status check(const Space& space) {
  constexpr size_t kMostUnits = 256, kMostVertices = 256;
  constexpr size_t kFewestVertices = 24;  // or stages are too small for the control
  if (space.units < 1 || space.units > kMostUnits) return invalid("1 to 256 units");
  if (space.vertices < kFewestVertices || space.vertices > kMostVertices) {
    return invalid("24 to 256 vertices");
  }
  if (!(space.worker.speed_of("Conv").seconds_per_mac > 0)) {
    return invalid("the speed of a unit is not known");
  }
  if (!(space.link.bytes_per_second > 0)) return invalid("the speed of a link is not known");
  return {};
}

Result<Candidate> draw(const Space& space, uint64_t number) {
  const NamedGenerator& drawn = generators()[number % generators().size()];
  SHOAL_ASSIGN(concurrent::Dag dag, concurrent::generate(drawn.generator, space.vertices, number));
  return estimated(std::string(drawn.name) + "-" + std::to_string(number), std::move(dag), space);
}

Result<double> staged_control_seconds(const Space& space, size_t count) {
  const auto stages = static_cast<size_t>(std::max(2, space.network.levels));
  std::vector<double> seconds;
  for (uint64_t seed = 0; seed < count; ++seed) {
    auto dag = concurrent::generate_staged(concurrent::WattsStrogatz{}, space.vertices, stages,
                                           stages * seed);
    SHOAL_TRY(dag.status());
    const Candidate candidate{.name = "staged", .dag = *std::move(dag)};
    const auto time = simulated_seconds(candidate, space);
    if (time.ok()) seconds.push_back(*time);  // else no width gives the budget
  }
  if (seconds.empty()) return invalid("no network with stages has about so many multiplications");
  std::ranges::nth_element(seconds,
                           seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2));
  return seconds[seconds.size() / 2];
}

Result<concurrent::Network> network_of(const Candidate& candidate, const Space& space,
                                       int64_t batch) {
  concurrent::NetworkOptions options = space.network;
  options.batch = batch;
  return concurrent::make_network(candidate.dag, options);
}

Result<double> simulated_seconds(const Candidate& candidate, const Space& space) {
  SHOAL_ASSIGN(const concurrent::Network network, network_of(candidate, space, 1));
  const concurrent::Schedule schedule =
      concurrent::make_schedule(workload_of(network), units_of(space));
  SHOAL_ASSIGN(const plan::ScheduledPlan scheduled,
               plan::ScheduledPlan::make(network.graph,
                                         concurrent::plan_of(network, schedule, space.units)));
  return plan::simulate(scheduled.graph(), scheduled.plan(), scheduled.schedule(),
                        cluster_of(space))
      .seconds;
}

Result<std::vector<Candidate>> fastest_candidates(const Space& space, uint64_t first, size_t drawn,
                                                  size_t simulated,
                                                  const std::function<void(size_t)>& done) {
  SHOAL_TRY(check(space));
  std::vector<Candidate> all;
  for (size_t i = 0; i < drawn; ++i) {
    auto candidate = draw(space, first + i);
    if (candidate.ok()) all.push_back(*std::move(candidate));
    if (done) done(i + 1);
  }
  if (all.empty()) return invalid("no candidate has about so many multiply-accumulates");
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.estimated_seconds < b.estimated_seconds;
  });
  all.resize(std::min(all.size(), simulated));
  for (size_t i = 0; i < all.size(); ++i) {
    SHOAL_ASSIGN(all[i].simulated_seconds, simulated_seconds(all[i], space));
    if (done) done(drawn + i + 1);
  }
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.simulated_seconds < b.simulated_seconds;
  });
  return all;
}

}  // namespace shoal::search
