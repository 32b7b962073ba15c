// The attempts, and what is tried next.
#include "shoal/shrink/fit_cluster/fit_cluster.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shoal/engine/device/device.h"
#include "shoal/model/passes/passes.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/search/plan_recipe.h"
#include "shoal/plan/search/planner.h"
#include "shoal/plan/search/wire_format.h"
#include "shoal/shrink/compress/analysis/value_probe.h"
#include "shoal/shrink/fit_cluster/other_networks.h"
#include "shoal/shrink/retraining/norms.h"
#include "shoal/shrink/retraining/retrain.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/run/setup/training_options.h"

namespace shoal::fit_cluster {
namespace {

// The largest rounding error of messages, by the planner's bound. That is far from the effect on
// answers, which is measured.
constexpr double kAllowedError = 1;
constexpr size_t kRangeExamples = 32;  // that the ranges of 8-bit messages come from

void widen(const Tensor& seen, float& largest) {
  for (const float x : seen.data<float>()) largest = std::max(largest, std::abs(x));
}

// What may travel in this format, with the ranges that values take on some of the examples. `graph`
// is for one image. Fails as the examples and the device do.
Result<plan::WireOptions> messages_in(plan::WireFormat format, const Graph& graph, Device& device,
                                      const Dataset& examples, const fit::TrainingOptions& recipe) {
  plan::WireOptions wire{.smallest = format, .error = kAllowedError, .inputs = true};
  if (format != plan::WireFormat::kI8) return wire;
  std::vector<ValueId> values;
  for (const Node& node : graph.nodes()) {
    if (graph[node.outputs[0]].type.dtype == DType::kF32) values.push_back(node.outputs[0]);
  }
  SHOAL_ASSIGN(auto probe, compress::ValueProbe::create(graph, std::move(values), device));
  const auto data = fit::spread_examples(graph, examples, recipe, kRangeExamples);
  for (size_t example = 0; example < data.count; ++example) {
    SHOAL_ASSIGN(const std::vector<Tensor> inputs, data.at(example));
    SHOAL_TRY(probe.run(inputs));
    for (size_t i = 0; i < probe.values().size(); ++i) {
      widen(probe.seen(i), wire.largest[graph[probe.values()[i]].name]);
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      widen(inputs[i], wire.largest[graph[graph.inputs()[i]].name]);
    }
  }
  return wire;
}

// The fastest of these plans with messages in the format of `wire`; nothing: none is faster than
// the first of them, which is the best without. REQUIRES: there are plans, for this graph.
Result<std::optional<plan::Prediction>> faster_by_messages(
    const Graph& graph, const plan::ClusterProfile& cluster, const plan::WireOptions& wire,
    const std::vector<plan::Prediction>& plans) {
  const auto seconds = [](const plan::Prediction& prediction) {
    return prediction.timeline.seconds;
  };
  SHOAL_ASSIGN(std::vector<plan::Prediction> narrow,
               plan::make_narrow_plans(graph, cluster, {.wire = wire}, plans));
  const auto best = std::ranges::min_element(narrow, {}, seconds);
  if (best == narrow.end() || seconds(*best) >= seconds(plans[0])) {
    return std::optional<plan::Prediction>();
  }
  return std::optional(std::move(*best));
}

// What a plan answers, for batches of one: the rounding is in its graph.
fit::NetworkForBatch as_planned(const plan::Prediction& prediction) {
  return [graph = prediction.graph()](int64_t) -> Result<LoadedGraph> {
    LoadedGraph loaded;
    SHOAL_ASSIGN(loaded.graph, plan::rounding_inputs(graph));
    for (const ValueId output : loaded.graph.outputs()) {
      loaded.outputs.push_back(loaded.graph[output].name);
    }
    return loaded;
  };
}

using plan::WireFormat;

class Fit {
 public:
  Fit(const shrink::ShrinkDevices& devices, const Model& model, const fit::JudgedData& data,
      const FitOptions& options, const shrink::ShrinkCallbacks& callbacks)
      : devices_(devices), model_(model), data_(data), options_(options), callbacks_(callbacks) {}

  Result<FitResult> run() {
    SHOAL_TRY(check(options_));
    SHOAL_ASSIGN(cluster_, plan::find_cluster(options_.cluster));
    SHOAL_ASSIGN(const LoadedGraph loaded, fit::load_for_batch(model_, 1));
    SHOAL_ASSIGN(graph_, passes::optimize(loaded.graph));
    macs_ = total_macs(graph_);
    SHOAL_TRY(try_plan());
    if (tries(Way::kMessages)) SHOAL_TRY(try_messages(WireFormat::kF16));
    if (tries(Way::kMessages)) SHOAL_TRY(try_messages(WireFormat::kI8));
    if (result_.met()) SHOAL_TRY(fit::export_network(shrink::as_given(model_), options_.out));
    if (tries(Way::kSmaller)) SHOAL_TRY(try_network(Way::kSmaller, smaller_network));
    if (tries(Way::kClusters)) SHOAL_TRY(try_network(Way::kClusters, network_of_clusters));
    if (tries(Way::kBranches)) SHOAL_TRY(try_network(Way::kBranches, network_of_branches));
    // The plan changes no answer: evaluated once, and last unless an attempt needed it before.
    SHOAL_ASSIGN(result_.top1_before, top1_given());
    evaluate(result_.attempts[0], result_.top1_before, result_.top1_before);
    return std::move(result_);
  }

 private:
  bool tries(Way way) const { return !result_.met() && options_.ways.contains(way); }

  void note(const std::string& line) {
    if (callbacks_.on_note) callbacks_.on_note(line);
  }

  bool cancelled() const { return callbacks_.cancel != nullptr && *callbacks_.cancel; }

  Result<double> top1_of(const fit::NetworkForBatch& network, const Dataset& examples,
                         const fit::TrainingOptions& recipe) {
    if (cancelled()) return Status(Code::kCancelled, "interrupted");
    return shrink::top1_of(devices_.learns, network, examples, recipe);
  }

  Result<double> top1_given() {
    if (!top1_given_) {
      SHOAL_ASSIGN(top1_given_, top1_of(shrink::as_given(model_), *data_.test, options_.recipe));
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

  void evaluate(Attempt& attempt, double top1, double compared_with) {
    attempt.top1 = top1;
    attempt.accurate_enough = compared_with - top1 <= options_.max_drop;
  }

  Status try_plan() {
    SHOAL_ASSIGN(plans_, plan::make_plans(graph_, cluster_));
    add("plan", plans_[0]).accurate_enough = true;
    return {};
  }

  Result<plan::WireOptions> messages_in(WireFormat format, const Graph& graph) {
    return fit_cluster::messages_in(format, graph, devices_.learns, *data_.data.training,
                                    options_.recipe);
  }

  Result<double> top1_rounded(const plan::Prediction& prediction, const Dataset& examples) {
    fit::TrainingOptions training_options = options_.recipe;
    training_options.batch = 1;
    return top1_of(as_planned(prediction), examples, training_options);
  }

  Status try_messages(WireFormat format) {
    SHOAL_ASSIGN(const plan::WireOptions wire, messages_in(format, graph_));
    SHOAL_ASSIGN(const std::optional<plan::Prediction> narrow,
                 faster_by_messages(graph_, cluster_, wire, plans_));
    Attempt& attempt =
        add(std::string(plan::name_of(format)) + " messages", narrow ? *narrow : plans_[0]);
    if (!attempt.fast_enough || !narrow) return {};  // no need to evaluate it
    SHOAL_ASSIGN(const double top1, top1_rounded(*narrow, *data_.test));
    SHOAL_ASSIGN(const double before, top1_given());
    evaluate(attempt, top1, before);
    return {};
  }

  // The messages that other networks may be planned with: in the fewest bytes with which held-out
  // examples, for they choose, lose no more of the given network's accuracy than allowed.
  Status choose_messages() {
    if (wire_) return {};
    wire_.emplace();
    if (!options_.ways.contains(Way::kMessages)) return {};
    const Dataset& examples = *data_.data.held_out;
    std::optional<double> given;
    for (const WireFormat format : {WireFormat::kI8, WireFormat::kF16}) {
      SHOAL_ASSIGN(plan::WireOptions wire, messages_in(format, graph_));
      SHOAL_ASSIGN(const std::optional<plan::Prediction> narrow,
                   faster_by_messages(graph_, cluster_, wire, plans_));
      if (!narrow) continue;
      if (!given) {
        SHOAL_ASSIGN(given, top1_of(shrink::as_given(model_), examples, options_.recipe));
      }
      SHOAL_ASSIGN(const double top1, top1_rounded(*narrow, examples));
      if (*given - top1 > options_.max_drop) continue;
      wire_ = std::move(wire);
      return {};
    }
    return {};
  }

  // The plan of a network that has learned, with rounded messages only if they make it fast enough
  // and cost no more than allowed.
  Status add_planned(Way way, const OtherNetwork& other_network) {
    const auto add_one = [&](const std::string& name, const plan::Prediction& best, double top1) {
      Attempt& attempt = add(name, best);
      attempt.macs = other_network.macs;
      attempt.top1_control = other_network.top1_control;
      evaluate(attempt, top1, other_network.top1_control);
    };
    const std::string name(name_of(way));
    const double plain_ms = 1e3 * other_network.plans[0].timeline.seconds;
    std::optional<plan::Prediction> narrow;
    if (plain_ms > result_.target_ms && wire_->smallest != WireFormat::kF32) {
      SHOAL_ASSIGN(const plan::WireOptions wire, messages_in(wire_->smallest, other_network.graph));
      SHOAL_ASSIGN(narrow,
                   faster_by_messages(other_network.graph, cluster_, wire, other_network.plans));
    }
    if (!narrow) {
      add_one(name, other_network.plans[0], other_network.top1);
      return {};
    }
    SHOAL_ASSIGN(const double top1, top1_rounded(*narrow, *data_.test));
    add_one(name + ", " + std::string(plan::name_of(wire_->smallest)) + " messages", *narrow, top1);
    return {};
  }

  // A trained network other than the given one; kept only if it meets the target.
  Status try_network(Way way, Result<OtherNetwork> (*make)(const Task&)) {
    note("nothing is fast enough yet: tries " + std::string(name_of(way)));
    const std::filesystem::path part = std::filesystem::path(options_.out) += ".part";
    SHOAL_TRY(choose_messages());
    SHOAL_ASSIGN(const OtherNetwork result, make({devices_, model_, data_, options_, cluster_,
                                                  callbacks_, *wire_, result_.target_ms, part}));
    if (result.plans.empty()) {
      Attempt& attempt = result_.attempts.emplace_back();
      attempt.name = name_of(way);
      attempt.note = result.why_not;
      return {};
    }
    SHOAL_TRY(add_planned(way, result));
    std::error_code error;
    if (result_.met()) {
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
  Graph graph_;                            // of the model as given, for one image
  int64_t macs_ = 0;                       // of it
  std::vector<plan::Prediction> plans_;    // for it, the best first
  std::optional<plan::WireOptions> wire_;  // of messages of other networks, once they are tried
  std::optional<double> top1_given_;       // of the model as given, once that is known
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
