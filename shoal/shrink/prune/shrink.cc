// A run, network by network. The dense control learns first: it may be the teacher of the others.
#include "shoal/shrink/prune/shrink.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "shoal/base/timing/seconds_since.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/prune/decision/decide.h"
#include "shoal/shrink/prune/decision/depth.h"
#include "shoal/shrink/prune/decision/factor_layers.h"
#include "shoal/shrink/prune/decision/sensitivity.h"
#include "shoal/shrink/prune/decision/tidy.h"
#include "shoal/shrink/prune/latency/tabulate.h"
#include "shoal/shrink/prune/saved_steps.h"
#include "shoal/shrink/retraining/in_eight_bits.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/shrink/retraining/norms.h"
#include "shoal/shrink/retraining/retrain.h"

namespace shoal::shrink {
namespace {

using fit::Learner;
using Clock = std::chrono::steady_clock;

std::string two_digits(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", number);
  return text;
}

// The networks of a run. Their numbers are those of their checkpoints.
enum class Role : uint8_t { kDense, kSmall, kScratch, kRandom, kMilder };

bool is_result(Role role) { return role == Role::kSmall || role == Role::kMilder; }

// Whether the size of a file in 8 bits is a target.
bool counts_bytes_of_int8(const ShrinkOptions& options) {
  const compress::Target& sizes = options.time ? options.time->besides : options.target;
  return options.int8 && sizes.bytes != 1;
}

struct Part {
  Role role;
  std::string_view name;
  Learner learner;
  int64_t macs = 0;         // the time it takes to learn follows them
  StageChannels gone = {};  // of what a teacher computes
};

struct Smaller {
  Learner learner;
  std::vector<GroupLeft> removed;
};

// What there is once residual blocks were left out, and what is to be done with that.
struct Left {
  NetworkForBatch network;
  Learner learner;
  ShrinkOptions options;
  std::vector<size_t> blocks;  // that are gone
};

// The networks after `number` take as long as this one would as a whole, by their work.
double seconds_left(const std::vector<Part>& parts, size_t number, const fit::StepReport& step,
                    size_t batch) {
  const double images = static_cast<double>(step.epochs) *
                        static_cast<double>(step.steps_per_epoch) * static_cast<double>(batch);
  const double whole = step.images_per_second > 0 ? images / step.images_per_second : 0;
  double left = step.seconds_left;
  for (size_t i = number + 1; i < parts.size(); ++i) {
    left += whole * static_cast<double>(parts[i].macs) / static_cast<double>(parts[number].macs);
  }
  return left;
}

class Run {
 public:
  Run(const ShrinkDevices& devices, const Model& model, const fit::JudgedData& data,
      const ShrinkOptions& options, const ShrinkCallbacks& callbacks)
      : devices_(devices),
        given_(as_given(model)),
        data_(data),
        options_(options),
        callbacks_(callbacks) {}

  Result<ShrinkResult> run() {
    const auto begin = Clock::now();
    SHOAL_TRY(decide_what_goes());
    result_.choosing_seconds = seconds_since(begin);
    if (callbacks_.cancel != nullptr && callbacks_.cancel->load()) {
      return Status(Code::kCancelled, "interrupted");
    }
    SHOAL_ASSIGN(result_.top1_before, judged(given_));
    SHOAL_TRY(evaluate_removal());
    for (size_t i = 0; i < parts_.size(); ++i) SHOAL_TRY(train(i));
    SHOAL_TRY(look_at_groups());
    SHOAL_TRY(measure());
    const auto style =
        counts_bytes_of_int8(options_) ? onnx::Style::kCompact : onnx::Style::kReadable;
    if (!options_.out.empty()) SHOAL_TRY(fit::export_network(small_, options_.out, {}, style));
    SHOAL_TRY(steps_->clear());
    result_.epochs = options_.recipe.epochs;
    result_.seconds = seconds_since(begin);
    return std::move(result_);
  }

 private:
  Status decide_what_goes() {
    SHOAL_ASSIGN(const LoadedGraph loaded, given_(1));
    SHOAL_ASSIGN(steps_, Steps::open(options_, loaded.graph));
    learner_ = {given_};
    if (options_.norms) {
      SHOAL_ASSIGN(learner_,
                   fit::with_norms(devices_.learns, given_, *data_.data.training, options_.recipe));
    }
    SHOAL_ASSIGN(result_.dense.size, compress::size_without(loaded.graph, {}, {}));
    SHOAL_TRY(leave_out_blocks());
    SHOAL_TRY(count_bytes_of_file());
    SHOAL_ASSIGN(const LoadedGraph left, left_.network(1));
    SHOAL_ASSIGN(decision_, decision_for(left.graph));
    result_.refused = refused_by(left.graph, decision_.groups);
    parts_ = {{Role::kDense, "dense control", learner_, result_.dense.size.macs}};
    return plan_removal(Role::kSmall, "smaller network", decision_.choice.rounds.back());
  }

  // What methods then take for the given network.
  Status leave_out_blocks() {
    left_ = {given_, learner_, options_, {}};
    if (options_.blocks == 0) return {};
    left_.options.target = compress::in_numbers(options_.target, result_.dense.size);
    if (steps_->choice()) {
      left_.blocks = steps_->choice()->blocks;
    } else {
      SHOAL_ASSIGN(left_.blocks, least_missed_blocks(means_for(given_), options_.blocks));
    }
    left_.network = without_blocks(given_, left_.blocks);
    left_.learner.network = without_blocks(learner_.network, left_.blocks);
    return {};
  }

  // Sizes to be met, by what blocks leave.
  compress::Target& target_besides_time() {
    return left_.options.time ? left_.options.time->besides : left_.options.target;
  }

  // Bytes are those of the file, and in 8 bits that is another one than units go from.
  Status count_bytes_of_file() {
    if (!counts_bytes_of_int8(options_)) return {};
    most_bytes_ = compress::in_numbers(target_besides_time(), result_.dense.size).bytes;
    SHOAL_ASSIGN(target_besides_time().bytes, real_bytes_for(left_.network, most_bytes_));
    return {};
  }

  // Factors are more nodes than the layers that they stand for, and their number is unknown before
  // // they are chosen. Returns whether the file is not too long, and else asks for less.
  Result<bool> fits_in_bytes(const Removal& removal) {
    if (!counts_bytes_of_int8(options_) || !factorises()) return true;
    SHOAL_ASSIGN(const InFactors result,
                 in_factors(devices_.learns, left_.network, *data_.data.training, left_.options,
                            removal.ranks));
    SHOAL_ASSIGN(const double bytes, bytes_in_eight_bits(result.network));
    if (bytes <= most_bytes_) return true;
    SHOAL_ASSIGN(const LoadedGraph one, result.network(1));
    SHOAL_ASSIGN(const compress::Size size, compress::size_without(one.graph, {}, {}));
    double& target = target_besides_time().bytes;
    target =
        std::min(target, static_cast<double>(size.bytes)) - kBytesForOne * (bytes - most_bytes_);
    return false;
  }

  Means means_for(const NetworkForBatch& network, const LatencyTable* table = nullptr) const {
    const fit::TrainingCallbacks callbacks{
        .on_step =
            [this](const fit::StepReport& step) {
              if (callbacks_.on_step) {
                callbacks_.on_step({"what goes", 0, 1, step, step.seconds_left});
              }
            },
        .on_note = callbacks_.on_note,
        .cancel = callbacks_.cancel};
    return {.device = devices_.learns,
            .runs = devices_.runs,
            .network = network,
            .data = data_.data,
            .options = left_.options,
            .table = table,
            .callbacks = callbacks};
  }

  // A network without the norms that it was given for learning.
  static NetworkForBatch as_written(NetworkForBatch network, const Learner& learner) {
    return learner.has_new_norms ? fit::with_folded_norms(std::move(network)) : network;
  }

  bool drops_blocks() const { return options_.importance == Importance::kDepth; }
  bool factorises() const { return shrink::factorises(options_.importance); }
  // What is left after D-Pruner learned without the rest: with it, the network gives nothing that
  // would be worth imitating.
  bool refits() const { return options_.refit && options_.importance != Importance::kDpruner; }

  // What a run that is resumed had decided already.
  Result<Decision> decision_for(const Graph& graph) {
    if (steps_->choice()) {
      Decision known{.groups = {}, .choice = *steps_->choice()};
      if (!drops_blocks() && !factorises()) {
        SHOAL_ASSIGN(known.groups, compress::find_groups(graph));
      }
      return known;
    }
    if (options_.resume) note("no run in " + options_.steps.string() + " yet: begins anew");
    std::optional<LatencyTable> table;
    if ((options_.time || !options_.device.empty()) && !factorises()) {
      note("looks how long layers take on " +
           (options_.device.empty() ? "this machine" : options_.device));
      SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(graph));
      SHOAL_ASSIGN(table, table_for(given_, groups, options_, devices_.runs));
    }
    const bool learns = epochs_before(options_) > 0;
    Decided fresh;
    for (bool fits = false; !fits;) {
      SHOAL_ASSIGN(fresh, decide_by_method(means_for(learns ? left_.learner.network : left_.network,
                                                     table ? &*table : nullptr)));
      SHOAL_ASSIGN(fits, fits_in_bytes(fresh.decision.choice.rounds.back()));
    }
    fresh.decision.choice.blocks = left_.blocks;
    if (learns) {  // the units have the same numbers in the network as it was given
      SHOAL_ASSIGN(fresh.decision.groups, compress::find_groups(graph));
    }
    SHOAL_TRY(steps_->keep_choice(fresh.decision.choice, fresh.weights));
    return std::move(fresh.decision);
  }

  // A network without units or blocks.
  Result<Learner> remaining(const Learner& whole, const std::vector<size_t>& units) const {
    if (drops_blocks()) return Learner{without_blocks(whole.network, units), whole.has_new_norms};
    if (!refits()) return Learner{without(whole.network, units), whole.has_new_norms};
    SHOAL_ASSIGN(RefittedLearner refitted, shrink::refitted(devices_.learns, whole, units,
                                                            *data_.data.training, options_.recipe));
    for (const std::string& layer : refitted.left) note("not refitted: " + layer);
    return std::move(refitted.learner);
  }

  Result<Smaller> without_units(const Graph& one, const std::vector<size_t>& units) const {
    const Weights& learned = steps_->weights();
    Learner whole = left_.learner;
    if (!learned.empty()) whole.network = with_weights(std::move(whole.network), learned);
    SHOAL_ASSIGN(Learner left, remaining(whole, units));
    return Smaller{std::move(left), drops_blocks() ? removed_blocks(one, units)
                                                   : removed_by(one, decision_.groups, units)};
  }

  // Norms are put behind factors, not kept behind layers: each factor is a layer that learns.
  Result<Smaller> with_ranks(const std::vector<compress::Ranks>& ranks) {
    const Dataset& examples = *data_.data.training;
    SHOAL_ASSIGN(InFactors made,
                 in_factors(devices_.learns, left_.network, examples, left_.options, ranks));
    result_.refused = std::move(made.refused);
    Smaller smaller{{std::move(made.network)}, std::move(made.removed)};
    if (options_.norms) {
      SHOAL_ASSIGN(smaller.learner, fit::with_norms(devices_.learns, smaller.learner.network,
                                                    examples, options_.recipe));
    }
    return smaller;
  }

  // The next networks to learn: without the units of a removal, and its controls.
  Status plan_removal(Role role, std::string_view name, const Removal& removal) {
    SHOAL_ASSIGN(const LoadedGraph one, left_.network(1));
    SHOAL_ASSIGN(Smaller smaller, factorises() ? with_ranks(removal.ranks)
                                               : without_units(one.graph, removal.units));
    const Learner& small = smaller.learner;
    SHOAL_ASSIGN(const LoadedGraph left, as_written(small.network, small)(1));
    SHOAL_ASSIGN(result_.small.size, compress::size_without(left.graph, {}, {}));
    SHOAL_ASSIGN(const LoadedGraph given, given_(1));
    result_.removed = removed_blocks(given.graph, left_.blocks);
    result_.removed.insert(result_.removed.end(), smaller.removed.begin(), smaller.removed.end());
    result_.ms_predicted = removal.ms;
    result_.ms_predicted_before = decision_.choice.before_ms;
    const int64_t macs = result_.small.size.macs;
    const auto gone = [&](const std::vector<size_t>& units) {
      const bool loses_units = !drops_blocks() && !factorises();
      return loses_units ? channels_of(one.graph, decision_.groups, units) : StageChannels();
    };
    parts_.push_back({role, name, small, macs, gone(removal.units)});
    if (!options_.controls) return {};
    const uint64_t seed = options_.recipe.seed;
    parts_.push_back({Role::kScratch,
                      "from scratch",
                      {with_fresh_weights(small.network, seed), small.has_new_norms},
                      macs,
                      gone(removal.units)});
    if (factorises()) return {};  // no unit went that another could go for
    const std::vector<size_t> drawn = drops_blocks()
                                          ? drawn_blocks(one.graph, removal.units.size(), seed)
                                          : drawn_instead(decision_.groups, removal.units, seed);
    SHOAL_ASSIGN(Learner random, remaining(left_.learner, drawn));
    parts_.push_back({Role::kRandom, "random removal", std::move(random), macs, gone(drawn)});
    return {};
  }

  // Who teaches the networks after the control.
  const NetworkForBatch& teacher() const {
    return options_.teacher == Teacher::kControl ? dense_ : given_;
  }

  Status train(size_t number) {
    const Part part = parts_[number];
    const bool is_dense = part.role == Role::kDense;
    fit::TrainingOptions recipe = options_.recipe;
    if (options_.teacher == Teacher::kControl && is_dense) recipe.loss.distill = 0;
    if (recipe.loss.distill > 0) recipe.distill_features = options_.distill_features;
    // What it learned before anything went counts: all networks see as many images.
    if (is_result(part.role)) recipe.epochs -= epochs_before(options_);
    std::error_code unknown;  // reading the file says more
    recipe.checkpoint = steps_->checkpoint(static_cast<size_t>(part.role));
    recipe.resume = std::filesystem::exists(recipe.checkpoint, unknown) || unknown;
    const fit::TrainingCallbacks callbacks{
        .on_step =
            [&](const fit::StepReport& step) {
              if (!callbacks_.on_step) return;
              callbacks_.on_step({part.name, number, parts_.size(), step,
                                  seconds_left(parts_, number, step, recipe.batch)});
            },
        .on_note = callbacks_.on_note,
        .cancel = callbacks_.cancel};
    NetworkForBatch taught_by = is_dense ? given_ : teacher();
    if (recipe.distill_features > 0) taught_by = with_features(std::move(taught_by), part.gone);
    auto trained =
        retrain(devices_.learns, part.learner.network, taught_by, data_.data, recipe, callbacks);
    if (!trained.ok()) return trained.status().at(part.name);
    return keep(number, without_subnormals(as_written(trained->network, part.learner)),
                trained->held_out_top1);
  }

  // Evaluates a trained network, and keeps it.
  Status keep(size_t number, NetworkForBatch network, double held_out_top1) {
    const Role role = parts_[number].role;
    const bool is_result = shrink::is_result(role);
    if (is_result) SHOAL_TRY(tidy(network));
    if (options_.int8 && role != Role::kDense) {
      SHOAL_TRY(quantize(network, is_result, held_out_top1));
    }
    SHOAL_ASSIGN(const double top1, judged(network));
    note(std::string(parts_[number].name) + ": top-1 " + two_digits(top1) + " %");
    if (role == Role::kDense) {
      dense_ = std::move(network);
      result_.dense.top1 = top1;
      result_.held_out_top1_control = held_out_top1;
    } else if (is_result) {
      small_ = std::move(network);
      result_.small.top1 = top1;
      result_.held_out_top1 = held_out_top1;
      return hold_to_bound(number);
    } else {
      (role == Role::kScratch ? result_.top1_scratch : result_.top1_random) = top1;
    }
    return {};
  }

  // What was learned may leave more than the target asked for without a use.
  Status tidy(NetworkForBatch& network) {
    SHOAL_ASSIGN(Tidied tidied, shrink::tidied(devices_.learns, std::move(network)));
    network = std::move(tidied.network);
    SHOAL_ASSIGN(const LoadedGraph one, network(1));
    SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(one.graph));
    SHOAL_ASSIGN(result_.small.size, compress::size_without(one.graph, groups, {}));
    for (const GroupLeft& group : tidied.removed) lower(result_.removed, group);
    if (!tidied.removed.empty()) note("units that no answer depends on are removed, too");
    return {};
  }

  Status quantize(NetworkForBatch& network, bool is_result, double& held_out_top1) {
    SHOAL_ASSIGN(const double top1_real, judged(network));
    const auto chosen = [&] {
      return int8_for(devices_.learns, network, *data_.data.training, options_.recipe);
    };
    if (options_.int8_epochs > 0) {
      note("learns to be rounded");
      SHOAL_ASSIGN(const compress::Int8Choice first, chosen());
      SHOAL_ASSIGN(network,
                   used_to_rounding(devices_.learns, network, first, data_.data, options_.recipe,
                                    options_.int8_epochs, {.cancel = callbacks_.cancel}));
    }
    SHOAL_ASSIGN(const compress::Int8Choice choice, chosen());
    network = in_eight_bits(std::move(network), choice);
    SHOAL_ASSIGN(held_out_top1,
                 top1_of(devices_.learns, network, *data_.data.held_out, options_.recipe));
    if (!is_result) return {};
    result_.int8 = InEightBits{
        top1_real, {choice.real.begin(), choice.real.end()}, compress::notes_of(choice)};
    return {};
  }

  // Test examples only refuse: how much less to remove, held-out ones say. After a second refusal
  // the dense control is the best that is known to keep to the bound.
  Status hold_to_bound(size_t number) {
    const double drop = result_.dense.top1 - result_.small.top1;
    if (options_.max_drop == 0 || drop <= options_.max_drop) return {};
    result_.missed.push_back(result_.small);
    missed_.push_back(small_);
    const double seen = result_.held_out_top1_control - result_.held_out_top1;
    const Removal* less = parts_[number].role == Role::kMilder
                              ? nullptr
                              : milder(decision_.choice, seen, options_.max_drop);
    parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(number) + 1, parts_.end());  // controls
    note(two_digits(drop) + " points are lost, not " + two_digits(options_.max_drop) +
         (less == nullptr ? ": the dense control is the result" : ": removes less"));
    if (less == nullptr) return take_dense();
    SHOAL_TRY(plan_removal(Role::kMilder, "milder removal", *less));
    return evaluate_removal();
  }

  Status take_dense() {
    small_ = dense_;
    result_.removed.clear();
    result_.int8.reset();
    result_.ms_predicted = result_.ms_predicted_before;
    SHOAL_TRY(tidy(small_));
    SHOAL_ASSIGN(result_.small.top1, judged(small_));
    result_.held_out_top1 = result_.held_out_top1_control;
    return {};
  }

  // Last, so that a run that is resumed does it once.
  Status look_at_groups() {
    if (!options_.sensitivity) return {};
    note("looks what each group of units is to the accuracy");
    const auto begin = Clock::now();
    SHOAL_ASSIGN(result_.sensitivity, sensitivity_of(devices_.learns, given_, data_.data.held_out,
                                                     options_, callbacks_.cancel));
    result_.sensitivity->seconds = seconds_since(begin);
    return {};
  }

  Status measure() {
    if (options_.measure_seconds == 0) return {};
    std::vector<NetworkForBatch> networks = {dense_, small_};
    networks.insert(networks.end(), missed_.begin(), missed_.end());
    SHOAL_ASSIGN(const std::vector<double> ms,
                 measured_ms(devices_.runs, networks, options_.measure_seconds));
    result_.dense.ms = ms[0];
    result_.small.ms = ms[1];
    for (size_t i = 0; i < missed_.size(); ++i) result_.missed[i].ms = ms[i + 2];
    return {};
  }

  Result<double> judged(const NetworkForBatch& network) {
    return top1_of(devices_.learns, network, *data_.test, options_.recipe);
  }

  // The last removal that was planned, before it learns.
  Status evaluate_removal() {
    const auto removal = std::ranges::find_if(
        parts_.rbegin(), parts_.rend(), [](const Part& part) { return is_result(part.role); });
    SHOAL_ASSIGN(result_.top1_removed, judged(removal->learner.network));
    char line[160];
    std::snprintf(
        line, sizeof line,
        "%.2f x fewer multiply-accumulates: top-1 %.2f %%, %.2f %% before it learns",
        static_cast<double>(result_.dense.size.macs) / static_cast<double>(result_.small.size.macs),
        result_.top1_before, result_.top1_removed);
    note(line);
    return {};
  }

  void note(const std::string& line) const {
    if (callbacks_.on_note) callbacks_.on_note(line);
  }

  const ShrinkDevices devices_;
  const NetworkForBatch given_;
  const fit::JudgedData& data_;
  const ShrinkOptions& options_;
  const ShrinkCallbacks& callbacks_;
  std::optional<Steps> steps_;
  Decision decision_;
  double most_bytes_ = 0;  // of the file in 8 bits, if these are a target
  Learner learner_;        // the network as it was given
  Left left_;
  std::vector<Part> parts_;
  NetworkForBatch dense_, small_;        // after they learned
  std::vector<NetworkForBatch> missed_;  // as result_.missed
  ShrinkResult result_;
};

}  // namespace

Result<ShrinkResult> shrink(const ShrinkDevices& devices, const Model& model,
                            const fit::JudgedData& data, const ShrinkOptions& options,
                            const ShrinkCallbacks& callbacks) {
  SHOAL_TRY(check(options));
  if (model.has_random_weights()) {
    return invalid(model.name() + " has random weights: train it first");
  }
  return Run(devices, model, data, options, callbacks).run();
}

}  // namespace shoal::shrink
