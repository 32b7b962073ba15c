// A model for several devices: see fit_cluster.h.
#include "shoal/fit_cluster/fit_cluster.h"

#include <algorithm>
#include <map>
#include <utility>

#include "shoal/compress/calibration.h"
#include "shoal/fit/network.h"
#include "shoal/fit_cluster/other_networks.h"
#include "shoal/passes/passes.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/search/plan_recipe.h"
#include "shoal/plan/search/planner.h"
#include "shoal/shrink/retrain.h"

namespace shoal::fit_cluster {
namespace {

using plan::WireFormat;

// The error that rounded messages may have, by the bound that the planner adds up. It is far from
// what they do to an answer, which is measured.
constexpr double kAllowedError = 1;
constexpr size_t kRangeExamples = 32;  // that the ranges of 8-bit messages come from

class Fit {
 public:
  Fit(const shrink::ShrinkDevices& devices, const Model& model, const fit::JudgedData& data,
      const FitOptions& options, const shrink::ShrinkCallbacks& callbacks)
      : devices_(devices), model_(model), data_(data), options_(options), callbacks_(callbacks) {}

  Result<FitResult> run() {
    SHOAL_TRY(check(options_));
    SHOAL_ASSIGN(cluster_, plan::find_cluster(options_.cluster));
    SHOAL_ASSIGN(const LoadedGraph given, fit::load_for_batch(model_, 1));
    SHOAL_ASSIGN(graph_, passes::optimize(given.graph));
    for (const Node& node : graph_.nodes()) macs_ += macs(graph_, node);
    SHOAL_TRY(try_plan());
    if (tries(Way::kMessages)) SHOAL_TRY(try_messages(WireFormat::kF16));
    if (tries(Way::kMessages)) SHOAL_TRY(try_messages(WireFormat::kI8));
    if (result_.met()) SHOAL_TRY(fit::export_network(shrink::as_given(model_), options_.out));
    if (tries(Way::kSmaller)) SHOAL_TRY(try_network(Way::kSmaller, smaller_network));
    if (tries(Way::kClusters)) SHOAL_TRY(try_network(Way::kClusters, network_of_clusters));
    if (tries(Way::kBranches)) SHOAL_TRY(try_network(Way::kBranches, network_of_branches));
    // The plan changes no answer. That is judged once, and last where nothing asked for it before.
    SHOAL_ASSIGN(result_.top1_before, top1_given());
    judge(result_.attempts[0], result_.top1_before, result_.top1_before);
    return std::move(result_);
  }

 private:
  bool tries(Way way) const { return !result_.met() && options_.ways.contains(way); }

  void note(const std::string& line) {
    if (callbacks_.on_note) callbacks_.on_note(line);
  }

  bool cancelled() const { return callbacks_.cancel != nullptr && *callbacks_.cancel; }

  Result<double> top1_of(const fit::NetworkForBatch& network, const fit::TrainingOptions& recipe) {
    if (cancelled()) return Status(Code::kCancelled, "interrupted");
    return shrink::top1_of(devices_.learns, network, *data_.test, recipe);
  }

  Result<double> top1_given() {
    if (!top1_given_) {
      SHOAL_ASSIGN(top1_given_, top1_of(shrink::as_given(model_), options_.recipe));
    }
    return *top1_given_;
  }

  Attempt& add(std::string name, const plan::Prediction& best) {
    const double ms = 1e3 * best.timeline.seconds;
    if (result_.attempts.empty()) {
      result_.target_ms = options_.time.ms > 0 ? options_.time.ms : options_.time.share * ms;
    }
    Attempt& attempt = result_.attempts.emplace_back();
    attempt.name = std::move(name);
    attempt.ms = ms;
    attempt.bytes = best.timeline.wire_bytes;
    attempt.macs = macs_;
    attempt.fast_enough = ms <= result_.target_ms;
    return attempt;
  }

  void judge(Attempt& attempt, double top1, double compared_with) {
    attempt.top1 = top1;
    attempt.accurate_enough = compared_with - top1 <= options_.max_drop;
  }

  Status try_plan() {
    SHOAL_ASSIGN(plans_, plan::make_plans(graph_, cluster_));
    add("plan", plans_[0]).accurate_enough = true;
    return {};
  }

  // The largest magnitude of each value on some examples to learn from.
  Result<std::map<std::string, float, std::less<>>> ranges() {
    std::map<std::string, float, std::less<>> largest;
    const Batches::Prepare prepare = fit::images_for(graph_, options_.recipe.preprocess);
    const Dataset& examples = *data_.data.training;
    for (size_t i = 0; i < std::min(kRangeExamples, examples.size()); ++i) {
      SHOAL_ASSIGN(const Example example, examples.at(i));
      SHOAL_ASSIGN(const Tensor input, prepare(example.image));
      SHOAL_ASSIGN(const auto seen,
                   compress::largest_magnitudes(graph_, devices_.learns, std::span(&input, 1)));
      for (const auto& [name, magnitude] : seen) {
        float& kept = largest[name];
        kept = std::max(kept, magnitude);
      }
    }
    return largest;
  }

  // The rounding is in the graph of the plan, so that its accuracy can be measured here.
  Status try_messages(WireFormat format) {
    plan::PlanOptions how;
    how.wire = {.smallest = format, .error = kAllowedError};
    if (format == WireFormat::kI8) {
      SHOAL_ASSIGN(how.wire.largest, ranges());
    }
    SHOAL_ASSIGN(std::vector<plan::Prediction> plans,
                 plan::make_narrow_plans(graph_, cluster_, how, plans_));
    plans.push_back(plans_[0]);  // where no message can be rounded
    const plan::Prediction& best = *std::ranges::min_element(
        plans, {}, [](const plan::Prediction& made) { return made.timeline.seconds; });
    Attempt& attempt = add(std::string(plan::name_of(format)) + " messages", best);
    if (!attempt.fast_enough) return {};  // no need to judge it
    const auto rounded = [&](int64_t) -> Result<LoadedGraph> {
      LoadedGraph loaded{.graph = best.graph(), .outputs = {}};
      for (const ValueId output : loaded.graph.outputs()) {
        loaded.outputs.push_back(loaded.graph[output].name);
      }
      return loaded;
    };
    fit::TrainingOptions one = options_.recipe;
    one.batch = 1;
    SHOAL_ASSIGN(const double top1, top1_of(rounded, one));
    SHOAL_ASSIGN(const double before, top1_given());
    judge(attempt, top1, before);
    return {};
  }

  // A network other than the given one, which has learned. It is kept only if it is what was
  // wanted.
  Status try_network(Way way, Result<OtherNetwork> (*make)(const Task&)) {
    note("nothing is fast enough yet: tries " + std::string(name_of(way)));
    const std::filesystem::path part = std::filesystem::path(options_.out) += ".part";
    SHOAL_ASSIGN(const OtherNetwork made, make({devices_, model_, data_, options_, cluster_,
                                                callbacks_, result_.target_ms, part}));
    if (!made.best) {
      Attempt& attempt = result_.attempts.emplace_back();
      attempt.name = name_of(way);
      attempt.note = made.why_not;
      return {};
    }
    Attempt& attempt = add(std::string(name_of(way)), *made.best);
    attempt.macs = made.macs;
    attempt.top1_control = made.top1_control;
    judge(attempt, made.top1, made.top1_control);
    std::error_code error;
    if (attempt.meets()) {
      std::filesystem::rename(part, options_.out, error);
    } else {
      std::filesystem::remove(part, error);
    }
    if (error) return Status(Code::kUnavailable, options_.out.string() + ": " + error.message());
    return {};
  }

  const shrink::ShrinkDevices& devices_;
  const Model& model_;
  const fit::JudgedData& data_;
  const FitOptions& options_;
  const shrink::ShrinkCallbacks& callbacks_;
  plan::ClusterProfile cluster_;
  Graph graph_;                          // of the model as given, for one image
  int64_t macs_ = 0;                     // of it
  std::vector<plan::Prediction> plans_;  // for it, the best first
  std::optional<double> top1_given_;     // of the model as given, once that is known
  FitResult result_;
};

}  // namespace

std::string_view name_of(Way way) {
  switch (way) {
    case Way::kMessages:
      return "messages";
    case Way::kSmaller:
      return "smaller network";
    case Way::kClusters:
      return "clusters";
    case Way::kBranches:
      return "branches";
  }
  return "";
}

std::optional<Way> find_way(std::string_view word) {
  for (const Way way : {Way::kMessages, Way::kSmaller, Way::kClusters, Way::kBranches}) {
    const std::string_view name = name_of(way);
    if (word == name.substr(0, name.find(' '))) return way;
  }
  return std::nullopt;
}

Status check(const FitOptions& options) {
  SHOAL_TRY(plan::find_cluster(options.cluster).status());
  if ((options.time.ms > 0) == (options.time.share > 0)) {
    return invalid("a time is either in milliseconds or a share");
  }
  if (!(options.max_drop >= 0)) return invalid("max_drop is out of range");
  if (options.out.empty()) return invalid("the network needs a file");
  return {};
}

Result<FitResult> fit(const shrink::ShrinkDevices& devices, const Model& model,
                      const fit::JudgedData& data, const FitOptions& options,
                      const shrink::ShrinkCallbacks& callbacks) {
  return Fit(devices, model, data, options, callbacks).run();
}

}  // namespace shoal::fit_cluster
