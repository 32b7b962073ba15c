// Sparse clusters: fully connected layers are trained to fall into blocks, one per worker, which
// the planner finds (plan/sparse). A plan for perfect blocks says first whether that could be
// enough.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "shoal/model/passes/passes.h"
#include "shoal/shrink/fit_cluster/other_networks.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/shrink/retraining/retrain.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::fit_cluster {
namespace {

using fit::NetworkForBatch;

constexpr double kAlmostAll = 1 - 1e-9;
constexpr int64_t kRounds = 3;  // of learning, with removal after each
// Of the largest outliers, those that go; held-out examples choose among them.
constexpr std::array kShares = {kAlmostAll, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02};

struct Learning {
  const Task& task;
  NetworkForBatch given;
  std::vector<std::string> weights;
  size_t blocks = 0;

  Result<shrink::Trained> train(std::string_view name, size_t number,
                                const NetworkForBatch& network,
                                const fit::TrainingOptions& recipe) const {
    const fit::TrainingCallbacks callbacks{
        .on_step =
            [&](const fit::StepReport& step) {
              if (!task.callbacks.on_step) return;
              task.callbacks.on_step({name, number, 2, step, step.seconds_left});
            },
        .on_note = task.callbacks.on_note,
        .cancel = task.callbacks.cancel};
    return shrink::retrain(task.devices.learns, network, given, task.data.data, recipe, callbacks);
  }

  NetworkForBatch without_outliers(const NetworkForBatch& network, double share) const {
    return fit::changed(network, [share, all = weights, count = blocks](const Graph& graph) {
      return in_blocks(graph, all, count, share);
    });
  }

  Result<double> top1(const NetworkForBatch& network, const Dataset& examples) const {
    return shrink::top1_of(task.devices.learns, network, examples, task.options.recipe);
  }

  // A penalty makes outliers small, and the data keep them from being zero. So they go several
  // times, and what is left learns to do without.
  Result<shrink::Trained> train_clusters() const {
    fit::TrainingOptions recipe = task.options.recipe;
    for (const std::string& weight : weights) {
      recipe.penalties.push_back(penalty_for_blocks(weight, blocks));
    }
    const int64_t epochs = recipe.epochs, rounds = std::min(kRounds, epochs);
    NetworkForBatch begins = given;
    for (int64_t round = 1;; ++round) {
      recipe.epochs = epochs * round / rounds - epochs * (round - 1) / rounds;
      SHOAL_ASSIGN(shrink::Trained trained, train("sparse clusters", 1, begins, recipe));
      if (round == rounds) return trained;
      begins = without_outliers(trained.network, kAlmostAll);
    }
  }

  // As few outliers as held-out examples allow.
  Result<NetworkForBatch> clearest(const shrink::Trained& trained, double control) const {
    for (const double share : kShares) {
      NetworkForBatch left = without_outliers(trained.network, share);
      SHOAL_ASSIGN(const double seen, top1(left, *task.data.data.held_out));
      if (control - seen > task.options.max_drop) continue;
      if (task.callbacks.on_note) {
        char line[96];
        std::snprintf(line, sizeof line, "outliers up to %.0f %% of the largest go", 100 * share);
        task.callbacks.on_note(line);
      }
      return left;
    }
    return trained.network;
  }
};

Result<double> ideal_ms(const Learning& learning) {
  SHOAL_ASSIGN(const LoadedGraph loaded, learning.without_outliers(learning.given, kAlmostAll)(1));
  SHOAL_ASSIGN(const Graph graph, passes::optimize(loaded.graph));
  SHOAL_ASSIGN(const auto plans,
               plan::make_plans(graph, learning.task.cluster, {.wire = learning.task.wire}));
  return 1e3 * plans[0].timeline.seconds;
}

}  // namespace

Result<OtherNetwork> network_of_clusters(const Task& task) {
  Learning learning{task, shrink::as_given(task.model), {}, plan::count_present(task.cluster)};
  if (learning.blocks < 2) return OtherNetwork{.why_not = "clusters need two workers"};
  SHOAL_ASSIGN(const LoadedGraph loaded, learning.given(1));
  learning.weights = weights_for_blocks(loaded.graph);
  if (learning.weights.empty()) {
    return OtherNetwork{.why_not = "no fully connected layer is worth a message"};
  }
  SHOAL_ASSIGN(const double ideal, ideal_ms(learning));
  if (ideal > task.ms) {
    char why[96];
    std::snprintf(why, sizeof why, "perfect blocks would take %.2f ms", ideal);
    return OtherNetwork{.why_not = why};
  }
  SHOAL_ASSIGN(const shrink::Trained control,
               learning.train("dense control", 0, learning.given, task.options.recipe));
  SHOAL_ASSIGN(const shrink::Trained trained, learning.train_clusters());
  SHOAL_ASSIGN(const NetworkForBatch left, learning.clearest(trained, control.held_out_top1));
  SHOAL_TRY(fit::export_network(left, task.out));
  SHOAL_ASSIGN(OtherNetwork planned, planned_file(task.out, task.cluster));
  SHOAL_ASSIGN(planned.top1, learning.top1(left, *task.data.test));
  SHOAL_ASSIGN(planned.top1_control, learning.top1(control.network, *task.data.test));
  return planned;
}

}  // namespace shoal::fit_cluster
