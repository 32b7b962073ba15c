#include "shoal/variants/catalog/sandwich.h"

#include <chrono>
#include <utility>

#include "shoal/base/math/random.h"
#include "shoal/engine/run/scores.h"
#include "shoal/shrink/compress/units/narrowing.h"
#include "shoal/shrink/exits/network/stages.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/step/graph/step_graph.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::catalog {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kWidthStream = 0x77696474;  // "widt": a stream that nothing else draws from
constexpr size_t kAhead = 4;

// Adds to the elements of a tensor at these indices of each axis.
void add_at(const Tensor& part, const Remainder::Axes& indices, Tensor& whole) {
  const Shape& shape = whole.shape();
  const auto from = part.data<float>();
  const auto to = whole.data<float>();
  const size_t last = indices.size() - 1;
  std::vector<size_t> at(indices.size(), 0);
  for (size_t begin = 0; begin < from.size(); begin += indices[last].size()) {
    int64_t row = 0;
    for (size_t d = 0; d < last; ++d) row = (row + indices[d][at[d]]) * shape[d + 1];
    for (size_t i = 0; i < indices[last].size(); ++i) {
      to[static_cast<size_t>(row + indices[last][i])] += from[begin + i];
    }
    for (size_t d = last; d-- > 0;) {
      if (++at[d] < indices[d].size()) break;
      at[d] = 0;
    }
  }
}

// Training needs scores, not probabilities: the widest teaches by them.
Result<Graph> scores_only(const Graph& network) {
  const ValueId scores = train::scores_of(network);
  return exits::with_outputs(network, std::span(&scores, 1));
}

struct Narrow {
  train::Trainer trainer;
  std::map<std::string, Remainder::Axes> shared;  // what it has of shared weights, by name
};

class Sandwich {
 public:
  // `teaches`: narrower networks learn from the answers of the widest, too.
  Sandwich(train::Trainer widest, std::vector<Narrow> narrower, bool teaches, uint64_t seed)
      : widest_(std::move(widest)), narrower_(std::move(narrower)), teaches_(teaches), seed_(seed) {
    for (size_t i = 0; i < widest_.parameters().size(); ++i) places_[widest_.parameters()[i]] = i;
  }

  Result<float> step(const Batch& batch, uint64_t number, double factor) {
    SHOAL_ASSIGN(const float loss, widest_.compute(batch.images, std::span(&batch.labels, 1)));
    SHOAL_TRY(learn(narrower_.back(), batch, factor));
    if (narrower_.size() > 1) {
      const RandomStream random(seed_, kWidthStream);
      SHOAL_TRY(learn(narrower_[random.below(narrower_.size() - 1, number)], batch, factor));
    }
    SHOAL_TRY(widest_.update(factor));
    return loss;
  }

  const Tensor& scores() const { return widest_.scores(); }

  SandwichResult take() const {
    SandwichResult result;
    for (const auto& [name, tensor] : widest_.learned()) result.weights[name] = tensor.clone();
    for (const Narrow& narrow : narrower_) {
      OwnParts& own = result.own.emplace_back();
      for (const auto& [name, tensor] : narrow.trainer.learned()) {
        if (!narrow.shared.contains(name)) own[name] = tensor.clone();
      }
    }
    return result;
  }

 private:
  // Its own parts learn at once; the gradients of shared weights go to the widest. What its update
  // does to its copy of shared weights is forgotten in its next step.
  Status learn(Narrow& narrow, const Batch& batch, double factor) {
    train::Trainer& trainer = narrow.trainer;
    std::map<std::string, Tensor> weights = trainer.learned();
    for (const auto& [name, axes] : narrow.shared) {
      weights[name] = take_from(name, axes);
    }
    SHOAL_TRY(trainer.restore_learned(weights));
    std::vector<Tensor> targets = {batch.labels};
    if (teaches_) targets.push_back(widest_.scores());
    SHOAL_TRY(trainer.compute(batch.images, targets).status());
    for (size_t i = 0; i < trainer.parameters().size(); ++i) {
      const auto shared = narrow.shared.find(trainer.parameters()[i]);
      if (shared == narrow.shared.end()) continue;
      add_at(trainer.gradients()[i], shared->second,
             widest_.gradients()[places_.at(shared->first)]);
    }
    return trainer.update(factor);
  }

  Tensor take_from(const std::string& name, const Remainder::Axes& axes) const {
    return shoal::take(widest_.weights()[places_.at(name)], axes);
  }

  train::Trainer widest_;
  std::vector<Narrow> narrower_;
  bool teaches_;
  uint64_t seed_;
  std::map<std::string, size_t> places_;  // of the parameters of the widest
};

// A narrower network, and which slices of shared weights it has.
Result<Narrow> make_narrow(Device& device, const Graph& widest, const compress::Widths& widths,
                           const train::Trainer& shares, const train::TrainerOptions& options) {
  SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(widest));
  SHOAL_ASSIGN(const std::vector<size_t> units, compress::units_beyond(widest, groups, widths));
  SHOAL_ASSIGN(const Graph narrow, narrowed(widest, widths, {}));
  SHOAL_ASSIGN(train::Trainer trainer, train::Trainer::create(device, narrow, options));
  compress::Narrowing narrowing(widest);
  for (size_t unit : units) narrowing.drop(groups.units[unit]);
  std::map<std::string, ValueId> ids;
  for (size_t i = 0; i < widest.value_count(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (widest[id].constant) ids[widest[id].name] = id;
  }
  std::map<std::string, Remainder::Axes> shared;
  for (size_t i = 0; i < shares.parameters().size(); ++i) {
    const std::string& name = shares.parameters()[i];
    if (shares.weights()[i].shape().rank() < 2) continue;
    shared[name] = narrowing.left(ids.at(name));
  }
  return Narrow{std::move(trainer), std::move(shared)};
}

Result<Sandwich> make_sandwich(Device& device, const Graph& network,
                               const std::vector<compress::Widths>& narrower,
                               const fit::TrainingOptions& recipe) {
  const train::TrainerOptions options = fit::trainer_options(recipe);
  train::TrainerOptions alone = options;
  alone.step.loss.distill = 0;
  SHOAL_ASSIGN(train::Trainer trainer, train::Trainer::create(device, network, alone));
  std::vector<Narrow> all;
  for (const compress::Widths& widths : narrower) {
    SHOAL_ASSIGN(Narrow narrow, make_narrow(device, network, widths, trainer, options));
    all.push_back(std::move(narrow));
  }
  return Sandwich(std::move(trainer), std::move(all), recipe.loss.distill > 0, recipe.seed);
}

}  // namespace

Result<SandwichResult> train_sandwich(Device& device, const fit::NetworkForBatch& widest,
                                      const std::vector<compress::Widths>& narrower,
                                      const fit::TrainingData& data,
                                      const fit::TrainingOptions& recipe,
                                      const fit::TrainingCallbacks& callbacks) {
  SHOAL_ASSIGN(const LoadedGraph loaded, widest(static_cast<int64_t>(recipe.batch)));
  SHOAL_ASSIGN(const Graph network, scores_only(loaded.graph));
  SHOAL_ASSIGN(Sandwich sandwich, make_sandwich(device, network, narrower, recipe));
  const Batches batches(*data.training, fit::images_for(network, recipe.preprocess),
                        fit::training_batches(recipe, fit::classes_of(network)));
  const size_t per_epoch = batches.per_epoch();
  if (per_epoch == 0) return invalid("there are too few examples to fill a batch");
  const train::Schedule schedule = fit::schedule_of(recipe, per_epoch);
  Prefetch prefetch(batches, 0, 0, recipe.loaders, kAhead);
  fit::TrainingProgress progress;
  const auto begin = Clock::now();
  const auto steps = static_cast<uint64_t>(recipe.epochs) * per_epoch;
  for (uint64_t number = 0; number < steps; ++number) {
    if (callbacks.cancel != nullptr && callbacks.cancel->load()) {
      return Status(Code::kCancelled, "interrupted");
    }
    SHOAL_ASSIGN(const Batch batch, prefetch.next());
    const auto loss =
        sandwich.step(batch, number, train::factor_at(schedule, static_cast<int64_t>(number)));
    if (!loss.ok()) return loss.status().at("step " + std::to_string(number + 1));
    progress.add_step(double{*loss},
                      fit::count_correct(sandwich.scores(), batch.labels, recipe.batch));
    const std::chrono::duration<double> taken = Clock::now() - begin;
    const double speed = static_cast<double>((number + 1) * recipe.batch) / taken.count();
    const auto left = static_cast<double>((steps - number - 1) * recipe.batch);
    if (callbacks.on_step) {
      callbacks.on_step({.progress = progress,
                         .steps_per_epoch = per_epoch,
                         .epochs = recipe.epochs,
                         .loss = progress.mean_loss(),
                         .top1 = progress.top1(recipe.batch),
                         .images_per_second = speed,
                         .seconds_left = left / speed});
    }
    if (progress.step == per_epoch) progress.end_epoch(recipe.batch, 0, 0);
  }
  return sandwich.take();
}

}  // namespace shoal::catalog
