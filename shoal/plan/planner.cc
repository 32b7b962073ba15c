#include "shoal/plan/planner.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "shoal/plan/steps.h"

namespace shoal::plan {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Node indices at which exactly one value is read by what follows: [0, ..., number of nodes].
std::vector<size_t> find_cuts(const Graph& graph) {
  std::vector<size_t> last_read(graph.value_count(), 0);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    for (ValueId id : graph.nodes()[i].inputs) {
      if (id != kNoValue) last_read[static_cast<size_t>(id)] = i + 1;
    }
  }
  for (ValueId id : graph.outputs()) last_read[static_cast<size_t>(id)] = graph.nodes().size() + 1;
  std::vector<size_t> cuts = {0};
  std::multiset<size_t> live;  // when the values so far are last read
  for (ValueId id : graph.inputs()) live.insert(last_read[static_cast<size_t>(id)]);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    for (ValueId id : graph.nodes()[i].outputs) {
      live.insert(last_read[static_cast<size_t>(id)]);
    }
    live.erase(live.begin(), live.upper_bound(i + 1));
    if (live.size() <= 1 || i + 1 == graph.nodes().size()) cuts.push_back(i + 1);
  }
  return cuts;
}

// About how much a worker can do, for shares.
double ability(const Graph& graph, const Part& whole, const WorkerProfile& worker) {
  return 1 / std::max(seconds_of(graph, whole, worker), 1e-12);
}

std::vector<Piece> whole_pieces(const Graph& graph, NodeRange nodes) {
  std::vector<Piece> pieces;
  for (ValueId id : live_after(graph, nodes)) {
    pieces.push_back({id, Region::whole(graph[id].type.shape)});
  }
  return pieces;
}

class Search {
 public:
  Search(const Graph& graph, const ClusterProfile& cluster, std::vector<size_t> cuts,
         std::vector<Layout> layouts, const PlanOptions& options)
      : graph_(graph),
        cluster_(cluster),
        cuts_(std::move(cuts)),
        layouts_(std::move(layouts)),
        options_(options) {}

  // The plan that should take the least; nothing if these layouts make none.
  std::optional<Plan> run() {
    best_.assign(cuts_.size(), std::vector<State>(layouts_.size()));
    for (size_t begin = 0; begin + 1 < cuts_.size(); ++begin) extend(begin);
    const std::vector<State>& last = best_.back();
    size_t winner = layouts_.size();
    double least = kNever;
    for (size_t l = 0; l < layouts_.size(); ++l) {
      if (last[l].seconds == kNever) continue;
      const double seconds = last[l].seconds + gather_seconds(last[l]);
      if (seconds < least) {
        least = seconds;
        winner = l;
      }
    }
    if (winner == layouts_.size()) return std::nullopt;
    return trace_back(winner);
  }

 private:
  // Up to a cut, with the values there spread by some layout.
  struct State {
    double seconds = kNever;
    size_t begin = 0;   // of the last segment
    size_t layout = 0;  // at its beginning
    std::vector<Task> tasks;
  };
  struct Candidate {
    std::vector<Task> tasks;
    std::vector<Part> parts;
    double seconds = 0;  // of the slowest
  };

  // All segments that begin at this cut. They grow until repeating what neighbours compute costs
  // more than it can save.
  void extend(size_t begin) {
    constexpr double kWasteful = 1.6;
    std::vector<bool> hopeless(layouts_.size(), false);
    std::vector<double> apart(layouts_.size(), 0);  // seconds of the same nodes, cut after each
    for (size_t end = begin + 1; end < cuts_.size(); ++end) {
      bool any = false;
      for (size_t l = 0; l < layouts_.size(); ++l) {
        if (hopeless[l] || !allowed(begin, end, l)) continue;
        const std::optional<Candidate> candidate = make_candidate({cuts_[begin], cuts_[end]}, l);
        if (!candidate) {
          hopeless[l] = layouts_[l].cut != Cut::kNone;
          continue;
        }
        apart[l] += single_seconds(end - 1, l, candidate->seconds, end == begin + 1);
        if (candidate->seconds > kWasteful * apart[l]) {
          hopeless[l] = true;
          continue;
        }
        any = true;
        improve(begin, end, l, *candidate);
      }
      if (!any) break;
    }
  }

  // Where a split is forced, one worker is only for what cannot be split.
  bool allowed(size_t begin, size_t end, size_t l) {
    const bool splits = layouts_[l].cut != Cut::kNone;
    if (splits) return cuts_[end] - cuts_[begin] <= options_.most_nodes || end == begin + 1;
    if (!options_.forced) return true;
    for (size_t at = begin; at < end; ++at) {
      for (size_t other = 0; other < layouts_.size(); ++other) {
        if (other != l && single_seconds(at, other, 0, false) < kNever) return false;
      }
    }
    return true;
  }

  // What the slowest worker takes for the nodes between two neighbouring cuts.
  double single_seconds(size_t begin, size_t l, double known, bool is_known) {
    const auto [it, is_new] = single_.emplace(std::pair(begin, l), known);
    if (is_new && !is_known) {
      const auto candidate = make_candidate({cuts_[begin], cuts_[begin + 1]}, l);
      it->second = candidate ? candidate->seconds : kNever;
    }
    return it->second;
  }

  std::optional<Candidate> make_candidate(NodeRange nodes, size_t l) const {
    const Layout& layout = layouts_[l];
    Candidate candidate;
    for (int worker : layout.workers) candidate.tasks.push_back({worker, {}});
    for (ValueId id : live_after(graph_, nodes)) {
      const std::vector<Region> regions = regions_of(layout, graph_[id].type.shape);
      if (regions.empty()) return std::nullopt;
      for (size_t i = 0; i < regions.size(); ++i) {
        if (!is_empty(regions[i])) candidate.tasks[i].outputs.push_back({id, regions[i]});
      }
    }
    std::erase_if(candidate.tasks, [](const Task& task) { return task.outputs.empty(); });
    for (const Task& task : candidate.tasks) {
      auto part = make_part(graph_, nodes, task.outputs);
      if (!part.ok()) return std::nullopt;
      const WorkerProfile& worker = cluster_.workers[static_cast<size_t>(task.worker)];
      if (weight_bytes(graph_, *part) > worker.memory_bytes) return std::nullopt;
      candidate.seconds = std::max(candidate.seconds, seconds_of(graph_, *part, worker));
      candidate.parts.push_back(*std::move(part));
    }
    return candidate;
  }

  void improve(size_t begin, size_t end, size_t l, const Candidate& candidate) {
    const size_t befores = begin == 0 ? 1 : layouts_.size();
    State& state = best_[end][l];
    for (size_t before = 0; before < befores; ++before) {
      const State* from = begin == 0 ? nullptr : &best_[begin][before];
      if (from != nullptr && from->seconds == kNever) continue;
      const double seconds = (from == nullptr ? 0 : from->seconds) + candidate.seconds +
                             delivery_seconds(from, candidate);
      if (seconds < state.seconds) state = {seconds, begin, before, candidate.tasks};
    }
  }

  // What each machine sends and receives, and how long that takes: one after the other where they
  // share a medium, side by side where they do not.
  class Traffic {
   public:
    explicit Traffic(const ClusterProfile& cluster) : cluster_(cluster) {}

    void add(int from, int to, double bytes) {
      if (from == to || bytes <= 0) return;
      const LinkProfile &a = cluster_.link_of(from), &b = cluster_.link_of(to);
      const double seconds = bytes / std::min(a.bytes_per_second, b.bytes_per_second) +
                             (cluster_.keep_awake ? 0 : b.wakeup_seconds);
      for (Resource resource : resources_of(cluster_, from, to)) busy_[resource] += seconds;
      latency_ = std::max({latency_, a.latency_seconds, b.latency_seconds});
    }
    double seconds() const {
      double most = 0;
      for (const auto& [resource, seconds] : busy_) most = std::max(most, seconds);
      return most + latency_;
    }

   private:
    const ClusterProfile& cluster_;
    double latency_ = 0;
    std::map<Resource, double> busy_;
  };

  double delivery_seconds(const State* from, const Candidate& candidate) const {
    Traffic traffic(cluster_);
    for (size_t i = 0; i < candidate.tasks.size(); ++i) {
      for (const Piece& piece : candidate.parts[i].inputs) {
        if (from == nullptr) {
          traffic.add(kCoordinator, candidate.tasks[i].worker,
                      static_cast<double>(bytes_of(graph_, piece)));
          continue;
        }
        for (const Task& source : from->tasks) {
          for (const Piece& held : source.outputs) {
            if (held.value != piece.value) continue;
            const Region common = intersection(held.region, piece.region);
            if (is_empty(common)) continue;
            traffic.add(source.worker, candidate.tasks[i].worker,
                        static_cast<double>(bytes_of(graph_, {piece.value, common})));
          }
        }
      }
    }
    return traffic.seconds();
  }

  double gather_seconds(const State& state) const {
    Traffic traffic(cluster_);
    for (const Task& task : state.tasks) {
      for (const Piece& piece : task.outputs) {
        traffic.add(task.worker, kCoordinator, static_cast<double>(bytes_of(graph_, piece)));
      }
    }
    return traffic.seconds();
  }

  Plan trace_back(size_t l) const {
    Plan plan;
    for (size_t end = cuts_.size() - 1; end > 0;) {
      const State& state = best_[end][l];
      plan.segments.push_back(
          {{cuts_[state.begin], cuts_[end]}, layouts_[l].describe(), state.tasks});
      l = state.layout;
      end = state.begin;
    }
    std::ranges::reverse(plan.segments);
    return plan;
  }

  const Graph& graph_;
  const ClusterProfile& cluster_;
  const std::vector<size_t> cuts_;
  const std::vector<Layout> layouts_;
  const PlanOptions& options_;
  std::vector<std::vector<State>> best_;  // by cut and layout
  std::map<std::pair<size_t, size_t>, double> single_;
};

// How many workers to try: all up to four, then steps of about a half.
std::vector<size_t> counts_up_to(size_t most) {
  std::vector<size_t> counts;
  for (size_t n = 2; n <= most; n = n < 4 ? n + 1 : n < 6 ? n + 2 : n + n / 3) counts.push_back(n);
  if (!counts.empty() && counts.back() != most) counts.push_back(most);
  return counts;
}

class Layouts {
 public:
  Layouts(const Graph& graph, const ClusterProfile& cluster, const PlanOptions& options) {
    const NodeRange all{0, graph.nodes().size()};
    const auto part = make_part(graph, all, whole_pieces(graph, all));
    SHOAL_CHECK(part.ok());  // nothing is split
    for (size_t w = 0; w < cluster.workers.size(); ++w) {
      const int worker = static_cast<int>(w);
      if (std::ranges::find(options.excluded, worker) != options.excluded.end()) continue;
      ranked_.push_back({worker, ability(graph, *part, cluster.workers[w])});
    }
    std::ranges::stable_sort(ranked_, std::greater(), &Ranked::ability);
  }

  bool empty() const { return ranked_.empty(); }
  std::vector<int> workers() const {
    std::vector<int> ids;
    for (const Ranked& ranked : ranked_) ids.push_back(ranked.worker);
    return ids;
  }

  // One worker, the best, and the best n by each cut.
  std::vector<Layout> of(const std::vector<Cut>& cuts, bool over_all) const {
    std::vector<Layout> layouts = {{Cut::kNone, {ranked_[0].worker}, {1}, 1}};
    std::vector<size_t> counts = counts_up_to(ranked_.size());
    if (over_all) counts.erase(counts.begin(), counts.end() - 1);
    for (Cut cut : cuts) {
      if (cut == Cut::kNone) continue;
      for (size_t count : counts) {
        if (cut != Cut::kGrid) {
          layouts.push_back(make(cut, count, 1));
          continue;
        }
        for (size_t rows = 2; rows * 2 <= count; ++rows) {
          if (count % rows == 0) layouts.push_back(make(cut, count, static_cast<int64_t>(rows)));
        }
      }
    }
    return layouts;
  }

 private:
  struct Ranked {
    int worker;
    double ability;
  };

  Layout make(Cut cut, size_t count, int64_t grid_rows) const {
    Layout layout{cut, {}, {}, grid_rows};
    double total = 0;
    for (size_t i = 0; i < count; ++i) total += ranked_[i].ability;
    for (size_t i = 0; i < count; ++i) {
      layout.workers.push_back(ranked_[i].worker);
      layout.shares.push_back(ranked_[i].ability / total);
    }
    return layout;
  }

  std::vector<Ranked> ranked_;  // the ablest first
};

Result<Prediction> predict(std::string name, const Graph& graph, const ClusterProfile& cluster,
                           Plan plan) {
  SHOAL_ASSIGN(Schedule schedule, make_schedule(graph, plan));
  Timeline timeline = simulate(graph, plan, schedule, cluster);
  return Prediction{std::move(name), std::move(plan), std::move(schedule), std::move(timeline)};
}

}  // namespace

Result<Prediction> plan_for_one(const Graph& graph, const ClusterProfile& cluster, int worker) {
  const NodeRange all{0, graph.nodes().size()};
  const Layout layout{Cut::kNone, {worker}, {1}, 1};
  Plan plan;
  plan.segments.push_back({all, layout.describe(), {{worker, whole_pieces(graph, all)}}});
  return predict(std::string(name_of(Cut::kNone)), graph, cluster, std::move(plan));
}

Result<std::vector<Prediction>> make_plans(const Graph& graph, const ClusterProfile& cluster,
                                           const PlanOptions& options) {
  const Layouts layouts(graph, cluster, options);
  if (layouts.empty()) return invalid("there is no worker to plan for");
  const std::vector<size_t> cuts = find_cuts(graph);
  const std::vector<Cut> all =
      options.cuts.empty() ? std::vector{Cut::kRows, Cut::kGrid, Cut::kChannels} : options.cuts;
  std::vector<Prediction> found;
  const bool may_be_one = !options.forced || all[0] == Cut::kNone || layouts.workers().size() == 1;
  for (int worker : may_be_one ? layouts.workers() : std::vector<int>()) {
    SHOAL_ASSIGN(Prediction one, plan_for_one(graph, cluster, worker));
    if (found.empty()) {
      found.push_back(std::move(one));
    } else if (one.timeline.seconds < found[0].timeline.seconds) {
      found[0] = std::move(one);
    }
  }
  const auto search = [&](std::string name, const std::vector<Cut>& some) -> Status {
    std::optional<Plan> plan =
        Search(graph, cluster, cuts, layouts.of(some, options.forced), options).run();
    if (!plan) return {};
    SHOAL_ASSIGN(Prediction made, predict(std::move(name), graph, cluster, *std::move(plan)));
    found.push_back(std::move(made));
    return {};
  };
  if (layouts.workers().size() > 1) {
    for (Cut cut : all) {
      if (cut != Cut::kNone) SHOAL_TRY(search(std::string(name_of(cut)), {cut}));
    }
    if (all.size() > 1) SHOAL_TRY(search("any", all));
  }
  std::ranges::stable_sort(found, {}, [](const Prediction& p) { return p.timeline.seconds; });
  return found;
}

}  // namespace shoal::plan
