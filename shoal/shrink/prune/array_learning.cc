// Batches are drawn from a new order of the examples each epoch; what does not fill a batch is left
// out of it.
#include "shoal/shrink/prune/array_learning.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "shoal/engine/run/scores.h"
#include "shoal/model/passes/passes.h"
#include "shoal/shrink/prune/decision/decide.h"
#include "shoal/shrink/retraining/retrain.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/step/graph/step_graph.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::shrink {
namespace {

// Sparse learning: some epochs with a penalty on the norms of units, then units go by what the loss
// gains from them, next to nothing if the norm fell. With the norm n_u of all s weights of unit u,
//
//   lasso   strength * sum over groups of sqrt(s) * sum(n_u)         (Yuan, Lin 2006)
//   hoyer   strength * sum over groups of sum(n_u)^2 / sum(n_u^2)    (Yang et al. 2020)
//
// added to the loss as gradients (train/step/optimizer/regularizer.h). The lasso pulls all units of
// a group down at the same rate, and the loss holds those it needs. Hoyer pulls down units below
// sum(n^2) / sum(n) and no others. Norms cannot be weighed against costs, and were worse: LeNet
// with a 25th of its parameters had 58 % by norms, 79 % by the loss before retraining.

using Penalty = train::Regularizer::Penalty;

// Reckoned, not tuned: at the usual rate and momentum they take a unit that the loss does not hold
// from usual weights to zero in some hundred steps.
constexpr double kLassoStrength = 1e-3, kHoyerStrength = 1e-2;

constexpr uint64_t kOrderStream = 0x6172726179;  // "array": a stream that nothing else draws from

size_t count_of(const Tensor& examples) { return static_cast<size_t>(examples.shape()[0]); }

Tensor gather(const Tensor& all, std::span<const size_t> rows) {
  Shape shape = all.shape();
  const size_t bytes = all.bytes().size() / count_of(all);
  shape[0] = static_cast<int64_t>(rows.size());
  Tensor some = Tensor::uninitialized({all.dtype(), shape});
  for (size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(some.bytes().data() + i * bytes, all.bytes().data() + rows[i] * bytes, bytes);
  }
  return some;
}

Status check_input(const Graph& network, const Tensor& inputs, size_t batch) {
  const TensorType& wanted = network[network.inputs()[0]].type;
  Shape shape = inputs.shape();
  shape[0] = static_cast<int64_t>(batch);
  if (wanted == TensorType{inputs.dtype(), shape}) return {};
  return invalid("the network reads " + to_string(wanted) + ", the examples are " +
                 to_string(inputs.type()));
}

// The loss that the targets ask for.
train::Loss loss_for(const Tensor& targets) {
  return {.kind = targets.dtype() == DType::kI64 ? train::Loss::Kind::kCrossEntropy
                                                 : train::Loss::Kind::kMeanSquare};
}

// The targets of a batch as the loss reads them: labels one after the other, values like the
// output.
Result<Tensor> for_loss(const Tensor& targets, const Graph& network) {
  const Shape& output = network[train::scores_of(network)].type.shape;
  Shape shape = output;
  if (targets.dtype() == DType::kI64) {
    if (output.rank() == 0) return invalid("the output is no scores of classes");
    shape = {output[0]};
  }
  if (shape.count() != targets.count()) {
    return invalid("targets are " + to_string(targets.shape()) + " for an output " +
                   to_string(output));
  }
  return targets.reshaped(shape);
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double dot = 0, of_a = 0, of_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += double{a[i]} * double{b[i]};
    of_a += double{a[i]} * double{a[i]};
    of_b += double{b[i]} * double{b[i]};
  }
  return of_a == 0 || of_b == 0 ? 0 : dot / std::sqrt(of_a * of_b);
}

}  // namespace

train::UnitPenalty penalty_on(const Graph& graph, const compress::Groups& groups, Penalty penalty,
                              double strength) {
  const std::vector<ValueId> learned = train::learned_values(graph);
  train::UnitPenalty result{.penalty = penalty, .strength = strength};
  for (const compress::Group& group : groups.groups) {
    auto& units = result.groups.emplace_back(group.size());
    for (size_t u = 0; u < units.size(); ++u) {
      for (const compress::Cell& cell : groups.units[group.begin + u].cells) {
        if (std::ranges::find(learned, cell.value) == learned.end()) continue;
        units[u].push_back({graph[cell.value].name, cell.axis, cell.index});
      }
    }
  }
  return result;
}

Result<Decided> learn_sparsely(const Means& means) {
  const ShrinkOptions& options = means.options;
  SHOAL_ASSIGN(const LoadedGraph loaded, means.network(1));
  SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(loaded.graph));
  const bool is_lasso = options.importance == Importance::kLasso;
  const double usual = is_lasso ? kLassoStrength : kHoyerStrength;
  fit::TrainingOptions recipe = options.recipe;
  recipe.epochs = epochs_before(options);
  // The dense control has not learned yet.
  if (options.teacher == Teacher::kControl) recipe.loss.distill = 0;
  SHOAL_ASSIGN(
      Trained trained,
      retrain(means.device, means.network, means.network, means.data, std::move(recipe),
              means.callbacks,
              penalty_on(loaded.graph, groups, is_lasso ? Penalty::kLasso : Penalty::kHoyer,
                         options.strength > 0 ? options.strength : usual)));
  Decided decided{.decision = {}, .weights = std::move(trained.weights)};
  SHOAL_ASSIGN(decided.decision,
               decide(means.device, trained.network, *means.data.held_out, options, means.table));
  return decided;
}

Status check(const ArrayExamples& examples) {
  for (const Tensor* array : {&examples.inputs, &examples.targets}) {
    if (!array->defined() || array->shape().rank() == 0 || array->count() == 0) {
      return invalid("examples and targets need a first axis, and something on it");
    }
  }
  if (examples.inputs.shape()[0] != examples.targets.shape()[0]) {
    return invalid("there are " + std::to_string(examples.inputs.shape()[0]) + " examples and " +
                   std::to_string(examples.targets.shape()[0]) + " targets");
  }
  const DType dtype = examples.targets.dtype();
  if (dtype == DType::kI64 || dtype == DType::kF32) return {};
  return invalid("targets are " + to_string(examples.targets.type()) +
                 ", should be labels (i64) or values (f32)");
}

Result<Tensor> answers_of(Device& device, const NetworkForBatch& network, const Tensor& inputs,
                          size_t batch) {
  SHOAL_ASSIGN(const LoadedGraph loaded, network(static_cast<int64_t>(batch)));
  SHOAL_TRY(check_input(loaded.graph, inputs, batch));
  SHOAL_ASSIGN(const Graph graph, passes::optimize(loaded.graph));
  SHOAL_ASSIGN(const auto executable, device.compile(graph));
  const TensorType& output = graph[graph.outputs()[0]].type;
  if (output.dtype != DType::kF32 || output.shape.count() % static_cast<int64_t>(batch) != 0) {
    return invalid("the output is " + to_string(output) + ", which is no answer to each of " +
                   std::to_string(batch) + " examples");
  }
  const size_t each = static_cast<size_t>(output.shape.count()) / batch;
  const size_t count = count_of(inputs);
  Tensor all({DType::kF32, {static_cast<int64_t>(count), static_cast<int64_t>(each)}});
  std::vector<Tensor> outputs(graph.outputs().size());
  for (size_t first = 0; first < count; first += batch) {
    std::vector<size_t> rows;
    for (size_t i = first; i < first + batch; ++i) rows.push_back(std::min(i, count - 1));
    const Tensor some = gather(inputs, rows);
    SHOAL_TRY(executable->run(std::span(&some, 1), outputs, {}));
    const std::span<const float> answers = std::as_const(outputs[0]).data<float>();
    const size_t fresh = std::min(batch, count - first);
    std::ranges::copy(answers.first(fresh * each),
                      all.data<float>().begin() + static_cast<ptrdiff_t>(first * each));
  }
  return all;
}

Result<double> score_of(const Tensor& answers, const Tensor& targets) {
  const bool labels = targets.dtype() == DType::kI64;
  const int64_t rows = labels ? targets.count() : targets.shape()[0];
  if (answers.count() % rows != 0 || (!labels && answers.count() != targets.count())) {
    return invalid("answers are " + to_string(answers.shape()) + ", targets " +
                   to_string(targets.shape()));
  }
  const auto count = static_cast<size_t>(rows);
  const size_t each = static_cast<size_t>(answers.count()) / count;
  if (labels) {
    const Tensor scores = answers.reshaped({rows, static_cast<int64_t>(each)});
    const size_t right = fit::count_correct(scores, targets.reshaped({rows}), count);
    return 100 * static_cast<double>(right) / static_cast<double>(rows);
  }
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    sum += cosine(answers.data<float>().subspan(i * each, each),
                  targets.data<float>().subspan(i * each, each));
  }
  return 100 * sum / static_cast<double>(rows);
}

Result<Weights> learn(Device& device, const NetworkForBatch& network, const ArrayExamples& examples,
                      const fit::TrainingOptions& recipe,
                      const std::optional<SparseLearning>& sparse,
                      const ArrayCallbacks& callbacks) {
  SHOAL_TRY(check(recipe));
  SHOAL_TRY(check(examples));
  const size_t count = count_of(examples.inputs), per_epoch = count / recipe.batch;
  if (per_epoch == 0)
    return invalid("the examples fill no batch of " + std::to_string(recipe.batch));
  SHOAL_ASSIGN(const LoadedGraph loaded, network(static_cast<int64_t>(recipe.batch)));
  SHOAL_TRY(check_input(loaded.graph, examples.inputs, recipe.batch));
  train::TrainerOptions options = fit::trainer_options(recipe);
  options.step.loss = loss_for(examples.targets);
  if (sparse) {
    SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(loaded.graph));
    options.unit_penalty = penalty_on(loaded.graph, groups, sparse->penalty, sparse->strength);
  }
  SHOAL_ASSIGN(train::Trainer trainer, train::Trainer::create(device, loaded.graph, options));
  const train::Schedule schedule = fit::schedule_of(recipe, per_epoch);
  ArrayStep at{.steps = recipe.epochs * static_cast<int64_t>(per_epoch)};
  std::vector<size_t> order;
  for (; at.step < at.steps; ++at.step) {
    if (callbacks.cancel != nullptr && callbacks.cancel->load()) {
      return Status(Code::kCancelled, "interrupted");
    }
    const auto step = static_cast<size_t>(at.step);
    if (step % per_epoch == 0) {
      order = shuffled(count, RandomStream(recipe.seed, kOrderStream).child(step / per_epoch));
    }
    const auto rows = std::span(order).subspan(step % per_epoch * recipe.batch, recipe.batch);
    SHOAL_ASSIGN(const Tensor targets, for_loss(gather(examples.targets, rows), loaded.graph));
    SHOAL_ASSIGN(at.loss, trainer.compute(gather(examples.inputs, rows), std::span(&targets, 1)));
    SHOAL_TRY(trainer.update(train::factor_at(schedule, at.step)));
    if (callbacks.on_step) callbacks.on_step(at);
  }
  return trainer.learned();
}

}  // namespace shoal::shrink
