// A run, network by network. The dense control learns first: it may be the teacher of the others.
#include "shoal/shrink/shrink.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "shoal/compress/remove.h"
#include "shoal/shrink/decide.h"
#include "shoal/shrink/in_eight_bits.h"
#include "shoal/shrink/networks.h"
#include "shoal/shrink/retrain.h"
#include "shoal/shrink/steps.h"
#include "shoal/shrink/tidy.h"

namespace shoal::shrink {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The part of a network in a run.
struct Part {
  std::string_view name;
  NetworkForBatch network;
  int64_t macs = 0;  // the time it takes to learn follows them
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
    SHOAL_ASSIGN(result_.top1_removed, judged(parts_[kSmall].network));
    note_removal();
    for (size_t i = 0; i < parts_.size(); ++i) SHOAL_TRY(train(i));
    SHOAL_TRY(measure());
    if (!options_.out.empty()) SHOAL_TRY(fit::export_network(trained_[kSmall], options_.out));
    SHOAL_TRY(steps_->clear());
    result_.epochs = options_.recipe.epochs;
    result_.seconds = seconds_since(begin);
    return std::move(result_);
  }

 private:
  static constexpr size_t kDense = 0, kSmall = 1, kScratch = 2;  // and random removal

  Status decide_what_goes() {
    SHOAL_ASSIGN(const LoadedGraph one, given_(1));
    SHOAL_ASSIGN(steps_, Steps::open(options_, one.graph));
    SHOAL_ASSIGN(const Decision decision, decision_for(one.graph));
    const compress::Groups& groups = decision.groups;
    SHOAL_ASSIGN(result_.dense.size, compress::size_without(one.graph, groups, {}));
    SHOAL_ASSIGN(result_.small.size, compress::size_without(one.graph, groups, decision.units));
    result_.removed = removed_by(one.graph, decision);
    result_.refused = refused_by(one.graph, decision);
    const NetworkForBatch small = without(given_, decision.units);
    const int64_t macs = result_.small.size.macs;
    parts_ = {{"dense control", given_, result_.dense.size.macs}, {"smaller network", small, macs}};
    if (!options_.controls) return {};
    const uint64_t seed = options_.recipe.seed;
    parts_.push_back({"from scratch", with_fresh_weights(small, seed), macs});
    parts_.push_back(
        {"random removal", without(given_, drawn_instead(groups, decision.units, seed)), macs});
    return {};
  }

  // What a run that is resumed had decided already.
  Result<Decision> decision_for(const Graph& one) {
    if (steps_->choice()) {
      Decision known{.groups = {}, .units = *steps_->choice()};
      SHOAL_ASSIGN(known.groups, compress::find_groups(one));
      return known;
    }
    if (options_.resume) note("no run in " + options_.steps.string() + " yet: begins anew");
    SHOAL_ASSIGN(Decision fresh, decide(devices_.learns, given_, *data_.data.held_out, options_));
    SHOAL_TRY(steps_->keep_choice(fresh.units));
    return fresh;
  }

  // Who teaches the networks after the control.
  const NetworkForBatch& teacher() const {
    return options_.teacher == Teacher::kControl ? trained_[kDense] : given_;
  }

  Status train(size_t number) {
    fit::TrainingOptions recipe = options_.recipe;
    if (options_.teacher == Teacher::kControl && number == kDense) recipe.loss.distill = 0;
    std::error_code unknown;  // reading the file says more
    recipe.checkpoint = steps_->checkpoint(number);
    recipe.resume = std::filesystem::exists(recipe.checkpoint, unknown) || unknown;
    const fit::TrainingCallbacks callbacks{
        .on_step =
            [&](const fit::StepReport& step) {
              if (!callbacks_.on_step) return;
              callbacks_.on_step({parts_[number].name, number, parts_.size(), step,
                                  seconds_left(parts_, number, step, recipe.batch)});
            },
        .on_note = callbacks_.on_note,
        .cancel = callbacks_.cancel};
    const NetworkForBatch& taught_by = number == kDense ? given_ : teacher();
    auto trained =
        retrain(devices_.learns, parts_[number].network, taught_by, data_.data, recipe, callbacks);
    if (!trained.ok()) return trained.status().at(parts_[number].name);
    trained_.push_back(without_subnormals(trained->network));
    if (number == kSmall) SHOAL_TRY(tidy());
    double held_out_top1 = trained->held_out_top1;
    if (options_.int8 && number != kDense) SHOAL_TRY(quantize(number, held_out_top1));
    SHOAL_ASSIGN(const double top1, judged(trained_[number]));
    keep(number, top1, held_out_top1);
    char line[128];
    std::snprintf(line, sizeof line, "%.*s: top-1 %.2f %%",
                  static_cast<int>(parts_[number].name.size()), parts_[number].name.data(), top1);
    note(line);
    return {};
  }

  // What was learned may leave more than the target asked for without a use.
  Status tidy() {
    SHOAL_ASSIGN(Tidied tidied, shrink::tidied(devices_.learns, std::move(trained_[kSmall])));
    trained_[kSmall] = std::move(tidied.network);
    SHOAL_ASSIGN(const LoadedGraph one, trained_[kSmall](1));
    SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(one.graph));
    SHOAL_ASSIGN(result_.small.size, compress::size_without(one.graph, groups, {}));
    for (const GroupLeft& group : tidied.removed) lower(result_.removed, group);
    if (!tidied.removed.empty()) note("units that no answer depends on are removed, too");
    return {};
  }

  Status quantize(size_t number, double& held_out_top1) {
    NetworkForBatch& network = trained_[number];
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
    if (number != kSmall) return {};
    result_.int8 = InEightBits{
        top1_real, {choice.real.begin(), choice.real.end()}, compress::notes_of(choice)};
    return {};
  }

  void keep(size_t number, double top1, double held_out_top1) {
    if (number == kDense) {
      result_.dense.top1 = top1;
      result_.held_out_top1_control = held_out_top1;
    } else if (number == kSmall) {
      result_.small.top1 = top1;
      result_.held_out_top1 = held_out_top1;
    } else {
      (number == kScratch ? result_.top1_scratch : result_.top1_random) = top1;
    }
  }

  Status measure() {
    if (options_.measure_seconds == 0) return {};
    SHOAL_ASSIGN(
        const std::vector<double> ms,
        measured_ms(devices_.runs, {trained_[kDense], trained_[kSmall]}, options_.measure_seconds));
    result_.dense.ms = ms[0];
    result_.small.ms = ms[1];
    return {};
  }

  Result<double> judged(const NetworkForBatch& network) {
    return top1_of(devices_.learns, network, *data_.test, options_.recipe);
  }

  void note(const std::string& line) const {
    if (callbacks_.on_note) callbacks_.on_note(line);
  }

  void note_removal() const {
    char line[160];
    std::snprintf(
        line, sizeof line,
        "%.2f x fewer multiply-accumulates: top-1 %.2f %%, %.2f %% before it learns",
        static_cast<double>(result_.dense.size.macs) / static_cast<double>(result_.small.size.macs),
        result_.top1_before, result_.top1_removed);
    note(line);
  }

  const ShrinkDevices devices_;
  const NetworkForBatch given_;
  const fit::JudgedData& data_;
  const ShrinkOptions& options_;
  const ShrinkCallbacks& callbacks_;
  std::optional<Steps> steps_;
  std::vector<Part> parts_;
  std::vector<NetworkForBatch> trained_;  // in the order of parts_
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
