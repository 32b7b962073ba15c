// A run: the exits are trained, the network with them, thresholds are calibrated, files are
// written. Graphs for training, evaluation and files are the same network for different batches.
#include "shoal/shrink/exits/learning/add_exits.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "shoal/model/passes/passes.h"
#include "shoal/shrink/compress/refit/refit.h"
#include "shoal/shrink/exits/network/heads.h"
#include "shoal/shrink/exits/network/places.h"
#include "shoal/shrink/exits/network/stages.h"
#include "shoal/shrink/exits/thresholds/drop_calibration.h"
#include "shoal/shrink/retraining/norms.h"
#include "shoal/shrink/retraining/retrain.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/step/graph/step_graph.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::exits {
namespace {

constexpr int kLoaders = 1;
constexpr size_t kAhead = 2;

// Runs the whole network on batches that go through their data once. If it ends in a softmax,
// scores are logarithms of probabilities. Fails as the data and the device do. REQUIRES: the
// batches are of the network's size.
Result<ExitScores> scores_by_exit(Device& device, const MultiExit& network,
                                  const Batches& batches) {
  const size_t exits = network.graph.outputs().size();
  ExitScores scores{.classes = 0, .labels = {}, .exits = std::vector<std::vector<float>>(exits)};
  if (batches.per_epoch() == 0) return scores;
  const bool softmax = train::scores_of(network.graph) != network.graph.outputs()[0];
  SHOAL_ASSIGN(const Graph optimized, passes::optimize(network.graph));
  SHOAL_ASSIGN(const auto executable, device.compile(optimized));
  Prefetch prefetch(batches, 0, 0, kLoaders, kAhead);
  std::vector<Tensor> outputs(exits);
  for (size_t i = 0; i < batches.per_epoch(); ++i) {
    SHOAL_ASSIGN(const Batch batch, prefetch.next());
    SHOAL_TRY(executable->run(std::span(&batch.images, 1), outputs, {}));
    const auto labels = batch.labels.data<int64_t>().first(batch.fresh);
    scores.labels.insert(scores.labels.end(), labels.begin(), labels.end());
    for (size_t output = 0; output < exits; ++output) {
      scores.classes = static_cast<size_t>(outputs[output].shape()[1]);
      // The first output is the last classifier's.
      auto& own = scores.exits[output == 0 ? exits - 1 : output - 1];
      for (float x : outputs[output].data<float>().first(batch.fresh * scores.classes)) {
        own.push_back(output == 0 && softmax ? std::log(x) : x);
      }
    }
  }
  return scores;
}

using Weights = std::map<std::string, Tensor>;

class Run {
 public:
  Run(Device& device, const Model& model, const fit::JudgedData& data, const ExitsOptions& options,
      const ExitsCallbacks& callbacks)
      : device_(device), model_(model), data_(data), options_(options), callbacks_(callbacks) {}

  Result<ExitsResult> run() {
    const auto begin = std::chrono::steady_clock::now();
    SHOAL_TRY(choose_places());
    for (size_t i = 0; i < places_.size(); ++i) SHOAL_TRY(train_exit(i));
    if (options_.joint_epochs > 0) SHOAL_TRY(train_jointly());
    SHOAL_TRY(calibrate_and_evaluate());
    SHOAL_TRY(write());
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    result_.seconds = taken.count();
    return std::move(result_);
  }

 private:
  int64_t batch() const { return static_cast<int64_t>(options_.recipe.batch); }

  // The values where exits go, by name: they are the same for all batches.
  Status choose_places() {
    // A batch of two tells its axis from those of length one.
    SHOAL_ASSIGN(const LoadedGraph loaded, fit::load_for_batch(model_, 2));
    const Graph& graph = loaded.graph;
    SHOAL_TRY(check_classifier(graph));
    SHOAL_ASSIGN(const std::vector<ValueId> ids, options_.at.empty()
                                                     ? even_places(graph, options_.automatic)
                                                     : find_places(graph, options_.at));
    for (ValueId id : ids) places_.push_back(graph[id].name);
    const size_t weights = options_.joint_weights.size(), classifiers = places_.size() + 1;
    if (weights != 0 && weights != classifiers) {
      return invalid("there are " + std::to_string(weights) + " weights for " +
                     std::to_string(classifiers) + " classifiers, the last one included");
    }
    SHOAL_ASSIGN(const WithHeads result, with_heads(1));
    const std::string& last = loaded.outputs[0];
    for (const Exit& exit : result.network.exits) {
      if (exit.scores == last) return invalid("the model's output is called like an exit: " + last);
      note("exit at " + exit.at);
    }
    return {};
  }

  // The network with its exits as evaluated and written: restored norms are folded.
  Result<WithHeads> with_heads(int64_t batch) const {
    SHOAL_ASSIGN(WithHeads made, as_it_learns(batch));
    if (moments_.empty()) return made;
    SHOAL_ASSIGN(made.network.graph, fit::with_folded_norms(made.network.graph));
    return made;
  }

  Result<WithHeads> as_it_learns(int64_t batch) const {
    SHOAL_ASSIGN(const LoadedGraph loaded, fit::load_for_batch(model_, batch));
    SHOAL_TRY(check_classifier(loaded.graph));
    SHOAL_ASSIGN(const std::vector<ValueId> ids, find_places(loaded.graph, places_));
    SHOAL_ASSIGN(WithHeads made, add_heads(loaded.graph, ids, options_.head));
    SHOAL_ASSIGN(const Graph graph, compress::with_norms(made.network.graph, moments_));
    SHOAL_ASSIGN(made.network.graph, train::with_constants(graph, learned_));
    made.network.outputs[0] = loaded.outputs[0];
    return made;
  }

  Status train_exit(size_t exit) {
    SHOAL_ASSIGN(const WithHeads made, as_it_learns(batch()));
    const ValueId scores = made.network.graph.outputs()[exit + 1];
    fit::TrainingOptions recipe = options_.recipe;
    SHOAL_ASSIGN(Graph network, with_outputs(made.network.graph, std::span(&scores, 1)));
    recipe.freeze = fit::all_but(network, made.weights[exit]);
    return train("exit " + std::to_string(exit + 1), std::move(network), std::move(recipe));
  }

  // A deep network without norms learns at small rates only.
  Status put_norms_in() {
    SHOAL_ASSIGN(const WithHeads one, as_it_learns(1));
    const Graph& graph = one.network.graph;
    const auto examples = fit::spread_examples(graph, *data_.data.training, options_.recipe);
    SHOAL_ASSIGN(moments_, compress::conv_moments(graph, examples, device_));
    return {};
  }

  Status train_jointly() {
    if (options_.norms) SHOAL_TRY(put_norms_in());
    SHOAL_ASSIGN(WithHeads made, as_it_learns(batch()));
    fit::TrainingOptions recipe = options_.recipe;
    recipe.freeze.clear();
    recipe.epochs = options_.joint_epochs;
    if (options_.joint_rate > 0) recipe.optimizer.rate = options_.joint_rate;
    recipe.output_weights = options_.joint_weights;
    if (recipe.output_weights.empty()) recipe.output_weights.assign(places_.size() + 1, 1);
    recipe.self_distill = options_.self_distill;
    // The last classifier is the first output.
    std::rotate(recipe.output_weights.begin(), recipe.output_weights.end() - 1,
                recipe.output_weights.end());
    return train("all exits", std::move(made.network.graph), std::move(recipe));
  }

  Status train(const std::string& what, Graph network, fit::TrainingOptions recipe) {
    fit::TrainingTask task{.network = std::move(network), .data = data_.data};
    recipe.teacher.clear();
    if (recipe.loss.distill > 0) {
      SHOAL_ASSIGN(LoadedGraph given, fit::load_for_batch(model_, batch()));
      task.teacher = std::move(given.graph);
      recipe.teacher = "the network as it was given";  // the options must say that there is one
    }
    const fit::TrainingCallbacks callbacks{.on_step =
                                               [&](const fit::StepReport& step) {
                                                 if (callbacks_.on_step) {
                                                   callbacks_.on_step({what, step});
                                                 }
                                               },
                                           .on_note = callbacks_.on_note,
                                           .cancel = callbacks_.cancel};
    auto loop = fit::TrainingLoop::create(device_, std::move(task), std::move(recipe), callbacks);
    if (!loop.ok()) return loop.status().at(what);
    const auto reason = loop->run();
    if (!reason.ok()) return reason.status().at(what);
    if (*reason == fit::StopReason::kCancelled) return Status(Code::kCancelled, "interrupted");
    for (const auto& [name, tensor] : loop->weights()) learned_[name] = tensor.clone();
    char line[96];
    std::snprintf(line, sizeof line, "%s: held-out top-1 %.2f %%", what.c_str(),
                  loop->evaluation().top1());
    note(line);
    return {};
  }

  Status calibrate_and_evaluate() {
    SHOAL_ASSIGN(const WithHeads one, with_heads(1));
    SHOAL_ASSIGN(const std::vector<Stage> stages, stages_of(one.network));
    for (const Stage& stage : stages) result_.stage_macs.push_back(stage.macs);
    SHOAL_ASSIGN(ExitScores scores, scores_on(*data_.data.held_out));
    std::vector<double> thresholds;
    if (options_.max_drop) {
      const WantedDrop wanted{*options_.max_drop, options_.wanted.risk};
      SHOAL_ASSIGN(DropCalibration drop_calibration,
                   calibrate_for_drop(scores, wanted, result_.stage_macs));
      scale_exits(one, drop_calibration.scales);
      scores = scaled(std::move(scores), drop_calibration.scales);
      thresholds = std::move(drop_calibration.thresholds);
    } else {
      SHOAL_ASSIGN(thresholds, thresholds_for_precision(verdicts_of(scores), options_.wanted));
    }
    result_.exits = one.network.exits;
    for (size_t i = 0; i < thresholds.size(); ++i) result_.exits[i].threshold = thresholds[i];
    result_.held_out = figures_with(verdicts_of(scores), thresholds, result_.stage_macs);
    SHOAL_ASSIGN(const ExitScores test, scores_on(*data_.test));
    const Verdicts judged = verdicts_of(test);
    result_.test = figures_with(judged, thresholds, result_.stage_macs);
    for (const auto& exit : judged.exits) {
      const auto correct = std::ranges::count(exit, true, &Verdict::correct);
      result_.top1.push_back(100.0 * static_cast<double>(correct) /
                             static_cast<double>(std::max<size_t>(exit.size(), 1)));
    }
    for (size_t i = 0; i < result_.exits.size(); ++i) result_.exits[i].top1 = result_.top1[i];
    return evaluate_given();
  }

  // The last layer of each exit gives its scores times the scale from now on.
  void scale_exits(const WithHeads& made, std::span<const double> scales) {
    for (size_t exit = 0; exit < scales.size(); ++exit) {
      const auto scale = static_cast<float>(scales[exit]);
      for (const char* kind : {".weight", ".bias"}) {  // of the Gemm that makes the scores
        Tensor& weights = learned_.at(made.network.exits[exit].scores + kind);
        for (float& x : weights.data<float>()) x *= scale;
      }
    }
  }

  Result<ExitScores> scores_on(const Dataset& examples) const {
    SHOAL_ASSIGN(const WithHeads made, with_heads(batch()));
    return scores_on(examples, made.network);
  }

  Result<ExitScores> scores_on(const Dataset& examples, const MultiExit& network) const {
    const Batches batches(examples, fit::images_for(network.graph, options_.recipe.preprocess),
                          fit::evaluation_batches(options_.recipe, fit::classes_of(network.graph)));
    return scores_by_exit(device_, network, batches);
  }

  Status evaluate_given() {
    SHOAL_ASSIGN(LoadedGraph given, fit::load_for_batch(model_, batch()));
    SHOAL_ASSIGN(const LoadedGraph one, fit::load_for_batch(model_, 1));
    result_.macs_before = total_macs(one.graph);
    SHOAL_ASSIGN(const ExitScores judged,
                 scores_on(*data_.test, {.graph = std::move(given.graph)}));
    const std::vector<int64_t> all{result_.macs_before};
    result_.top1_before = figures_with(verdicts_of(judged), {}, all).top1;
    return {};
  }

  Status write() const {
    if (!options_.out.empty()) {
      const auto whole = [&](int64_t batch) -> Result<LoadedGraph> {
        SHOAL_ASSIGN(WithHeads made, with_heads(batch));
        return LoadedGraph{std::move(made.network.graph), std::move(made.network.outputs)};
      };
      SHOAL_TRY(fit::export_network(whole, options_.out, properties_of(result_.exits)));
    }
    if (options_.stages.empty()) return {};
    std::error_code error;
    std::filesystem::create_directories(options_.stages, error);
    if (error) return Status(Code::kNotFound, options_.stages.string() + ": " + error.message());
    for (size_t s = 0; s < result_.stage_macs.size(); ++s) {
      const auto stage = [&](int64_t batch) -> Result<LoadedGraph> {
        SHOAL_ASSIGN(const WithHeads made, with_heads(batch));
        SHOAL_ASSIGN(std::vector<Stage> stages, stages_of(made.network));
        return LoadedGraph{std::move(stages[s].graph), std::move(stages[s].gives)};
      };
      const std::string name = "stage" + std::to_string(s + 1) + ".onnx";
      SHOAL_TRY(fit::export_network(stage, options_.stages / name));
    }
    return {};
  }

  void note(const std::string& line) const {
    if (callbacks_.on_note) callbacks_.on_note(line);
  }

  Device& device_;
  const Model& model_;
  const fit::JudgedData& data_;
  const ExitsOptions& options_;
  const ExitsCallbacks& callbacks_;
  std::vector<std::string> places_;
  Weights learned_;                // so far, by name
  compress::ConvMoments moments_;  // of convolutions that were given norms
  ExitsResult result_;
};

}  // namespace

Status check(const ExitsOptions& options) {
  constexpr int64_t kMostEpochs = 1 << 20;
  constexpr size_t kMostExits = 64;
  const size_t exits = options.at.empty() ? options.automatic : options.at.size();
  if (exits == 0 || exits > kMostExits) return invalid("the number of exits is out of range");
  if (options.joint_epochs < 0 || options.joint_epochs > kMostEpochs) {
    return invalid("joint_epochs is out of range");
  }
  if (!(options.joint_rate >= 0) || !std::isfinite(options.joint_rate)) {
    return invalid("joint_rate is out of range");
  }
  if (!(options.self_distill >= 0 && options.self_distill <= 1)) {
    return invalid("self_distill is a share");
  }
  if (options.max_drop && !(*options.max_drop >= 0)) return invalid("max_drop is out of range");
  if (!thresholds_for_precision({}, options.wanted).ok()) {
    return invalid("a precision and its risk are between 0 and 1");
  }
  return shrink::check_recipe(options.recipe, "exits take");
}

Result<ExitsResult> add_exits(Device& device, const Model& model, const fit::JudgedData& data,
                              const ExitsOptions& options, const ExitsCallbacks& callbacks) {
  SHOAL_TRY(check(options));
  if (model.has_random_weights()) {
    return invalid(model.name() + " has random weights: train it first");
  }
  return Run(device, model, data, options, callbacks).run();
}

}  // namespace shoal::exits
