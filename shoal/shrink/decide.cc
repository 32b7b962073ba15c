#include "shoal/shrink/decide.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "shoal/compress/importance.h"
#include "shoal/compress/remove.h"
#include "shoal/shrink/choose_by_time.h"
#include "shoal/shrink/worth.h"

namespace shoal::shrink {
namespace {

// The first order says what one unit is worth while the others are there, so few go at a time. At
// once, 15 times fewer multiply-accumulates left one of 50 filters to LeNet's second layer.
constexpr size_t kRounds = 8;

// Gradients come from batches as large as training's, costs are those of one example: a target may
// be a number of multiply-accumulates. Both graphs have the same units.
class Decider {
 public:
  Decider(Device& device, const Dataset& examples, const ShrinkOptions& options)
      : device_(device), examples_(examples), options_(options) {}

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

  // Only a change of the loss can be set against costs. Magnitudes are relative to their group: a
  // stream through many layers, which costs most, would go first (ResNet-20: 10 % before it
  // learns).
  Status by_size() {
    if (options_.importance != Importance::kTaylor) {
      SHOAL_ASSIGN(const std::vector<double> worth, worth_now({}));
      SHOAL_ASSIGN(units_, compress::choose(one_.graph, groups_, worth, options_.target));
      return {};
    }
    SHOAL_ASSIGN(const compress::Size before, compress::size_without(one_.graph, groups_, {}));
    for (size_t round = 0; round < kRounds; ++round) {
      SHOAL_ASSIGN(const std::vector<double> worth, worth_now({round, kRounds}));
      const compress::Target target = compress::part_way(options_.target, before, part_of(round));
      SHOAL_ASSIGN(const std::vector<double> for_cost,
                   compress::per_saving(one_.graph, groups_, worth, target, units_));
      SHOAL_ASSIGN(units_, compress::choose(one_.graph, groups_, for_cost, target));
    }
    return {};
  }

  Status by_time(const LatencyTable& table) {
    const double before = table.ms(all_kept(groups_));
    const TimeTarget& time = *options_.time;
    const double most = std::min(time.share > 0 ? time.share * before : time.ms, before);
    if (options_.importance != Importance::kTaylor) {
      SHOAL_ASSIGN(const std::vector<double> worth, worth_now({}));
      SHOAL_ASSIGN(units_, choose_by_time(groups_, worth, table, most, {}, Order::kWorth));
      return {};
    }
    for (size_t round = 0; round < kRounds; ++round) {
      SHOAL_ASSIGN(const std::vector<double> worth, worth_now({round, kRounds}));
      const double now =
          round + 1 == kRounds ? most : before * std::pow(most / before, part_of(round));
      SHOAL_ASSIGN(units_, choose_by_time(groups_, worth, table, now, units_));
    }
    return {};
  }

  Decision take(const LatencyTable* table) {
    Decision decision{std::move(groups_), {.units = std::move(units_)}};
    if (table != nullptr) {
      decision.choice.time = {table->ms(all_kept(decision.groups)),
                              table->ms(kept_without(decision.groups, decision.choice.units))};
    }
    return decision;
  }

 private:
  static double part_of(size_t round) { return static_cast<double>(round + 1) / kRounds; }

  Result<std::vector<double>> worth_now(Round round) {
    return worth_of(device_, batch_.graph, of_batch_, units_, options_.importance, examples_,
                    options_.recipe, round);
  }

  Device& device_;
  const Dataset& examples_;
  const ShrinkOptions& options_;
  LoadedGraph batch_, one_;
  compress::Groups of_batch_, groups_;
  std::vector<size_t> units_;  // that are gone
};

}  // namespace

Result<Decision> decide(Device& device, const NetworkForBatch& network, const Dataset& examples,
                        const ShrinkOptions& options, const LatencyTable* table) {
  SHOAL_CHECK(!options.time || table != nullptr);
  Decider decider(device, examples, options);
  SHOAL_TRY(decider.load(network));
  SHOAL_TRY(options.time ? decider.by_time(*table) : decider.by_size());
  return decider.take(table);
}

std::vector<GroupLeft> removed_by(const Graph& graph, const Decision& decision) {
  std::vector<GroupLeft> all;
  for (const compress::Group& group : decision.groups.groups) {
    const auto lost =
        static_cast<size_t>(std::ranges::count_if(decision.choice.units, [&](size_t unit) {
          return unit >= group.begin && unit < group.end;
        }));
    if (lost == 0) continue;
    GroupLeft left{.before = group.size(), .left = group.size() - lost};
    const auto& cells = decision.groups.units[group.begin].cells;
    const auto weights = std::ranges::find_if(
        cells, [&](const compress::Cell& cell) { return graph[cell.value].constant.has_value(); });
    if (weights != cells.end()) {
      left.weights = graph[weights->value].name;
      left.axis = weights->axis;
    }
    all.push_back(std::move(left));
  }
  return all;
}

std::vector<RefusedAxis> refused_by(const Graph& graph, const Decision& decision) {
  std::vector<RefusedAxis> all;
  for (const compress::Refusal& refusal : decision.groups.refused) {
    all.push_back({graph[refusal.weights].name, refusal.axis, refusal.indices, refusal.reason});
  }
  return all;
}

}  // namespace shoal::shrink
