// Beam search over cuts. kept_[c] holds the best ways to have computed everything before cut c;
// each is extended by every segment [c, e) under every layout. True dynamic programming would need
// the whole state of the cluster in its key, so each cut keeps `width` ways, at most
// `of_one_layout` with the same last layout: the layout decides what the next segment has to move.
// Complexity: O(cuts * length * layouts * width) calls of Progress::after, where `length` is the
// number of cuts that a segment may span before repeated halo work stops it.
#include "shoal/plan/search/segment_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "shoal/plan/cost/simulate.h"
#include "shoal/plan/cost/steps.h"
#include "shoal/plan/part.h"
#include "shoal/plan/search/candidates.h"
#include "shoal/plan/search/choices.h"

namespace shoal::plan {
namespace {

// Progress: the estimated state of a cluster after some segments of a plan. It follows the rules of
// the simulation, but messages go in the order of segments, so that a plan can be continued in
// several ways without being simulated from the start. A value: copies are independent.
// Incremental estimate of a plan. The state is small: when each machine and each resource of the
// network is free, and where the live boxes are. Adding a segment costs O(tasks * inputs *
// holdings). Received boxes are not remembered: a box that a worker reads in two segments is
// counted twice here, although the schedule sends it once.
class Progress {
 public:
  // Before the first segment: the coordinator has the graph's inputs.
  Progress(const Graph& graph, const ClusterProfile& cluster);

  // State after one more segment; nullopt if a worker lacks the memory. `last_reads` says which
  // values are still of interest.
  std::optional<Progress> after(const Candidate& candidate, size_t end_node,
                                const std::vector<size_t>& last_reads) const;

  // Lower bound of the time when the segment is done, without any transfer.
  double soonest(const Candidate& candidate) const;

  // Time when all values that later segments read exist.
  double seconds() const { return seconds_; }
  // When the coordinator has the answer.
  double answer_seconds() const;

 private:
  struct Holding {
    ValueId value;
    int machine;
    Region region;
    double ready;
    double copies = 1;  // that travel
  };
  struct Machine {
    double free = 0;  // from when on it can compute
    double heard = kUnheard;
    double weights = 0;      // bytes
    double activations = 0;  // bytes, of its largest task
  };

  Machine& machine(int index) { return machines_[static_cast<size_t>(index + 1)]; }
  // Sends the missing boxes of a piece and returns the time when the last of them arrives.
  double fetch(int to, const Piece& piece);
  double send(const Holding& from, int to, double bytes);

  const Graph* graph_;
  const ClusterProfile* cluster_;
  double seconds_ = 0;
  std::vector<Machine> machines_;  // the coordinator first
  std::vector<double> free_;       // by resource
  std::vector<Holding> holdings_;  // of values that are still read
};

Progress::Progress(const Graph& graph, const ClusterProfile& cluster)
    : graph_(&graph),
      cluster_(&cluster),
      machines_(cluster.workers.size() + 1),
      free_(resource_count(cluster)) {
  for (ValueId id : graph.inputs()) {
    holdings_.push_back({id, kCoordinator, Region::whole(graph[id].type.shape), 0});
  }
}

std::optional<Progress> Progress::after(const Candidate& candidate, size_t end_node,
                                        const std::vector<size_t>& last_reads) const {
  Progress next = *this;
  std::vector<Holding> holdings;
  for (size_t t = 0; t < candidate.tasks.size(); ++t) {
    const Task& task = candidate.tasks[t];
    Machine& machine = next.machine(task.worker);
    machine.weights += candidate.weight_bytes[t];
    machine.activations = std::max(machine.activations, candidate.activation_bytes[t]);
    const WorkerProfile& worker = cluster_->workers[static_cast<size_t>(task.worker)];
    if (machine.weights + machine.activations > worker.memory_bytes) return std::nullopt;
    double begin = machine.free;
    for (const Piece& piece : candidate.inputs[t]) {
      begin = std::max(begin, next.fetch(task.worker, piece));
    }
    machine.free = begin + candidate.seconds[t];
    for (const Piece& piece : task.outputs) {
      holdings.push_back({piece.value, task.worker, piece.region, machine.free, candidate.copies});
    }
  }
  // Values that no later node reads must not delay seconds(), by which ways are compared.
  std::erase_if(next.holdings_, [&](const Holding& holding) {
    return last_reads[static_cast<size_t>(holding.value)] <= end_node;
  });
  next.holdings_.insert(next.holdings_.end(), holdings.begin(), holdings.end());
  next.seconds_ = 0;
  for (const Holding& holding : next.holdings_) {
    next.seconds_ = std::max(next.seconds_, holding.ready);
  }
  return next;
}

double Progress::soonest(const Candidate& candidate) const {
  double soonest = 0;
  for (size_t t = 0; t < candidate.tasks.size(); ++t) {
    const Machine& machine = machines_[static_cast<size_t>(candidate.tasks[t].worker + 1)];
    soonest = std::max(soonest, machine.free + candidate.seconds[t]);
  }
  return soonest;
}

double Progress::answer_seconds() const {
  Progress last = *this;
  double end = 0;
  for (ValueId id : graph_->outputs()) {
    if ((*graph_)[id].constant) continue;
    end = std::max(end, last.fetch(kCoordinator, {id, Region::whole((*graph_)[id].type.shape)}));
  }
  return end;
}

// Boxes of one value do not overlap, because one layout made them all.
double Progress::fetch(int to, const Piece& piece) {
  const auto element = static_cast<int64_t>(size_of((*graph_)[piece.value].type.dtype));
  double end = 0;
  for (size_t i = 0; i < holdings_.size(); ++i) {
    const Holding& holding = holdings_[i];
    if (holding.value != piece.value) continue;
    const int64_t count = common_count(holding.region, piece.region);
    if (count == 0) continue;
    end = std::max(end,
                   holding.machine == to
                       ? holding.ready
                       : send(holding, to, static_cast<double>(count * element) * holding.copies));
  }
  return end;
}

double Progress::send(const Holding& from, int to, double bytes) {
  const LinkProfile &out = cluster_->link_of(from.machine), &in = cluster_->link_of(to);
  const Resources uses = resources_of(*cluster_, from.machine, to);
  double begin = from.ready;
  Machine &sender = machine(from.machine), &receiver = machine(to);
  // Radio sleep counts from the last message of either end, as in the simulation.
  begin = std::max(begin, awake_at(*cluster_, to, begin, receiver.heard));
  for (Resource resource : uses) begin = std::max(begin, free_[resource]);
  const double busy = bytes / std::min(out.bytes_per_second, in.bytes_per_second);
  for (Resource resource : uses) free_[resource] = begin + busy;
  const double end = begin + busy + std::max(out.latency_seconds, in.latency_seconds);
  sender.heard = receiver.heard = end;
  return end;
}

class Search {
 public:
  Search(Candidates& candidates, const SearchOptions& options)
      : candidates_(candidates),
        options_(options),
        last_reads_(last_reads(candidates.graph())),
        found_(candidates.cuts().size()),
        kept_(candidates.cuts().size()) {}

  std::vector<Chain> run() {
    kept_[0].push_back({Progress(candidates_.graph(), candidates_.cluster()), 0, 0, nullptr});
    extend(0);
    for (size_t cut = 1; cut < kept_.size(); ++cut) {
      keep_best(cut);
      extend(cut);
    }
    std::vector<std::pair<double, const Way*>> order;
    for (const Way& way : kept_.back()) order.push_back({way.progress.answer_seconds(), &way});
    std::ranges::stable_sort(order, {}, [](const auto& entry) { return entry.first; });
    std::vector<Chain> chains;
    for (const auto& [seconds, way] : order) chains.push_back(chain_of(*way));
    return chains;
  }

 private:
  // One way to come to a cut.
  struct Way {
    Progress progress;
    size_t from_cut, from;  // the way it continues
    const Candidate* last;
    double seconds() const { return progress.seconds(); }
  };

  // Tries all segments that begin at this cut. They grow until repeating the work of neighbours
  // (halos) costs more than cutting could.
  void extend(size_t begin) {
    constexpr double kWasteful = 1.6;
    for (size_t layout : options_.layouts) {
      double apart = 0;  // seconds of the same nodes, cut after each
      for (size_t end = begin + 1; end < kept_.size(); ++end) {
        if (!allowed(begin, end, layout)) break;
        const Candidate* candidate = candidates_.find(begin, end, layout);
        if (candidate == nullptr) break;
        apart += slowest_of(end - 1, layout);
        // Redundant work grows with every further node, so longer segments are worse still.
        if (candidate->slowest > kWasteful * apart) break;
        for (size_t i = 0; i < kept_[begin].size(); ++i) consider(begin, i, *candidate);
      }
    }
  }

  bool is_one(size_t layout) const { return candidates_.layout(layout).cut == Cut::kNone; }

  bool allowed(size_t begin, size_t end, size_t layout) {
    const std::vector<size_t>& cuts = candidates_.cuts();
    if (!is_one(layout)) return end == begin + 1 || cuts[end] - cuts[begin] <= options_.most_nodes;
    // With forced cuts, one worker may compute only nodes that no other layout can split.
    if (!options_.forced) return true;
    return std::ranges::none_of(options_.layouts, [&](size_t other) {
      return !is_one(other) && candidates_.find(end - 1, end, other) != nullptr;
    });
  }

  double slowest_of(size_t cut, size_t layout) {
    const Candidate* candidate = candidates_.find(cut, cut + 1, layout);
    return candidate == nullptr ? std::numeric_limits<double>::infinity() : candidate->slowest;
  }

  // Keeps the best few ways to a cut with the same layout. The lower bound comes first: it saves
  // most of the calls of after(), which copies the state.
  void consider(size_t begin, size_t from, const Candidate& candidate) {
    const Progress& before = kept_[begin][from].progress;
    std::vector<Way>& ways = found_[candidate.end][candidate.layout];
    const bool full = ways.size() == options_.of_one_layout;
    if (full && before.soonest(candidate) >= ways.back().seconds()) return;
    std::optional<Progress> progress =
        before.after(candidate, candidates_.cuts()[candidate.end], last_reads_);
    if (!progress || (full && progress->seconds() >= ways.back().seconds())) return;
    if (full) ways.pop_back();
    const auto place = std::ranges::upper_bound(ways, progress->seconds(), {}, &Way::seconds);
    ways.insert(place, {*std::move(progress), begin, from, &candidate});
  }

  void keep_best(size_t cut) {
    std::vector<Way>& kept = kept_[cut];
    for (auto& [layout, ways] : found_[cut]) {
      for (Way& way : ways) kept.push_back(std::move(way));
    }
    found_[cut].clear();
    std::ranges::stable_sort(kept, {}, &Way::seconds);
    if (kept.size() > options_.width) {
      kept.erase(kept.begin() + static_cast<long>(options_.width), kept.end());
    }
  }

  Chain chain_of(const Way& last) const {
    Chain chain;
    for (const Way* way = &last; way->last != nullptr; way = &kept_[way->from_cut][way->from]) {
      chain.push_back(way->last);
    }
    std::ranges::reverse(chain);
    return chain;
  }

  Candidates& candidates_;
  const SearchOptions& options_;
  const std::vector<size_t> last_reads_;
  std::vector<std::map<size_t, std::vector<Way>>> found_;  // by cut and layout, the best first
  std::vector<std::vector<Way>> kept_;                     // by cut, the best first
};

}  // namespace

std::vector<Chain> search(Candidates& candidates, const SearchOptions& options) {
  return Search(candidates, options).run();
}

namespace {

// Hill climbing over chains. The dynamic programme estimates times segment by segment and keeps few
// ways at each cut, so its best chain is rarely optimal under the full simulation. Four moves
// (another layout, join, cut in two, other shares) are tried at every segment until none helps or
// the tries are used up. A change must gain 0.01 %, so that rounding errors of equal plans do not
// use up the tries.

// Weights of all tasks of a worker stay in memory; activations only of its largest task.
bool fits(const Candidates& candidates, const Chain& chain) {
  const std::vector<WorkerProfile>& workers = candidates.cluster().workers;
  std::vector<double> weights(workers.size()), activations(workers.size());
  for (const Candidate* candidate : chain) {
    for (size_t t = 0; t < candidate->tasks.size(); ++t) {
      const auto w = static_cast<size_t>(candidate->tasks[t].worker);
      weights[w] += candidate->weight_bytes[t];
      activations[w] = std::max(activations[w], candidate->activation_bytes[t]);
    }
  }
  for (size_t w = 0; w < workers.size(); ++w) {
    if (weights[w] + activations[w] > workers[w].memory_bytes) return false;
  }
  return true;
}

class Polisher {
 public:
  Polisher(Candidates& candidates, Chain chain, const std::vector<size_t>& layouts, size_t tries)
      : candidates_(candidates),
        layouts_(layouts),
        tries_(tries),
        best_(std::move(chain)),
        seconds_(simulated_seconds(candidates, best_)) {}

  Chain run() {
    // best_.size() changes inside of the loop, when segments are joined or cut.
    for (bool better = true; better && tries_ > 0;) {
      better = false;
      for (size_t i = 0; i < best_.size(); ++i) {
        better = change_layout(i) || better;
        better = join(i) || better;
        better = cut_in_two(i) || better;
        better = change_shares(i) || better;
      }
    }
    return std::move(best_);
  }

 private:
  // Segments [from, from + count) replaced by others. Keeps it if it is faster.
  bool attempt(size_t from, size_t count, const Chain& others) {
    if (tries_ == 0 || std::ranges::find(others, nullptr) != others.end()) return false;
    --tries_;
    Chain chain(best_.begin(), best_.begin() + static_cast<long>(from));
    chain.insert(chain.end(), others.begin(), others.end());
    chain.insert(chain.end(), best_.begin() + static_cast<long>(from + count), best_.end());
    const double seconds = simulated_seconds(candidates_, chain);
    if (seconds >= seconds_ * (1 - kWorthIt)) return false;
    best_ = std::move(chain);
    seconds_ = seconds;
    return true;
  }

  bool change_layout(size_t i) {
    bool better = false;
    for (size_t layout : layouts_) {
      const Candidate& candidate = *best_[i];
      if (layout == candidate.layout) continue;
      better = attempt(i, 1, {candidates_.find(candidate.begin, candidate.end, layout)}) || better;
    }
    return better;
  }

  bool join(size_t i) {
    if (i + 1 >= best_.size()) return false;
    const Candidate &a = *best_[i], &b = *best_[i + 1];
    if (attempt(i, 2, {candidates_.find(a.begin, b.end, a.layout)})) return true;
    return a.layout != b.layout && attempt(i, 2, {candidates_.find(a.begin, b.end, b.layout)});
  }

  bool cut_in_two(size_t i) {
    const Candidate& candidate = *best_[i];
    for (size_t at = candidate.begin + 1; at < candidate.end; ++at) {
      const Chain two = {candidates_.find(candidate.begin, at, candidate.layout),
                         candidates_.find(at, candidate.end, candidate.layout)};
      if (attempt(i, 1, two)) return true;
    }
    return false;
  }

  // Moves shares within this segment and all that follow with the same layout: shares that differ
  // between neighbouring segments make their border travel. Only the first of such a run does it.
  bool change_shares(size_t i) {
    constexpr size_t kMostWorkers = 6;
    const size_t number = best_[i]->layout;
    const size_t workers = candidates_.layout(number).workers.size();
    if (workers < 2 || workers > kMostWorkers) return false;
    if (i > 0 && best_[i - 1]->layout == number) return false;
    size_t end = i;
    while (end < best_.size() && best_[end]->layout == number) ++end;
    for (size_t from = 0; from < workers; ++from) {
      for (size_t to = 0; to < workers; ++to) {
        if (from != to && (shift(i, end, from, to) || shift(i, i + 1, from, to))) return true;
        if (from < to && exchange(i, end, from, to)) return true;
      }
    }
    return false;
  }

  bool shift(size_t begin, size_t end, size_t from, size_t to) {
    for (double part : {0.5, 0.15}) {
      Layout layout = candidates_.layout(best_[begin]->layout);
      const double moved = part * layout.shares[from];
      layout.shares[from] -= moved;
      layout.shares[to] += moved;
      if (attempt_layout(begin, end, layout)) return true;
    }
    return false;
  }

  // Two workers change places: it matters which workers are neighbours and which is sent to first.
  bool exchange(size_t begin, size_t end, size_t a, size_t b) {
    Layout layout = candidates_.layout(best_[begin]->layout);
    std::swap(layout.workers[a], layout.workers[b]);
    std::swap(layout.shares[a], layout.shares[b]);
    return attempt_layout(begin, end, layout);
  }

  // Tries the layout for all of segments [begin, end) at once.
  bool attempt_layout(size_t begin, size_t end, const Layout& layout) {
    const size_t number = candidates_.add(layout);
    Chain others;
    for (size_t i = begin; i < end; ++i) {
      others.push_back(candidates_.find(best_[i]->begin, best_[i]->end, number));
    }
    return attempt(begin, end - begin, others);
  }

  static constexpr double kWorthIt = 1e-4;

  Candidates& candidates_;
  const std::vector<size_t>& layouts_;
  size_t tries_;
  Chain best_;
  double seconds_;
};

}  // namespace

double simulated_seconds(const Candidates& candidates, const Chain& chain) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  if (!fits(candidates, chain)) return kNever;
  const Plan plan = plan_of(candidates, chain);
  std::vector<const TaskInputs*> inputs;
  std::vector<std::span<const double>> seconds;
  for (const Candidate* candidate : chain) {
    inputs.push_back(&candidate->inputs);
    seconds.push_back(candidate->seconds);
  }
  const auto transfers = find_transfers(candidates.graph(), plan, inputs);
  if (!transfers.ok()) return kNever;
  Steps steps = make_steps(candidates.graph(), plan, seconds, *transfers, candidates.cluster());
  // Copies and parities are not in the plan yet, but take their time on the way.
  std::map<ValueId, double> copies;
  for (const Candidate* candidate : chain) {
    for (const Task& task : candidate->tasks) {
      for (const Piece& piece : task.outputs) copies[piece.value] = candidate->copies;
    }
  }
  for (size_t i = 0; i < steps.messages.size(); ++i) {
    const auto made = copies.find((*transfers)[i].piece.value);
    if (made != copies.end()) steps.messages[i].seconds *= made->second;
  }
  return answer_seconds(steps, candidates.cluster());
}

Chain local_search(Candidates& candidates, Chain chain, const std::vector<size_t>& layouts,
                   size_t tries) {
  return Polisher(candidates, std::move(chain), layouts, tries).run();
}

}  // namespace shoal::plan
