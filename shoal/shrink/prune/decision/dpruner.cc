// D-Pruner [Huynh 2018], with one masking block per group of units. Each round of the decision
//
//   adds the blocks, lets them learn alone, then lets all learn,
//   counts on batches of training images how often each unit is masked,
//   and removes the units that are kept least, on the way to the target.
//
// The source removes units that are masked in 95 % of the images and stops when accuracy falls.
// Here a target and --max-drop decide. Blocks go on learning from round to round. Masks are 0 or 1,
// so nothing of them has to be folded into the weights.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "shoal/model/passes/passes.h"
#include "shoal/shrink/prune/decision/decide.h"
#include "shoal/shrink/retraining/masking_blocks.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/step/trainer/trainer.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::shrink {
namespace {

constexpr int kLoaders = 1;
constexpr size_t kAhead = 2;
constexpr size_t kCounted = 2000;      // images
constexpr double kBlocksAlone = 0.25;  // of the steps of a round
constexpr double kNeverMasked = 2;     // the worth of a unit without a block: more than any

class Dpruner {
 public:
  explicit Dpruner(const Means& means) : means_(means), recipe_(means.options.recipe) {
    recipe_.loss.distill = 0;  // labels alone count, as in worth_of()
  }

  Status load() {
    SHOAL_ASSIGN(network_, means_.network(static_cast<int64_t>(recipe_.batch)));
    SHOAL_ASSIGN(groups_, compress::find_groups(network_.graph));
    const auto prepare = fit::images_for(network_.graph, recipe_.preprocess);
    const int64_t classes = fit::classes_of(network_.graph);
    const Dataset& examples = *means_.data.training;
    batches_.emplace(examples, prepare, fit::training_batches(recipe_, classes));
    counted_.emplace(examples, prepare, fit::evaluation_batches(recipe_, classes));
    if (batches_->per_epoch() > 0) return {};
    return invalid("there are too few examples to fill a batch");
  }

  Result<std::vector<double>> worth(std::span<const size_t> gone, Round round) {
    const auto epochs = static_cast<size_t>(epochs_before(means_.options));
    const size_t all = epochs * batches_->per_epoch();
    // The steps of all rounds together, with the remainder of the division.
    const size_t steps =
        all * (round.number + 1) / round.rounds - all * round.number / round.rounds;
    const auto alone = static_cast<size_t>(kBlocksAlone * static_cast<double>(steps));
    if (means_.callbacks.on_note) {
      means_.callbacks.on_note("learns masks: " + std::to_string(round.number + 1) + " of " +
                               std::to_string(round.rounds));
    }
    SHOAL_TRY(learn(gone, alone, true));
    SHOAL_TRY(learn(gone, steps - alone, false));
    return count(gone);
  }

  // What the network itself has learned.
  Weights weights() const {
    Weights own;
    for (size_t i = 0; i < network_.graph.value_count(); ++i) {
      const Value& value = network_.graph[static_cast<ValueId>(i)];
      const auto position = value.constant ? learned_.find(value.name) : learned_.end();
      if (position != learned_.end()) own.insert(*position);
    }
    return own;
  }

 private:
  Result<WithBlocks> with_blocks(std::span<const size_t> gone, bool shows_masks) const {
    SHOAL_ASSIGN(WithBlocks result,
                 with_masking_blocks(network_.graph, groups_, gone,
                                     {.seed = recipe_.seed, .shows_masks = shows_masks}));
    SHOAL_ASSIGN(result.graph, train::with_constants(result.graph, learned_));
    return result;
  }

  Status learn(std::span<const size_t> gone, size_t steps, bool only_blocks) {
    if (steps == 0) return {};
    SHOAL_ASSIGN(const WithBlocks network, with_blocks(gone, false));
    train::TrainerOptions options = fit::trainer_options(recipe_);
    if (only_blocks) {
      if (network.groups.empty()) return {};
      options.step.frozen = [](std::string_view name) { return !name.starts_with(kMaskingBlock); };
    }
    SHOAL_ASSIGN(train::Trainer trainer,
                 train::Trainer::create(means_.device, network.graph, options));
    const size_t per_epoch = batches_->per_epoch();
    Prefetch prefetch(*batches_, position_ / per_epoch, position_ % per_epoch, kLoaders, kAhead);
    for (size_t i = 0; i < steps; ++i, ++position_) {
      const auto* cancel = means_.callbacks.cancel;
      if (cancel != nullptr && cancel->load()) return Status(Code::kCancelled, "interrupted");
      SHOAL_ASSIGN(const Batch batch, prefetch.next());
      SHOAL_TRY(trainer.step(batch.images, std::span(&batch.labels, 1)).status());
    }
    for (const auto& [name, tensor] : trainer.learned()) learned_[name] = tensor.clone();
    return {};
  }

  // The share of batches that keep each unit; among equal ones, the mean score decides.
  Result<std::vector<double>> count(std::span<const size_t> gone) {
    SHOAL_ASSIGN(const WithBlocks network, with_blocks(gone, true));
    SHOAL_ASSIGN(const Graph graph, passes::optimize(network.graph));
    SHOAL_ASSIGN(const auto executable, means_.device.compile(graph));
    std::vector<double> worth(groups_.units.size(), kNeverMasked);
    for (size_t group : network.groups) {
      const compress::Group& range = groups_.groups[group];
      std::fill_n(worth.begin() + static_cast<ptrdiff_t>(range.begin), range.size(), 0.0);
    }
    Prefetch prefetch(*counted_, 0, 0, kLoaders, kAhead);
    const size_t count =
        std::min(counted_->per_epoch(), (kCounted + recipe_.batch - 1) / recipe_.batch);
    std::vector<Tensor> outputs(graph.outputs().size());
    std::vector<double> kept(worth.size()), scores(worth.size());
    for (size_t i = 0; i < count; ++i) {
      SHOAL_ASSIGN(const Batch batch, prefetch.next());
      SHOAL_TRY(executable->run(std::span(&batch.images, 1), outputs, {}));
      for (size_t b = 0; b < network.groups.size(); ++b) {
        const compress::Group& range = groups_.groups[network.groups[b]];
        add(outputs[1 + 2 * b], std::span(kept).subspan(range.begin));
        add(outputs[2 + 2 * b], std::span(scores).subspan(range.begin));
      }
    }
    const auto all = static_cast<double>(count);
    for (size_t unit = 0; unit < worth.size(); ++unit) {
      worth[unit] += (kept[unit] + scores[unit] / (all + 1)) / all;
    }
    return worth;
  }

  static void add(const Tensor& values, std::span<double> sums) {
    const std::span<const float> all = values.data<float>();
    for (size_t i = 0; i < all.size(); ++i) sums[i] += double{all[i]};
  }

  const Means& means_;
  fit::TrainingOptions recipe_;
  LoadedGraph network_;  // for a batch
  compress::Groups groups_;
  std::optional<Batches> batches_, counted_;
  size_t position_ = 0;  // steps since the first
  Weights learned_;      // of the network and of the blocks
};

}  // namespace

Result<Decided> learn_masks(const Means& means) {
  Dpruner dpruner(means);
  SHOAL_TRY(dpruner.load());
  Decided decided;
  SHOAL_ASSIGN(decided.decision,
               decide(means.device, means.network, *means.data.held_out, means.options, means.table,
                      [&](std::span<const size_t> gone, Round round) {
                        return dpruner.worth(gone, round);
                      }));
  decided.weights = dpruner.weights();
  return decided;
}

}  // namespace shoal::shrink
