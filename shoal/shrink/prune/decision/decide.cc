#include "shoal/shrink/prune/decision/decide.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "shoal/shrink/compress/units/importance.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/prune/latency/choose_by_time.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::shrink {
namespace {

constexpr int kLoaders = 1;
constexpr size_t kAhead = 2;

constexpr size_t kFewestBatches = 8;  // a round, if there are enough: fewer are noise

// The mean over batches of the loss's change, with labels only: the dense network's own answers
// give a loss without slope there.
Result<std::vector<double>> taylor_worth(Device& device, const Graph& network,
                                         const compress::Groups& groups,
                                         std::span<const size_t> gone, const Dataset& examples,
                                         fit::TrainingOptions recipe, Round round) {
  if (examples.size() == 0) return invalid("no examples are held out that could choose");
  recipe.loss.distill = 0;
  SHOAL_ASSIGN(const Graph left, compress::masked(network, groups, gone));
  SHOAL_ASSIGN(train::Trainer trainer,
               train::Trainer::create(device, left, fit::trainer_options(recipe)));
  const Batches batches(examples, fit::images_for(network, recipe.preprocess),
                        fit::evaluation_batches(recipe, fit::classes_of(network)));
  const size_t all = batches.per_epoch();
  const size_t count = std::min(all, std::max(kFewestBatches, all / round.rounds));
  Prefetch prefetch(batches, 0, round.number * count % all, kLoaders, kAhead);
  std::vector<double> worth(groups.units.size());
  for (size_t i = 0; i < count; ++i) {
    SHOAL_ASSIGN(const Batch batch, prefetch.next());
    SHOAL_TRY(trainer.compute(batch.images, std::span(&batch.labels, 1)).status());
    std::map<std::string, Tensor> gradients;
    for (size_t p = 0; p < trainer.parameters().size(); ++p) {
      gradients.emplace(trainer.parameters()[p], trainer.gradients()[p]);
    }
    const std::vector<double> of_batch = compress::taylor(network, groups, gradients);
    for (size_t unit = 0; unit < worth.size(); ++unit) {
      worth[unit] += of_batch[unit] / static_cast<double>(count);
    }
  }
  return worth;
}

// The first order says what one unit is worth while the others are there, so few go at a time. At
// once, 15 times fewer multiply-accumulates left one of 50 filters to LeNet's second layer.
constexpr size_t kRounds = 8;

// Gradients come from batches as large as training's, costs are those of one example: a target may
// be a number of multiply-accumulates. Both graphs have the same units.
class Decider {
 public:
  Decider(Device& device, const Dataset& examples, const ShrinkOptions& options,
          WorthInRound learned)
      : device_(device), examples_(examples), options_(options), learned_(std::move(learned)) {}

  Status load(const NetworkForBatch& network) {
    SHOAL_ASSIGN(batch_, network(static_cast<int64_t>(options_.recipe.batch)));
    SHOAL_ASSIGN(of_batch_, compress::find_groups(batch_.graph));
    SHOAL_ASSIGN(one_, network(1));
    SHOAL_ASSIGN(groups_, compress::find_groups(one_.graph));
    if (groups_.units.empty()) {
      const std::string reason = groups_.refused.empty() ? "" : ": " + groups_.refused[0].reason;
      return Status(Code::kUnsupported, "there is no unit that could be removed" + reason);
    }
    if (groups_.units.size() != of_batch_.units.size()) {
      return Status(Code::kUnsupported, "the units of the network depend on the batch");
    }
    return {};
  }

  // Only a change of the loss can be weighed against costs. Magnitudes are relative to their group:
  // the costly stream through many layers would go first (ResNet-20: 10 % before retraining).
  Status by_size() {
    SHOAL_ASSIGN(const compress::Size before, compress::size_without(one_.graph, groups_, {}));
    for (size_t round = 0; round < kRounds; ++round) {
      const compress::Target target = compress::part_way(options_.target, before, part_of(round));
      SHOAL_ASSIGN(std::vector<double> worth, worth_in(round));
      if (by_loss()) {
        SHOAL_ASSIGN(worth, compress::per_saving(one_.graph, groups_, worth, target, gone()));
      }
      SHOAL_ASSIGN(std::vector<size_t> units, compress::choose(one_.graph, groups_, worth, target));
      rounds_.push_back({.units = std::move(units)});
    }
    return {};
  }

  // Sizes that are to be met beside the time are met in each round, too, by what is worth least
  // after that: it then has less to do for the time in the next round.
  Status by_time(LatencyTable table) {
    SHOAL_ASSIGN(const compress::Size size, compress::size_without(one_.graph, groups_, {}));
    const double before = table.ms(all_kept(groups_));
    const TimeTarget& time = *options_.time;
    const double most = std::min(time.share > 0 ? time.share * before : time.ms, before);
    for (size_t round = 0; round < kRounds; ++round) {
      const double now =
          round + 1 == kRounds ? most : before * std::pow(most / before, part_of(round));
      SHOAL_ASSIGN(const std::vector<double> worth, worth_in(round));
      SHOAL_ASSIGN(std::vector<size_t> units,
                   choose_by_exact_time(groups_, worth, table, now, gone(),
                                        by_loss() ? Order::kPerMillisecond : Order::kWorth));
      SHOAL_ASSIGN(units, with_more(std::move(units), worth,
                                    compress::part_way(time.besides, size, part_of(round))));
      rounds_.push_back({.units = std::move(units)});
    }
    return {};
  }

  Result<Decision> take(const LatencyTable* table) {
    Decision decision{std::move(groups_), {.rounds = std::move(rounds_)}};
    if (table == nullptr) return decision;
    decision.choice.before_ms = table->ms(all_kept(decision.groups));
    for (Removal& removal : decision.choice.rounds) {
      if (table->exact_ms) {
        SHOAL_ASSIGN(removal.ms, table->exact_ms(removal.units));
      } else {
        removal.ms = table->ms(kept_without(decision.groups, removal.units));
      }
    }
    return decision;
  }

 private:
  static double part_of(size_t round) { return static_cast<double>(round + 1) / kRounds; }
  bool by_loss() const {
    return options_.importance == Importance::kTaylor ||
           options_.importance == Importance::kLasso || options_.importance == Importance::kHoyer;
  }

  // These units, and as many more as the target demands.
  Result<std::vector<size_t>> with_more(std::vector<size_t> units, std::vector<double> worth,
                                        const compress::Target& target) const {
    if (target == compress::Target()) return units;
    if (by_loss()) {
      SHOAL_ASSIGN(worth, compress::per_saving(one_.graph, groups_, worth, target, units));
    }
    for (size_t unit : units) worth[unit] = -std::numeric_limits<double>::infinity();
    SHOAL_ASSIGN(std::vector<size_t> more, compress::choose(one_.graph, groups_, worth, target));
    return more.size() > units.size() ? std::move(more) : std::move(units);
  }

  // What other worths say does not change from round to round, so that each begins anew.
  std::span<const size_t> gone() const {
    return (by_loss() || learned_) && !rounds_.empty() ? rounds_.back().units
                                                       : std::span<const size_t>();
  }
  Result<std::vector<double>> worth_in(size_t round) {
    if (learned_) {
      SHOAL_ASSIGN(std::vector<double> worth, learned_(gone(), {round, kRounds}));
      for (size_t unit : gone()) worth[unit] = -std::numeric_limits<double>::infinity();
      return worth;
    }
    return worth_of(device_, batch_.graph, of_batch_, gone(), options_.importance, examples_,
                    options_.recipe, {round, kRounds});
  }

  Device& device_;
  const Dataset& examples_;
  const ShrinkOptions& options_;
  const WorthInRound learned_;  // empty: worth_of() knows it
  LoadedGraph batch_, one_;
  compress::Groups of_batch_, groups_;
  std::vector<Removal> rounds_;  // so far
};

struct Entry {
  Importance importance;
  Result<Decided> (*decide)(const Means& means);
};

constexpr Entry kMethods[] = {
    {Importance::kLasso, learn_sparsely}, {Importance::kHoyer, learn_sparsely},
    {Importance::kDpruner, learn_masks},  {Importance::kDepth, choose_blocks},
    {Importance::kSvd, factorise_layers}, {Importance::kTucker, factorise_layers}};

}  // namespace

Result<std::vector<double>> worth_of(Device& device, const Graph& network,
                                     const compress::Groups& groups, std::span<const size_t> gone,
                                     Importance importance, const Dataset& examples,
                                     const fit::TrainingOptions& recipe, Round round) {
  switch (importance) {
    case Importance::kMagnitude:
    // What it learned is not known here.
    case Importance::kDpruner:
    case Importance::kDepth:
    case Importance::kSvd:
    case Importance::kTucker:
      return compress::magnitudes(network, groups);
    case Importance::kRandom:
      return compress::random_worth(groups, recipe.seed);
    case Importance::kTaylor:
    case Importance::kLasso:
    case Importance::kHoyer:
      break;
  }
  return taylor_worth(device, network, groups, gone, examples, recipe, round);
}

Result<Decision> decide(Device& device, const NetworkForBatch& network, const Dataset& examples,
                        const ShrinkOptions& options, const LatencyTable* table,
                        WorthInRound learned) {
  SHOAL_CHECK(!options.time || table != nullptr);
  Decider decider(device, examples, options, std::move(learned));
  SHOAL_TRY(decider.load(network));
  SHOAL_TRY(options.time ? decider.by_time(*table) : decider.by_size());
  return decider.take(table);
}

std::vector<GroupLeft> removed_by(const Graph& graph, const compress::Groups& groups,
                                  std::span<const size_t> units) {
  std::vector<GroupLeft> all;
  for (const compress::Group& group : groups.groups) {
    const auto lost = static_cast<size_t>(std::ranges::count_if(
        units, [&](size_t unit) { return unit >= group.begin && unit < group.end; }));
    if (lost > 0) all.push_back(described(graph, groups, group, group.size() - lost));
  }
  return all;
}

GroupLeft described(const Graph& graph, const compress::Groups& groups,
                    const compress::Group& group, size_t left) {
  GroupLeft result{.before = group.size(), .left = left};
  const auto& cells = groups.units[group.begin].cells;
  const auto weights = std::ranges::find_if(
      cells, [&](const compress::Cell& cell) { return graph[cell.value].constant.has_value(); });
  if (weights != cells.end()) {
    result.weights = graph[weights->value].name;
    result.axis = weights->axis;
  }
  return result;
}

std::vector<RefusedAxis> refused_by(const Graph& graph, const compress::Groups& groups) {
  std::vector<RefusedAxis> all;
  for (const compress::Refusal& refusal : groups.refused) {
    all.push_back({graph[refusal.weights].name, refusal.axis, refusal.indices, refusal.reason});
  }
  return all;
}

Result<Decided> decide_by_method(const Means& means) {
  for (const Entry& entry : kMethods) {
    if (entry.importance == means.options.importance) return entry.decide(means);
  }
  Decided decided;
  SHOAL_ASSIGN(decided.decision, decide(means.device, means.network, *means.data.held_out,
                                        means.options, means.table));
  return decided;
}

}  // namespace shoal::shrink
