#include "shoal/shrink/prune/decision/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "shoal/engine/device/cut.h"
#include "shoal/model/passes/passes.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/prune/decision/decide.h"
#include "shoal/shrink/retraining/retrain.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/run/evaluation/evaluate_graph.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/step/graph/step_graph.h"

namespace shoal::shrink {
namespace {

constexpr size_t kShares = 10;  // of a group; one stays
constexpr int kLoaders = 1;
constexpr size_t kAhead = 2;

std::vector<size_t> numbers(size_t begin, size_t end) {
  std::vector<size_t> all(end - begin);
  std::iota(all.begin(), all.end(), begin);
  return all;
}

std::vector<size_t> ordered(const compress::Group& group, const std::vector<double>& worth) {
  std::vector<size_t> units = numbers(group.begin, group.end);
  std::ranges::stable_sort(units, {}, [&](size_t unit) { return worth[unit]; });
  return units;
}

// At least one of at least two goes, and one stays.
size_t gone_at(size_t share, size_t units) {
  const double part = static_cast<double>(share * units) / kShares;
  return std::clamp<size_t>(static_cast<size_t>(std::lround(part)), 1, units - 1);
}

// The first node that anything is different for without units of the group. What the nodes before
// it make is the same however many go.
size_t first_changed(const Graph& graph, const compress::Groups& groups,
                     const compress::Group& group) {
  std::vector<bool> changes(graph.value_count());
  for (size_t unit = group.begin; unit < group.end; ++unit) {
    for (const compress::Cell& cell : groups.units[unit].cells) {
      changes[static_cast<size_t>(cell.value)] = true;
    }
  }
  const auto is_changed = [&](ValueId id) {
    return id != kNoValue && changes[static_cast<size_t>(id)];
  };
  const auto node = std::ranges::find_if(graph.nodes(), [&](const Node& one) {
    return std::ranges::any_of(one.inputs, is_changed) ||
           std::ranges::any_of(one.outputs, is_changed);
  });
  return static_cast<size_t>(node - graph.nodes().begin());
}

// The nodes from `first` on, and what they read of those before, in the order in which they do.
GraphPart part_from(const Graph& graph, size_t first) {
  GraphPart part{.nodes = numbers(first, graph.nodes().size()), .reads = {}, .gives = {}};
  std::vector<bool> known(graph.value_count());  // made in the part, or read
  const auto read = [&](ValueId id) {
    if (id == kNoValue || graph[id].constant || known[static_cast<size_t>(id)]) return;
    known[static_cast<size_t>(id)] = true;
    part.reads.push_back(id);
  };
  for (size_t i : part.nodes) {
    std::ranges::for_each(graph.nodes()[i].inputs, read);
    for (ValueId id : graph.nodes()[i].outputs) known[static_cast<size_t>(id)] = true;
  }
  std::ranges::for_each(graph.outputs(), read);
  part.gives.assign(graph.outputs().begin(), graph.outputs().end());
  return part;
}

Result<std::unique_ptr<Executable>> compiled(Device& device, const Graph& graph,
                                             const GraphPart& part) {
  SHOAL_ASSIGN(const Graph alone, graph_of_part(graph, part));
  SHOAL_ASSIGN(const Graph optimized, passes::optimize(alone));
  return device.compile(optimized);
}

// A network and the same network without more and more units of one group, batch by batch. All of
// them read what the nodes before the group make, which is computed once.
class GroupTrial {
 public:
  static Result<GroupTrial> make(Device& device, const Graph& graph, const compress::Groups& groups,
                                 const compress::Group& group) {
    GroupTrial trial(device, first_changed(graph, groups, group));
    const GraphPart behind = part_from(graph, trial.first_);
    const GraphPart before{.nodes = numbers(0, trial.first_),
                           .reads = {graph.inputs().begin(), graph.inputs().end()},
                           .gives = behind.reads};
    if (trial.first_ > 0) {
      SHOAL_ASSIGN(trial.before_, compiled(device, graph, before));
    }
    trial.read_.resize(behind.reads.size());
    return trial;
  }

  // Removal changes no node's place.
  Status enter(const Graph& smaller) {
    SHOAL_ASSIGN(auto behind, compiled(*device_, smaller, part_from(smaller, first_)));
    behind_.push_back(std::move(behind));
    return {};
  }

  Result<std::vector<fit::Evaluation>> evaluate(const Batches& batches, bool probabilities,
                                                const std::atomic<bool>* cancel) {
    std::vector<fit::Evaluation> all(behind_.size());
    Prefetch prefetch(batches, 0, 0, kLoaders, kAhead);
    for (size_t i = 0; i < batches.per_epoch(); ++i) {
      if (cancel != nullptr && cancel->load()) return Status(Code::kCancelled, "interrupted");
      SHOAL_ASSIGN(const Batch batch, prefetch.next());
      if (before_) {
        SHOAL_TRY(before_->run(std::span(&batch.images, 1), read_, {}));
      } else {
        read_[0] = batch.images;
      }
      for (size_t n = 0; n < behind_.size(); ++n) {
        std::vector<Tensor> outputs(behind_[n]->graph().outputs().size());
        SHOAL_TRY(behind_[n]->run(read_, outputs, {}));
        SHOAL_TRY(fit::add_answers(batch, outputs[0], probabilities, all[n]));
      }
    }
    return all;
  }

 private:
  GroupTrial(Device& device, size_t first) : device_(&device), first_(first) {}

  Device* device_;
  size_t first_;                        // node of the second part
  std::unique_ptr<Executable> before_;  // null: there are no nodes before it
  std::vector<std::unique_ptr<Executable>> behind_;
  std::vector<Tensor> read_;  // by the second part
};

}  // namespace

size_t sensitivity_examples(size_t there_are, size_t groups, int64_t macs) {
  constexpr double kMostMacs = 1e13, kFewest = 100, kMost = 2000;
  const double of_one = static_cast<double>((kShares - 1) * groups) * static_cast<double>(macs);
  const double wanted = std::clamp(kMostMacs / std::max(of_one, 1.0), kFewest, kMost);
  return std::min(there_are, static_cast<size_t>(wanted));
}

Result<Sensitivity> sensitivity_of(Device& device, const NetworkForBatch& network,
                                   const std::shared_ptr<const Dataset>& examples,
                                   const ShrinkOptions& options, const std::atomic<bool>* cancel) {
  if (examples->size() == 0) return invalid("no examples are held out to look at");
  SHOAL_ASSIGN(const LoadedGraph batch, network(static_cast<int64_t>(options.recipe.batch)));
  SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(batch.graph));
  SHOAL_ASSIGN(const int64_t macs, compress::macs_without(batch.graph, groups, {}));
  const int64_t of_one = macs / static_cast<int64_t>(options.recipe.batch);
  const auto some = make_subset(
      examples, numbers(0, sensitivity_examples(examples->size(), groups.groups.size(), of_one)));
  SHOAL_ASSIGN(
      const std::vector<double> worth,
      worth_of(device, batch.graph, groups, {}, options.importance, *some, options.recipe));
  Sensitivity result{.examples = some->size()};
  SHOAL_ASSIGN(result.top1, top1_of(device, network, *some, options.recipe));
  const Batches batches(*some, fit::images_for(batch.graph, options.recipe.preprocess),
                        fit::evaluation_batches(options.recipe, fit::classes_of(batch.graph)));
  const bool probabilities = train::scores_of(batch.graph) != batch.graph.outputs()[0];
  for (const compress::Group& group : groups.groups) {
    const GroupLeft named = described(batch.graph, groups, group, group.size());
    GroupSensitivity& of_group = result.groups.emplace_back(
        GroupSensitivity{.weights = named.weights, .axis = named.axis, .units = group.size()});
    const std::vector<size_t> units = ordered(group, worth);
    SHOAL_ASSIGN(GroupTrial trial, GroupTrial::make(device, batch.graph, groups, group));
    std::vector<size_t> entered;  // how many units are gone
    for (size_t share = 1; share < kShares; ++share) {
      const size_t gone = gone_at(share, group.size());
      if (!entered.empty() && entered.back() == gone) continue;
      const auto smaller = compress::remove(batch.graph, groups, std::span(units).first(gone));
      if (smaller.status().code() == Code::kUnsupported) break;  // it cannot lose this many
      if (!smaller.ok()) return smaller.status();
      SHOAL_TRY(trial.enter(*smaller));
      entered.push_back(gone);
    }
    SHOAL_ASSIGN(const auto evaluations, trial.evaluate(batches, probabilities, cancel));
    for (size_t share = 1; share < kShares; ++share) {
      const auto position = std::ranges::find(entered, gone_at(share, group.size()));
      if (position == entered.end()) break;
      of_group.top1.push_back(evaluations[static_cast<size_t>(position - entered.begin())].top1());
    }
  }
  return result;
}

}  // namespace shoal::shrink
