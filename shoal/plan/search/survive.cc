// Candidates for surviving plans. No search over protected plans exists: protection changes the
// graph. Instead several unprotected plans are protected and simulated, and the fastest wins:
//
//   - the best plan, repeated r + 1 times, which is also the baseline of the price;
//   - the best few plans, coded where possible;
//   - plans for all but the r least able workers, which then compute parities;
//   - plans by a search that charges r + 1 times for segments that cannot be coded, and more than
//     that for plans that compute less than they could in the same time;
//   - the best of all these, with one more segment coded after the other, until it is within the
//     bound on the price.
#include "shoal/plan/search/survive.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "shoal/plan/coding/coded_product.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/search/choices.h"
#include "shoal/plan/search/plan_recipe.h"

namespace shoal::plan {
namespace {

// Recode: plans that differ from a given one in what can be coded.

// Whether the segment, with these tasks, gets parities; false also where it cannot be split so.
bool is_coded(const Graph& graph, const Segment& segment, size_t losses,
              const std::vector<int>& workers) {
  std::vector<Part> parts;
  for (const Task& task : segment.tasks) {
    auto part = make_part(graph, segment.nodes, task.outputs);
    if (!part.ok()) return false;
    parts.push_back(*std::move(part));
  }
  return !find_coded_segment(graph, segment, parts, losses, workers).products.empty();
}

// The nodes as one segment for each product, with what follows it; nullopt if one of them cannot be
// coded.
std::vector<Segment> split_by_channels(const Graph& graph, NodeRange nodes, const Layout& layout,
                                       size_t losses, const std::vector<int>& workers) {
  std::vector<size_t> begins;
  for (size_t i = nodes.begin; i < nodes.end; ++i) {
    if (macs(graph, graph.nodes()[i]) > 0) begins.push_back(i);
  }
  if (begins.empty()) return {};
  begins.front() = nodes.begin;
  begins.push_back(nodes.end);
  std::vector<Segment> segments;
  for (size_t i = 0; i + 1 < begins.size(); ++i) {
    const NodeRange range{begins[i], begins[i + 1]};
    auto tasks = tasks_of(graph, range, layout);
    if (!tasks) return {};
    segments.push_back({range, layout.describe(), *std::move(tasks)});
    if (!is_coded(graph, segments.back(), losses, workers)) return {};
  }
  return segments;
}

// The plan once for each segment that would be repeated and can be coded if it is split by channels
// as `layout` says, with that segment split so: one segment for each of its products.
std::vector<Plan> with_one_more_coded(const Graph& graph, const Plan& plan, const Layout& layout,
                                      size_t losses, const std::vector<int>& workers) {
  std::vector<Plan> plans;
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    const Segment& segment = plan.segments[s];
    if (is_coded(graph, segment, losses, workers)) continue;
    const std::vector<Segment> others =
        split_by_channels(graph, segment.nodes, layout, losses, workers);
    if (others.empty()) continue;
    Plan& changed = plans.emplace_back(plan);
    const auto at = changed.segments.erase(changed.segments.begin() + static_cast<long>(s));
    changed.segments.insert(at, others.begin(), others.end());
  }
  return plans;
}

constexpr size_t kMostBases = 3;  // plans of one kind of search that are protected
constexpr std::array kRepeatWeights = {1.0, 1.5, 2.5};
constexpr size_t kMostRecoded = 64;  // plans that are tried on the way to the bound

double macs_of(const Prediction& prediction) {
  double macs = 0;
  for (const auto& parts : prediction.schedule().parts) {
    for (const Part& part : parts) {
      for (const PartNode& node : part.nodes) macs += work_of(prediction.graph(), node).macs;
    }
  }
  return macs;
}

double bytes_of_all(const Prediction& prediction, size_t workers) {
  const std::vector<double> bytes =
      memory_bytes(prediction.graph(), prediction.plan(), prediction.schedule(), workers);
  return std::accumulate(bytes.begin(), bytes.end(), 0.0);
}

double travelling_bytes(const Prediction& prediction) {
  double bytes = 0;
  for (const Transfer& transfer : prediction.schedule().transfers) {
    bytes += static_cast<double>(bytes_of(prediction.graph(), transfer.piece));
  }
  return bytes;
}

class Survivors {
 public:
  Survivors(const Graph& graph, const ClusterProfile& cluster, const PlanOptions& options)
      : graph_(graph),
        cluster_(cluster),
        options_(options),
        workers_(usable_workers(graph, cluster, options)) {}

  Result<std::vector<Prediction>> run() {
    PlanOptions plain = options_;
    plain.survive = 0;
    SHOAL_ASSIGN(std::vector<Prediction> all, make_plans(graph_, cluster_, plain));
    const Prediction unprotected = all[0];
    // The baseline: everything computed r + 1 times.
    SHOAL_TRY(add(unprotected, false));
    if (found_.empty()) return Status(Code::kExhausted, "no worker has memory for its part");
    const Prediction repeated = found_[0];
    for (size_t i = 0; i < std::min(all.size(), kMostBases); ++i) SHOAL_TRY(add(all[i], true));
    SHOAL_TRY(add_with_spares(plain));
    for (double weight : kRepeatWeights) {
      SHOAL_ASSIGN(const auto protectable, find_protectable(graph_, cluster_, options_, weight));
      for (const Prediction& prediction : protectable) SHOAL_TRY(add(prediction, true));
    }
    const auto price = [&](Prediction& prediction) {
      prediction.price = price_of(prediction, unprotected, repeated);
    };
    std::ranges::for_each(found_, price);
    SHOAL_TRY(recode_best(unprotected, repeated));
    std::ranges::stable_sort(
        found_, {}, [](const Prediction& prediction) { return prediction.timeline.seconds; });
    put_bounded_first(repeated.timeline.seconds);
    for (Prediction& prediction : found_) prediction.origin.price = prediction.price;
    return std::move(found_);
  }

 private:
  // From the fastest plan, and from the one with the least time and products.
  Status recode_best(const Prediction& unprotected, const Prediction& repeated) {
    const auto seconds = [](const Prediction& prediction) { return prediction.timeline.seconds; };
    const auto work = [&](const Prediction& prediction) {
      return seconds(prediction) * prediction.price.compute;
    };
    const auto fastest = std::ranges::min_element(found_, {}, seconds) - found_.begin();
    const auto least = std::ranges::min_element(found_, {}, work) - found_.begin();
    SHOAL_TRY(recode(static_cast<size_t>(fastest), unprotected, repeated));
    return least == fastest ? Status() : recode(static_cast<size_t>(least), unprotected, repeated);
  }

  // Codes one more segment of a plan at a time, the one that costs the least time for the products
  // that it saves, until the plan is within the bound.
  Status recode(size_t at, const Prediction& unprotected, const Prediction& repeated) {
    size_t tries = kMostRecoded;
    for (Variant now{bases_[at], found_[at]};
         now.safe.price.compute > price_bound(options_.survive) && tries > 0;) {
      std::optional<Variant> best;
      double least = std::numeric_limits<double>::infinity();
      SHOAL_ASSIGN(const std::vector<Variant> variants, variants_of(now.base, tries));
      for (const Variant& variant : variants) {
        const double compute = price_of(variant.safe, unprotected, repeated).compute;
        const double saved = now.safe.price.compute - compute;
        const double cost = variant.safe.timeline.seconds - now.safe.timeline.seconds;
        if (saved <= 0 || cost / saved >= least) continue;
        least = cost / saved;
        best = variant;
      }
      if (!best) break;
      best->safe.price = price_of(best->safe, unprotected, repeated);
      now = *std::move(best);
      found_.push_back(now.safe);
    }
    return {};
  }

  // A plan without and with protection.
  struct Variant {
    Prediction base, safe;
  };

  // All plans that differ from `base` by one more segment that is coded, but no more than `tries`.
  Result<std::vector<Variant>> variants_of(const Prediction& base, size_t& tries) const {
    std::vector<Variant> variants;
    if (base.origin.narrow) return variants;  // its recipe begins with another graph
    for (Plan& plan : with_one_more_coded(base.graph(), base.plan(), layout_of_shares(),
                                          static_cast<size_t>(options_.survive), workers_)) {
      if (tries == 0) break;
      --tries;
      SHOAL_ASSIGN(ScheduledPlan scheduled,
                   ScheduledPlan::make(base.scheduled.shared_graph(), std::move(plan)));
      Prediction changed = predict(base.name, std::move(scheduled), cluster_);
      changed.origin.sums = base.origin.sums;
      changed.origin.clusters = base.origin.clusters;
      changed.origin.dense_bytes = base.origin.dense_bytes;
      SHOAL_ASSIGN(Prediction safe, with_protection(changed, cluster_, options_, workers_, true));
      if (fits(cluster_, safe)) variants.push_back({std::move(changed), std::move(safe)});
    }
    return variants;
  }

  // Channels over all but the least able workers, which compute parities.
  Layout layout_of_shares() const {
    std::vector<int> excluded = options_.excluded;
    const std::vector<int> by_ability = Choices(graph_, cluster_, excluded).workers();
    excluded.insert(excluded.end(), by_ability.end() - options_.survive, by_ability.end());
    return Choices(graph_, cluster_, excluded).of(Cut::kChannels, true).front();
  }

  // Fewer products are worth more than a little time: they are energy, and time for other requests.
  void put_bounded_first(double repeated_seconds) {
    const auto bounded = std::ranges::find_if(found_, [&](const Prediction& prediction) {
      return prediction.price.compute <= price_bound(options_.survive);
    });
    if (bounded == found_.end()) return;
    for (Prediction& prediction : found_) {
      prediction.price.bounded_seconds = bounded->timeline.seconds;
      prediction.price.bounded_compute = bounded->price.compute;
    }
    if (bounded->timeline.seconds > repeated_seconds) return;
    std::rotate(found_.begin(), bounded, bounded + 1);
  }

  // Plans for all but the least able workers, which are then free for parities.
  Status add_with_spares(PlanOptions plain) {
    std::vector<int> by_ability = Choices(graph_, cluster_, options_.excluded).workers();
    const auto spares = static_cast<size_t>(options_.survive);
    plain.excluded.insert(plain.excluded.end(), by_ability.end() - options_.survive,
                          by_ability.end());
    if (by_ability.size() - spares < 2) return {};
    SHOAL_ASSIGN(const std::vector<Prediction> fewer, make_plans(graph_, cluster_, plain));
    for (size_t i = 0; i < std::min(fewer.size(), kMostBases); ++i) SHOAL_TRY(add(fewer[i], true));
    if (plain.forced) return {};
    // Splits by channels are rarely the fastest without protection, but the cheapest to code.
    plain.forced = true;
    plain.cuts = {Cut::kChannels};
    SHOAL_ASSIGN(const std::vector<Prediction> channels, make_plans(graph_, cluster_, plain));
    return add(channels[0], true);
  }

  // The plan, protected, if workers have the memory and there is no such plan yet.
  Status add(const Prediction& base, bool coded) {
    SHOAL_ASSIGN(Prediction prediction, with_protection(base, cluster_, options_, workers_, coded));
    const bool known =
        std::ranges::find(found_, prediction.plan(), &Prediction::plan) != found_.end();
    if (known || !fits(cluster_, prediction)) return {};
    found_.push_back(std::move(prediction));
    bases_.push_back(base);
    return {};
  }

  Price price_of(const Prediction& prediction, const Prediction& unprotected,
                 const Prediction& repeated) const {
    const size_t workers = cluster_.workers.size();
    return {unprotected.timeline.seconds,
            repeated.timeline.seconds,
            macs_of(prediction) / std::max(1.0, macs_of(unprotected)),
            macs_of(repeated) / std::max(1.0, macs_of(unprotected)),
            travelling_bytes(prediction) - travelling_bytes(unprotected),
            bytes_of_all(prediction, workers) - bytes_of_all(unprotected, workers)};
  }

  const Graph& graph_;
  const ClusterProfile& cluster_;
  const PlanOptions& options_;
  const std::vector<int> workers_;
  std::vector<Prediction> found_;
  std::vector<Prediction> bases_;  // what the first of these were before they were protected
};

}  // namespace

Result<std::vector<Prediction>> make_surviving_plans(const Graph& graph,
                                                     const ClusterProfile& cluster,
                                                     const PlanOptions& options) {
  return Survivors(graph, cluster, options).run();
}

}  // namespace shoal::plan
