// A run: decide, order, train, evaluate, write. shrink::decide() removes units in rounds that add
// up. Later rounds remove units of more worth, so the rounds give the order of units, and some of
// them are the widths.
#include "shoal/variants/catalog/make_variants.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "shoal/base/files/atomic_file.h"
#include "shoal/model/tensor/compare.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/prune/decision/decide.h"
#include "shoal/shrink/prune/decision/tidy.h"
#include "shoal/shrink/prune/latency/tabulate.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/shrink/retraining/retrain.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/variants/catalog/figures.h"
#include "shoal/variants/catalog/sandwich.h"

namespace shoal::catalog {
namespace {

using fit::NetworkForBatch;
using shrink::Removal;

constexpr double kSameAnswers = 1e-3;  // of two orders of the same sums, relative to the largest

// A network with its units in the order of the rounds in which they go, the last ones first.
NetworkForBatch in_order(NetworkForBatch network, std::vector<double> worth) {
  const auto nest = [worth = std::move(worth)](const Graph& graph) -> Result<Graph> {
    SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(graph));
    return compress::nested(graph, groups, worth);
  };
  return fit::changed(std::move(network), nest);
}

NetworkForBatch narrowed(NetworkForBatch widest, compress::Widths widths, OwnParts own) {
  const auto narrow = [widths = std::move(widths), own = std::move(own)](const Graph& graph) {
    return catalog::narrowed(graph, widths, own);
  };
  return fit::changed(std::move(widest), narrow);
}

// How many rounds each unit stays.
std::vector<double> rounds_survived(size_t units, const std::vector<Removal>& rounds) {
  std::vector<double> worth(units, static_cast<double>(rounds.size()));
  for (size_t round = rounds.size(); round-- > 0;) {
    for (size_t unit : rounds[round].units) worth[unit] = static_cast<double>(round);
  }
  return worth;
}

class Run {
 public:
  Run(const shrink::ShrinkDevices& devices, const Model& model, const fit::JudgedData& data,
      size_t count, const shrink::ShrinkOptions& options, const shrink::ShrinkCallbacks& callbacks)
      : devices_(devices),
        given_(shrink::as_given(model)),
        data_(data),
        count_(count),
        options_(options),
        callbacks_(callbacks) {}

  Result<VariantsResult> run() {
    const auto begin = std::chrono::steady_clock::now();
    SHOAL_TRY(choose_widths());
    SHOAL_TRY(check_order());
    SHOAL_ASSIGN(result_.top1_before, judged(given_, *data_.test));
    SHOAL_TRY(train());
    SHOAL_TRY(evaluate());
    SHOAL_TRY(write());
    result_.epochs = options_.recipe.epochs;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    result_.seconds = taken.count();
    return std::move(result_);
  }

 private:
  Status choose_widths() {
    SHOAL_ASSIGN(const LoadedGraph loaded, given_(1));
    std::optional<shrink::LatencyTable> table;
    if (options_.time || !options_.device.empty()) {
      SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(loaded.graph));
      SHOAL_ASSIGN(table, shrink::table_for(given_, groups, options_, devices_.runs));
    }
    SHOAL_ASSIGN(const shrink::Decision decision,
                 shrink::decide(devices_.learns, given_, *data_.data.held_out, options_,
                                table ? &*table : nullptr));
    const std::vector<Removal>& rounds = decision.choice.rounds;
    for (size_t i = 1; i < count_; ++i) {
      const double part = static_cast<double>(i) / static_cast<double>(count_ - 1);
      const double number = std::round(part * static_cast<double>(rounds.size()));
      const Removal& removal = rounds[std::max<size_t>(static_cast<size_t>(number), 1) - 1];
      SHOAL_ASSIGN(compress::Widths widths,
                   compress::widths_without(loaded.graph, decision.groups, removal.units));
      // Few units make rounds that remove no more than the one before.
      const bool known = widths.empty() || (!widths_.empty() && widths_.back() == widths);
      if (!known) widths_.push_back(std::move(widths));
    }
    if (widths_.empty()) return invalid("the target leaves the network as it is");
    widest_ = in_order(given_, rounds_survived(decision.groups.units.size(), rounds));
    return {};
  }

  // An operator may tell units of a group apart in a way that groups do not know of.
  Status check_order() const {
    const auto batch = static_cast<int64_t>(options_.recipe.batch);
    SHOAL_ASSIGN(const LoadedGraph before, given_(batch));
    SHOAL_ASSIGN(const LoadedGraph after, widest_(batch));
    const Batches batches(*data_.data.training,
                          fit::images_for(before.graph, options_.recipe.preprocess),
                          {.batch = options_.recipe.batch});
    if (batches.per_epoch() == 0) return invalid("there are no examples to learn from");
    SHOAL_ASSIGN(const Batch images, batches.at(0, 0));
    std::vector<std::vector<Tensor>> answers;
    for (const Graph* graph : {&before.graph, &after.graph}) {
      SHOAL_ASSIGN(const auto executable, devices_.learns.compile(*graph));
      answers.emplace_back(graph->outputs().size());
      SHOAL_TRY(executable->run(std::span(&images.images, 1), answers.back(), {}));
    }
    if (relative_error(answers[1], answers[0]) <= kSameAnswers) return {};
    return Status(Code::kUnsupported,
                  "the answers of the network depend on the order of its units");
  }

  Status train() {
    const fit::TrainingCallbacks callbacks{
        .on_step =
            [&](const fit::StepReport& step) {
              if (callbacks_.on_step) {
                callbacks_.on_step({"all variants", 0, 1, step, step.seconds_left});
              }
            },
        .on_note = callbacks_.on_note,
        .cancel = callbacks_.cancel};
    SHOAL_ASSIGN(SandwichResult trained, train_sandwich(devices_.learns, widest_, widths_,
                                                        data_.data, options_.recipe, callbacks));
    widest_ = shrink::without_subnormals(
        shrink::with_weights(std::move(widest_), std::move(trained.weights)));
    networks_ = {widest_};
    own_ = {{}};
    for (size_t i = 0; i < widths_.size(); ++i) {
      networks_.push_back(narrowed(widest_, widths_[i], trained.own[i]));
      own_.push_back(std::move(trained.own[i]));
    }
    return {};
  }

  Status evaluate() {
    std::vector<double> ms(networks_.size(), 0);
    if (options_.measure_seconds > 0) {
      SHOAL_ASSIGN(ms, shrink::measured_ms(devices_.runs, networks_, options_.measure_seconds));
    }
    for (size_t i = 0; i < networks_.size(); ++i) {
      Variant& variant = all_.emplace_back();
      variant.name = "v" + std::to_string(i);
      if (i > 0) variant.widths = widths_[i - 1];
      SHOAL_ASSIGN(variant.figures, figures_of(devices_, networks_[i], data_, options_.recipe));
      variant.figures.ms = ms[i];
      char line[128];
      std::snprintf(line, sizeof line, "%s: top-1 %.2f %%, %.3f M multiply-accumulates",
                    variant.name.c_str(), variant.figures.top1,
                    static_cast<double>(variant.figures.size.macs) / 1e6);
      if (callbacks_.on_note) callbacks_.on_note(line);
    }
    return {};
  }

  Result<double> judged(const NetworkForBatch& network, const Dataset& examples) const {
    return shrink::top1_of(devices_.learns, network, examples, options_.recipe);
  }

  Status write() {
    result_.catalog.variants = without_dominated(all_);
    std::vector<OwnParts> own;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (std::ranges::find(result_.catalog.variants, all_[i]) == result_.catalog.variants.end()) {
        result_.dominated.push_back(all_[i].name);
      } else {
        own.push_back(own_[i]);
      }
    }
    SHOAL_TRY(make_folder(options_.out));
    const std::filesystem::path largest = options_.out / "largest.onnx";
    SHOAL_TRY(fit::export_network(widest_, largest));
    SHOAL_TRY(write_catalog(options_.out, result_.catalog, own));
    std::error_code unknown;
    const auto size_of = [&](const std::filesystem::path& file) {
      return static_cast<int64_t>(std::filesystem::file_size(file, unknown));
    };
    result_.largest_bytes = size_of(largest);
    for (const char* file : {"largest.onnx", "own.safetensors", "index.json"}) {
      result_.folder_bytes += size_of(options_.out / file);
    }
    return {};
  }

  const shrink::ShrinkDevices devices_;
  const NetworkForBatch given_;
  const fit::JudgedData& data_;
  const size_t count_;
  const shrink::ShrinkOptions& options_;
  const shrink::ShrinkCallbacks& callbacks_;
  NetworkForBatch widest_;
  std::vector<compress::Widths> widths_;   // of the narrower ones, the narrowest last
  std::vector<NetworkForBatch> networks_;  // after they learned, the widest first
  std::vector<OwnParts> own_;              // as networks_
  std::vector<Variant> all_;               // as networks_
  VariantsResult result_;
};

}  // namespace

Result<VariantsResult> make_variants(const shrink::ShrinkDevices& devices, const Model& model,
                                     const fit::JudgedData& data, size_t count,
                                     const shrink::ShrinkOptions& options,
                                     const shrink::ShrinkCallbacks& callbacks) {
  constexpr size_t kMost = 9;  // decide() has eight rounds
  SHOAL_TRY(shrink::check(options));
  if (count < 2 || count > kMost) return invalid("there can be 2 to 9 variants");
  if (options.out.empty()) return invalid("variants need a folder");
  if (options.max_drop > 0 || options.int8 || options.controls || options.resume ||
      options.sensitivity || options.blocks > 0) {
    return invalid(
        "variants take no bound on the drop, int8, controls, resumed run, report or blocks that "
        "go");
  }
  if (shrink::epochs_before(options) > 0 || options.importance == shrink::Importance::kDepth) {
    return invalid("variants take a method that ranks units as they are, not " +
                   std::string(shrink::name_of(options.importance)));
  }
  if (model.has_random_weights()) {
    return invalid(model.name() + " has random weights: train it first");
  }
  return Run(devices, model, data, count, options, callbacks).run();
}

}  // namespace shoal::catalog
