// A run, network by network. Graphs for training, evaluation and files are the same network in
// several forms and for different batches; weights are kept by name.
#include "shoal/shrink/branches/learn_branches.h"

#include <chrono>
#include <cstdio>
#include <utility>

#include "shoal/base/timing/seconds_since.h"
#include "shoal/shrink/branches/branch_networks.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/prune/decision/decide.h"
#include "shoal/shrink/prune/decision/depth.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/shrink/retraining/norms.h"
#include "shoal/shrink/retraining/retrain.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::branch {
namespace {

using fit::Learner;
using fit::NetworkForBatch;
using shrink::Trained;
using shrink::Weights;

constexpr int64_t kShareOfTrunk = 3;  // of the epochs
constexpr double kStep = 10;          // percent by which branches are fattened at a time

std::string text_of(const char* format, double number) {
  char text[96];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

class Run {
 public:
  Run(Device& device, const Model& model, const fit::JudgedData& data, const LearnOptions& options,
      const LearnCallbacks& callbacks)
      : device_(device),
        given_(shrink::as_given(model)),
        data_(data),
        options_(options),
        callbacks_(callbacks) {
    if (model.has_random_weights()) given_ = fresh(given_);
    trunk_ = options.blocks.empty() ? given_ : shrink::without_blocks(given_, options.blocks);
  }

  Result<LearnResult> run() {
    const auto begin = std::chrono::steady_clock::now();
    BranchOptions branches = options_.branches;
    SHOAL_TRY(look_at(branches));  // what cannot be done is said before anything learns
    SHOAL_TRY(learn_dense());
    if (options_.refit) {
      if (!options_.blocks.empty()) SHOAL_TRY(learn_trunk());
      SHOAL_TRY(find_worth(branches));
    }
    SHOAL_ASSIGN(Trained trained, learn(branches));
    while (options_.max_drop && dense_held_out_ - trained.held_out_top1 > *options_.max_drop) {
      BranchOptions fatter = branches;
      fatter.fatten += kStep;
      SHOAL_TRY(look_at(fatter));
      if (result_.sizes.parameters >= result_.sizes.parameters_dense) break;
      branches = std::move(fatter);
      SHOAL_ASSIGN(trained, learn(branches));
    }
    SHOAL_TRY(look_at(branches));
    SHOAL_ASSIGN(const NetworkForBatch plain, as_written(branches, trained.weights));
    SHOAL_ASSIGN(result_.top1, judged(plain));
    if (options_.controls) {
      SHOAL_TRY(evaluate_lost(branches, trained.weights));
      SHOAL_TRY(learn_same_work());
    }
    if (!options_.out.empty()) SHOAL_TRY(fit::export_network(plain, options_.out));
    result_.seconds = seconds_since(begin);
    return std::move(result_);
  }

 private:
  NetworkForBatch fresh(NetworkForBatch network) const {
    return shrink::with_fresh_weights(std::move(network), options_.recipe.seed);
  }

  Status look_at(const BranchOptions& branches) {
    SHOAL_ASSIGN(const LoadedGraph loaded, given_(1));
    SHOAL_ASSIGN(const LoadedGraph left, trunk_(1));
    SHOAL_ASSIGN(result_.sizes, sizes_of(left.graph, branches));
    result_.sizes.parameters_dense = parameters(loaded.graph);
    result_.sizes.macs_dense = total_macs(loaded.graph);
    return {};
  }

  Result<Learner> learner_of(const NetworkForBatch& network) {
    if (!options_.refit) return Learner{network};
    return fit::with_norms(device_, network, *data_.data.training, options_.recipe);
  }

  static NetworkForBatch folded(const Learner& learner, NetworkForBatch network) {
    return learner.has_new_norms ? fit::with_folded_norms(std::move(network)) : std::move(network);
  }

  // The epochs of the recipe that the network without blocks learns, before it has branches.
  int64_t epochs_of_trunk() const {
    const bool learns = options_.refit && !options_.blocks.empty();
    return learns ? options_.recipe.epochs / kShareOfTrunk : 0;
  }

  Result<Trained> train(std::string_view name, const NetworkForBatch& network, bool taught,
                        int64_t epochs) {
    fit::TrainingOptions recipe = options_.recipe;
    recipe.epochs = epochs;
    recipe.checkpoint.clear();
    if (!taught) recipe.loss.distill = 0;
    const fit::TrainingCallbacks callbacks{.on_step =
                                               [&](const fit::StepReport& step) {
                                                 if (callbacks_.on_step)
                                                   callbacks_.on_step({name, step});
                                               },
                                           .on_note = callbacks_.on_note,
                                           .cancel = callbacks_.cancel};
    auto trained = shrink::retrain(device_, network, dense_, data_.data, recipe, callbacks);
    if (!trained.ok()) return trained.status().at(name);
    for (auto& [weight, tensor] : trained->weights) tensor = tensor.clone();
    note(std::string(name) + text_of(": held-out top-1 %.2f %%", trained->held_out_top1));
    return trained;
  }

  Status learn_dense() {
    SHOAL_ASSIGN(const Learner learner, learner_of(given_));
    SHOAL_ASSIGN(const Trained trained,
                 train("dense control", learner.network, false, options_.recipe.epochs));
    dense_ = folded(learner, shrink::with_weights(learner.network, trained.weights));
    dense_held_out_ = trained.held_out_top1;
    SHOAL_ASSIGN(result_.top1_dense, judged(dense_));
    return {};
  }

  // Without blocks a network answers hardly anything, and so would branches refitted to it. This
  // training counts: all networks see as many images.
  Status learn_trunk() {
    if (epochs_of_trunk() == 0) return {};
    SHOAL_ASSIGN(const Learner learner, learner_of(trunk_));
    SHOAL_ASSIGN(const Trained trained,
                 train("fewer blocks", learner.network, true, epochs_of_trunk()));
    trunk_ = folded(learner, shrink::with_weights(learner.network, trained.weights));
    return {};
  }

  // The worth of units, to deal out good ones.
  Status find_worth(BranchOptions& branches) {
    SHOAL_ASSIGN(const LoadedGraph one, trunk_(1));
    SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(one.graph));
    SHOAL_ASSIGN(const LoadedGraph batch, trunk_(static_cast<int64_t>(options_.recipe.batch)));
    SHOAL_ASSIGN(branches.worth,
                 shrink::worth_of(device_, batch.graph, groups, {}, shrink::Importance::kTaylor,
                                  *data_.data.held_out, options_.recipe));
    return {};
  }

  // The branches before they learn.
  NetworkForBatch begun(const BranchOptions& branches, const BranchForm& form) const {
    NetworkForBatch network = in_branches(trunk_, branches, form);
    if (!options_.refit) return fresh(std::move(network));
    // The weights of a lost branch have no place.
    return fit::changed(std::move(network),
                        [this](const Graph& graph) { return train::rebuilt(graph, start_); });
  }

  Result<Trained> learn(const BranchOptions& branches) {
    if (branches.fatten > 0) note(text_of("fattened by %.0f %%", branches.fatten));
    if (options_.refit) {
      SHOAL_ASSIGN(start_, weights_of_branches(device_, trunk_, branches, *data_.data.training,
                                               options_.recipe));
      SHOAL_ASSIGN(const double before, judged(begun(branches, {})));
      note(text_of("branches: top-1 %.2f %% before they learn", before));
    }
    SHOAL_ASSIGN(const Learner learner, learner_of(begun(branches, {.dropout = options_.dropout})));
    return train("branches", learner.network, true, options_.recipe.epochs - epochs_of_trunk());
  }

  // What the branches learned, without what was only there for learning.
  Result<NetworkForBatch> as_written(const BranchOptions& branches, const Weights& weights,
                                     const BranchForm& form = {}) {
    SHOAL_ASSIGN(const Learner learner, learner_of(begun(branches, form)));
    return folded(learner, fit::changed(learner.network, [weights](const Graph& graph) {
                    return train::rebuilt(graph, weights);
                  }));
  }

  Status evaluate_lost(const BranchOptions& branches, const Weights& weights) {
    for (size_t i = 0; i < branches.widths.size(); ++i) {
      SHOAL_ASSIGN(const NetworkForBatch rest, as_written(branches, weights, {.lost = {i}}));
      SHOAL_ASSIGN(result_.top1_lost.emplace_back(), judged(rest));
    }
    return {};
  }

  Status learn_same_work() {
    const NetworkForBatch narrow =
        fit::changed(given_, [macs = result_.sizes.macs](const Graph& graph) -> Result<Graph> {
          return narrowed_to(graph, macs * graph[graph.inputs()[0]].type.shape[0]);
        });
    SHOAL_ASSIGN(const LoadedGraph one, narrow(1));
    result_.macs_same = total_macs(one.graph);
    SHOAL_ASSIGN(const Trained trained,
                 train("same work", fresh(narrow), true, options_.recipe.epochs));
    SHOAL_ASSIGN(result_.top1_same_macs, judged(shrink::with_weights(narrow, trained.weights)));
    return {};
  }

  Result<double> judged(const NetworkForBatch& network) const {
    return shrink::top1_of(device_, network, *data_.test, options_.recipe);
  }

  void note(const std::string& line) const {
    if (callbacks_.on_note) callbacks_.on_note(line);
  }

  Device& device_;
  NetworkForBatch given_, trunk_;  // as it was given, and what the branches are made of
  const fit::JudgedData& data_;
  const LearnOptions& options_;
  const LearnCallbacks& callbacks_;
  NetworkForBatch dense_;  // after it learned
  double dense_held_out_ = 0;
  Weights start_;  // of the branches, if they are refitted
  LearnResult result_;
};

}  // namespace

Status check(const LearnOptions& options) {
  if (options.max_drop && !(*options.max_drop >= 0)) return invalid("max_drop is out of range");
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    return invalid("a branch is dropped with a probability from 0 to below 1");
  }
  if (options.refit && options.branches.merge != Merge::kConcat) {
    return invalid("branches that are refitted are concatenated");
  }
  return shrink::check_recipe(options.recipe, "branches take", true);
}

Result<LearnResult> learn_branches(Device& device, const Model& model, const fit::JudgedData& data,
                                   const LearnOptions& options, const LearnCallbacks& callbacks) {
  SHOAL_TRY(check(options));
  if (options.refit && model.has_random_weights()) {
    return invalid(model.name() + " has random weights: train it first");
  }
  return Run(device, model, data, options, callbacks).run();
}

}  // namespace shoal::branch
