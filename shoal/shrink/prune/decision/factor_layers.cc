// Ranks for a target. A layer has a front of ranks: the more work they save, the more of its output
// is lost, by the second moment of its inputs (shrink/compress/factors/low_rank.h). Some ranks,
// spread over the front, are options, unless the layer is not faster with them
// (shrink/compress/factors/factorise.h). choose_ranks() takes one option per layer, to minimise the
// sum of the losses, as shares of each layer's output.
//
// A target of time: layers are timed alone; the time of the rest is unknown at first. A choice that
// leaves the share p of the layers' time and takes the share m of the network's measured time gives
// the rest's share f: f + (1 - f) p = m. If m is too much, the next choice uses that.
#include "shoal/shrink/prune/decision/factor_layers.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "shoal/shrink/compress/factors/layers_apart.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/retraining/norms.h"
#include "shoal/shrink/retraining/retrain.h"

namespace shoal::shrink {
namespace {

using compress::Candidate;
using compress::LayerApart;
using compress::LayersApart;
using compress::RankOption;
using compress::Ranks;

constexpr size_t kRounds = 8;    // as units go
constexpr size_t kOptions = 12;  // of a layer, besides itself
constexpr int kAttempts = 4;     // to meet a time
constexpr double kMostRest = 0.99;

Result<LayersApart> layers_of(Device& device, const NetworkForBatch& network,
                              const Dataset& examples, const ShrinkOptions& options) {
  SHOAL_ASSIGN(const LoadedGraph loaded, network(1));
  const bool is_svd = options.importance == Importance::kSvd;
  return LayersApart::of(loaded.graph,
                         {device, fit::spread_examples(loaded.graph, examples, options.recipe)},
                         is_svd ? compress::kSvd : compress::kTucker);
}

bool is_candidate(const LayerApart& layer, const Ranks& ranks) {
  return std::ranges::any_of(layer.factors.candidates,
                             [&](const Candidate& candidate) { return candidate.ranks == ranks; });
}

struct Options {
  std::vector<Candidate> candidates;
  std::vector<double> microseconds;  // as the layer takes alone; empty: not measured
};

// At most kOptions of a front, its ends among them.
std::vector<Candidate> spread(const std::vector<Candidate>& front) {
  if (front.size() <= kOptions) return front;
  std::vector<Candidate> some;
  for (size_t i = 0; i < kOptions; ++i) {
    some.push_back(front[i * (front.size() - 1) / (kOptions - 1)]);
  }
  return some;
}

NetworkForBatch with_factors(NetworkForBatch network, compress::FactorsByLayer factors) {
  return fit::changed(std::move(network), [factors = std::move(factors)](const Graph& graph) {
    return compress::with_factors(graph, factors);
  });
}

class Chooser {
 public:
  Chooser(const Means& means, const compress::Stopwatch& stopwatch)
      : means_(means), stopwatch_(stopwatch) {}

  Status load() {
    SHOAL_ASSIGN(LayersApart apart,
                 layers_of(means_.device, means_.network, *means_.data.training, means_.options));
    apart_.emplace(std::move(apart));
    if (apart_->layers().empty()) {
      const auto& left = apart_->left();
      return Status(Code::kUnsupported,
                    "there is no layer to factorise" +
                        (left.empty() ? "" : ": " + std::string(left[0].refused.message())));
    }
    const bool measures = means_.options.time || means_.options.measure_seconds > 0;
    if (measures && means_.callbacks.on_note) {
      means_.callbacks.on_note("looks how long " + std::to_string(apart_->layers().size()) +
                               " layers take in factors");
    }
    for (size_t i = 0; i < apart_->layers().size(); ++i) {
      const auto* cancel = means_.callbacks.cancel;
      if (cancel != nullptr && cancel->load()) return Status(Code::kCancelled, "interrupted");
      const LayerApart& layer = apart_->layers()[i];
      Options& options = options_.emplace_back(Options{{layer.whole}, {}});
      const std::vector<Candidate> candidates = spread(layer.factors.candidates);
      if (measures) {
        SHOAL_TRY(add_faster(i, candidates, options));
      } else {
        options.candidates.insert(options.candidates.end(), candidates.begin(), candidates.end());
      }
    }
    return {};
  }

  Result<Choice> choose() { return means_.options.time ? by_time() : by_size(); }

 private:
  Status add_faster(size_t layer, const std::vector<Candidate>& candidates, Options& options) {
    std::vector<Ranks> ranks;
    for (const Candidate& candidate : candidates) ranks.push_back(candidate.ranks);
    SHOAL_ASSIGN(const std::vector<Contest> contests,
                 apart_->race(layer, ranks, means_.runs, stopwatch_));
    // The layer itself takes its least time of all contests; each of the others is set against the
    // time that it took in the same one.
    double itself = contests[0].least(0);
    for (const Contest& contest : contests) itself = std::min(itself, contest.least(0));
    options.microseconds = {itself};
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (!compress::is_faster(contests[i], 1)) continue;
      options.candidates.push_back(candidates[i]);
      options.microseconds.push_back(itself * contests[i].least(1) / contests[i].least(0));
    }
    return {};
  }

  // The option of each layer as ranks, 0 for those that stay; none if all do.
  std::vector<Ranks> ranks_of(const std::vector<size_t>& chosen) const {
    std::vector<Ranks> ranks(chosen.size());
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i] > 0) ranks[i] = options_[i].candidates[chosen[i]].ranks;
    }
    const bool all_stay = std::ranges::all_of(chosen, [](size_t option) { return option == 0; });
    return all_stay ? std::vector<Ranks>() : ranks;
  }

  // A target on numbers that candidates have, on their way to it.
  Result<Choice> by_size() {
    SHOAL_ASSIGN(const LoadedGraph loaded, means_.network(1));
    SHOAL_ASSIGN(const compress::Size before, compress::size_without(loaded.graph, {}, {}));
    SHOAL_ASSIGN(const compress::Size folded, compress::size_without(apart_->graph(), {}, {}));
    const std::vector<double> whole = costs(before), prepared = costs(folded);
    std::vector<std::vector<RankOption>> layers;
    std::vector<double> rest = prepared;  // what no layer has
    for (const Options& options : options_) {
      std::vector<RankOption>& all = layers.emplace_back();
      for (const Candidate& candidate : options.candidates) {
        all.push_back({{candidate.macs, candidate.weights, sizeof(float) * candidate.weights},
                       candidate.lost});
      }
      for (size_t kind = 0; kind < rest.size(); ++kind) rest[kind] -= all[0].costs[kind];
    }
    Choice choice;
    for (size_t round = 0; round < kRounds; ++round) {
      const compress::Target target =
          compress::part_way(means_.options.target, before, part_of(round));
      const std::vector<double> most = {target.macs * whole[0] - rest[0],
                                        target.parameters * whole[1] - rest[1],
                                        target.bytes * whole[2] - rest[2]};
      const auto chosen = compress::choose_ranks(layers, most);
      if (!chosen) return unmet();
      choice.rounds.push_back({.ranks = ranks_of(*chosen)});
    }
    return choice;
  }

  static std::vector<double> costs(const compress::Size& size) {
    return {static_cast<double>(size.macs), static_cast<double>(size.parameters),
            static_cast<double>(size.bytes)};
  }

  Result<Choice> by_time() {
    double alone = 0;
    std::vector<std::vector<RankOption>> layers;
    for (const Options& options : options_) {
      std::vector<RankOption>& all = layers.emplace_back();
      for (size_t i = 0; i < options.candidates.size(); ++i) {
        all.push_back({{options.microseconds[i] / 1000}, options.candidates[i].lost});
      }
      alone += options.microseconds[0] / 1000;
    }
    SHOAL_ASSIGN(const double before, whole_ms(alone));
    const TimeTarget& time = *means_.options.time;
    const double wanted = std::min(time.share > 0 ? time.share : time.ms / before, 1.0);
    double rest = 0;  // share of the network's time that is not the layers'
    Choice choice{.before_ms = before};
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      std::vector<Removal> rounds;
      double left = 1;  // share of the layers' time
      for (size_t round = 0; round < kRounds; ++round) {
        const double most = (std::pow(wanted, part_of(round)) - rest) / (1 - rest);
        const auto chosen = compress::choose_ranks(layers, std::vector<double>{most * alone});
        // A machine that was busy while it was measured may ask for more than there is.
        if (!chosen && attempt > 0) return choice;
        if (!chosen) return unmet();
        double ms = 0;
        for (size_t i = 0; i < layers.size(); ++i) ms += layers[i][(*chosen)[i]].costs[0];
        left = ms / alone;
        rounds.push_back({.ms = before * (rest + (1 - rest) * left), .ranks = ranks_of(*chosen)});
      }
      choice.rounds = std::move(rounds);
      SHOAL_ASSIGN(const double measured, measured_share(choice.rounds.back()));
      if (measured <= wanted) break;
      rest = std::clamp((measured - left) / (1 - left), rest, kMostRest);
    }
    return choice;
  }

  Result<double> whole_ms(double otherwise) {
    if (means_.options.measure_seconds == 0) return otherwise;
    SHOAL_ASSIGN(const std::vector<double> ms,
                 measured_ms(means_.runs, {means_.network}, means_.options.measure_seconds));
    return ms[0];
  }

  // Of its time the network takes with these factors; 0 if it is not measured.
  Result<double> measured_share(const Removal& removal) {
    if (means_.options.measure_seconds == 0 || removal.ranks.empty()) return 0.0;
    SHOAL_ASSIGN(const compress::FactorsByLayer factors, apart_->at(removal.ranks));
    SHOAL_ASSIGN(const std::vector<double> ms,
                 measured_ms(means_.runs, {means_.network, with_factors(means_.network, factors)},
                             means_.options.measure_seconds));
    return ms[1] / ms[0];
  }

  static double part_of(size_t round) { return static_cast<double>(round + 1) / kRounds; }

  Status unmet() const {
    const auto faster = std::ranges::count_if(
        options_, [](const Options& options) { return options.candidates.size() > 1; });
    return Status(Code::kUnsupported, "factors do not meet the target: " + std::to_string(faster) +
                                          " of " + std::to_string(options_.size()) +
                                          " layers can have them");
  }

  const Means& means_;
  const compress::Stopwatch& stopwatch_;
  std::optional<LayersApart> apart_;
  std::vector<Options> options_;  // of each layer
};

}  // namespace

Result<Choice> choose_factors(const Means& means, const compress::Stopwatch& stopwatch) {
  Chooser chooser(means, stopwatch);
  SHOAL_TRY(chooser.load());
  return chooser.choose();
}

Result<Decided> factorise_layers(const Means& means) {
  Decided decided;
  SHOAL_ASSIGN(decided.decision.choice, choose_factors(means));
  return decided;
}

Result<InFactors> in_factors(Device& device, const NetworkForBatch& network,
                             const Dataset& examples, const ShrinkOptions& options,
                             const std::vector<Ranks>& ranks) {
  SHOAL_ASSIGN(const LayersApart apart, layers_of(device, network, examples, options));
  std::vector<Ranks> all = ranks;
  if (ranks.empty()) all.resize(apart.layers().size());
  if (all.size() != apart.layers().size()) return invalid("these are the ranks of other layers");
  InFactors result;
  for (size_t i = 0; i < all.size(); ++i) {
    const LayerApart& layer = apart.layers()[i];
    const Ranks& full = layer.whole.ranks;
    if (all[i] == Ranks()) {
      result.refused.push_back({layer.weights, layer.output_axis,
                                static_cast<int64_t>(full.outputs),
                                "no factors are faster, or the target is met without"});
      continue;
    }
    if (!is_candidate(layer, all[i])) return invalid("these are the ranks of other layers");
    if (all[i].outputs < full.outputs) {
      result.removed.push_back({layer.weights, layer.output_axis, full.outputs, all[i].outputs});
    }
    if (all[i].inputs < full.inputs) {
      result.removed.push_back({layer.weights, 1 - layer.output_axis, full.inputs, all[i].inputs});
    }
  }
  for (const compress::LayerReport& left : apart.left()) {
    result.refused.push_back({left.place, 0, 0, std::string(left.refused.message())});
  }
  SHOAL_ASSIGN(compress::FactorsByLayer factors, apart.at(all));
  result.network = with_factors(network, std::move(factors));
  return result;
}

}  // namespace shoal::shrink
