// A run, network by network. Graphs for learning, judging and files are the same network in several
// forms and for different batches; what was learned is kept by name.
#include "shoal/branch/learn_branches.h"

#include <chrono>
#include <cstdio>
#include <utility>

#include "shoal/branch/networks.h"
#include "shoal/shrink/networks.h"
#include "shoal/shrink/retrain.h"
#include "shoal/train/rebuild.h"

namespace shoal::branch {
namespace {

using fit::NetworkForBatch;
using shrink::Trained;
using shrink::Weights;

constexpr double kStep = 10;  // percent by which branches are fattened at a time

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
  }

  Result<LearnResult> run() {
    const auto begin = std::chrono::steady_clock::now();
    BranchOptions branches = options_.branches;
    SHOAL_TRY(look_at(branches));  // what cannot be done is said before anything learns
    SHOAL_TRY(learn_dense());
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
    SHOAL_TRY(judge(branches, trained.weights));
    SHOAL_TRY(learn_same_work());
    if (!options_.out.empty()) {
      const NetworkForBatch plain =
          shrink::with_weights(in_branches(given_, branches, {}), trained.weights);
      SHOAL_TRY(fit::export_network(plain, options_.out));
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    result_.seconds = taken.count();
    return std::move(result_);
  }

 private:
  NetworkForBatch fresh(NetworkForBatch network) const {
    return shrink::with_fresh_weights(std::move(network), options_.recipe.seed);
  }

  Status look_at(const BranchOptions& branches) {
    SHOAL_ASSIGN(const LoadedGraph one, given_(1));
    SHOAL_ASSIGN(result_.sizes, sizes_of(one.graph, branches));
    return {};
  }

  Result<Trained> train(std::string_view name, const NetworkForBatch& network, bool taught) {
    fit::TrainingOptions recipe = options_.recipe;
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
    SHOAL_ASSIGN(const Trained trained, train("dense control", given_, false));
    dense_ = shrink::with_weights(given_, trained.weights);
    dense_held_out_ = trained.held_out_top1;
    SHOAL_ASSIGN(result_.top1_dense, judged(dense_));
    return {};
  }

  Result<Trained> learn(const BranchOptions& branches) {
    if (branches.fatten > 0) note(text_of("fattened by %.0f %%", branches.fatten));
    const BranchForm form{.dropout = options_.dropout};
    return train("branches", fresh(in_branches(given_, branches, form)), true);
  }

  Status judge(const BranchOptions& branches, const Weights& weights) {
    SHOAL_ASSIGN(result_.top1,
                 judged(shrink::with_weights(in_branches(given_, branches, {}), weights)));
    for (size_t i = 0; i < branches.widths.size(); ++i) {
      // The weights of a lost branch have no place.
      const NetworkForBatch rest =
          changed(in_branches(given_, branches, {.lost = {i}}),
                  [&weights](const Graph& graph) { return train::rebuilt(graph, weights); });
      SHOAL_ASSIGN(result_.top1_lost.emplace_back(), judged(rest));
    }
    return {};
  }

  Status learn_same_work() {
    const NetworkForBatch narrow =
        changed(given_, [macs = result_.sizes.macs](const Graph& graph) -> Result<Graph> {
          return narrowed_to(graph, macs * graph[graph.inputs()[0]].type.shape[0]);
        });
    SHOAL_ASSIGN(const LoadedGraph one, narrow(1));
    for (const Node& node : one.graph.nodes()) result_.macs_same += macs(one.graph, node);
    SHOAL_ASSIGN(const Trained trained, train("same work", fresh(narrow), true));
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
  NetworkForBatch given_;
  const fit::JudgedData& data_;
  const LearnOptions& options_;
  const LearnCallbacks& callbacks_;
  NetworkForBatch dense_;  // after it learned
  double dense_held_out_ = 0;
  LearnResult result_;
};

}  // namespace

Status check(const LearnOptions& options) {
  if (options.max_drop && !(*options.max_drop >= 0)) return invalid("max_drop is out of range");
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    return invalid("a branch is dropped with a probability from 0 to below 1");
  }
  // Networks are made here; the recipe only says how they learn.
  fit::TrainingOptions plain = options.recipe;
  if (plain.retarget > 0 || plain.patience > 0) {
    return invalid("branches take no recipe with retarget or patience");
  }
  plain.teacher.clear();
  plain.loss.distill = 0;
  return fit::check(plain);
}

Result<LearnResult> learn_branches(Device& device, const Model& model, const fit::JudgedData& data,
                                   const LearnOptions& options, const LearnCallbacks& callbacks) {
  SHOAL_TRY(check(options));
  return Run(device, model, data, options, callbacks).run();
}

}  // namespace shoal::branch
