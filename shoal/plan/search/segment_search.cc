// Beam search over cuts. kept_[c] holds the best ways to have computed everything before cut c;
// each is extended by every segment [c, e) under every layout. True dynamic programming would need
// the whole state of the cluster in its key, so each cut keeps `width` ways, at most
// `of_one_layout` of which end in the same layout: the layout decides what the next segment has to
// move. Complexity: O(cuts * length * layouts * width) calls of Progress::after, where `length` is
// the number of cuts that a segment may span before repeated halo work stops it.
#include "shoal/plan/search/segment_search.h"

#include <algorithm>
#include <limits>
#include <map>

#include "shoal/plan/search/cuts.h"
#include "shoal/plan/search/progress.h"

namespace shoal::plan {
namespace {

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

}  // namespace shoal::plan
