// One stage after the other: dense control, sparse learning, removal, learning again.
#include "shoal/shrink/prune/tprune.h"

#include <utility>

#include "shoal/shrink/compress/units/block_lines.h"
#include "shoal/shrink/compress/units/importance.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/prune/array_learning.h"
#include "shoal/shrink/prune/decision/decide.h"
#include "shoal/shrink/prune/decision/tidy.h"
#include "shoal/shrink/retraining/retrain.h"

namespace shoal::shrink {
namespace {

Result<NetworkForBatch> network_for(const Model& model, const Tensor& inputs) {
  SHOAL_ASSIGN(const std::vector<TensorInfo> declared, model.inputs());
  if (declared.size() != 1) return invalid("the model needs one input");
  return NetworkForBatch([&model, name = declared[0].name,
                          shape = inputs.shape()](int64_t batch) -> Result<LoadedGraph> {
    Shape wanted = shape;
    wanted[0] = batch;
    SHOAL_ASSIGN(LoadedGraph loaded, model.graph({{name, wanted}}));
    if (loaded.outputs.size() != 1) return invalid("the model needs one output");
    return loaded;
  });
}

struct BothNetworks {
  NetworkForBatch learns, used;
};

BothNetworks both_with(const BothNetworks& both, const Weights& weights) {
  return {with_weights(both.learns, weights), with_weights(both.used, weights)};
}

class Run {
 public:
  Run(const ShrinkDevices& devices, const TPruneData& data, const TPruneOptions& options,
      const TPruneCallbacks& callbacks, BothNetworks both_networks)
      : devices_(devices),
        data_(data),
        options_(options),
        callbacks_(callbacks),
        given_(std::move(both_networks)) {}

  Result<TPruneResult> run() {
    SHOAL_TRY(take_targets());
    SHOAL_ASSIGN(result_.score_before, judged(given_.used));
    if (options_.control) SHOAL_TRY(train_control());
    BothNetworks sparse = given_;
    if (options_.sparse.strength > 0 && options_.sparse_epochs > 0) {
      SHOAL_ASSIGN(sparse,
                   trained("sparse learning", given_, options_.sparse_epochs, options_.sparse));
      SHOAL_ASSIGN(result_.score_sparse, judged(sparse.used));
    }
    SHOAL_ASSIGN(BothNetworks small, removed_from(sparse));
    if (options_.recipe.epochs > 0) {
      SHOAL_ASSIGN(small, trained("learning again", small, options_.recipe.epochs, {}));
    }
    const NetworkForBatch written = without_subnormals(small.used);
    SHOAL_ASSIGN(result_.score, judged(written));
    SHOAL_TRY(measure(written));
    if (!options_.out.empty()) SHOAL_TRY(fit::export_network(written, options_.out));
    return std::move(result_);
  }

 private:
  Status take_targets() {
    examples_ = {data_.inputs, data_.labels};
    test_ = {data_.test_inputs, data_.test_labels};
    SHOAL_TRY(take_targets(examples_, given_.learns));
    return test_.inputs.defined() ? take_targets(test_, given_.used) : Status();
  }

  // Without labels, the answers of the network as it was given.
  Status take_targets(ArrayExamples& examples, const NetworkForBatch& network) {
    if (!data_.labels.defined()) {
      SHOAL_ASSIGN(examples.targets,
                   answers_of(devices_.learns, network, examples.inputs, options_.recipe.batch));
    }
    return check(examples);
  }

  Result<std::optional<double>> judged(const NetworkForBatch& network) {
    if (!test_.inputs.defined()) return std::optional<double>();
    SHOAL_ASSIGN(const Tensor answers,
                 answers_of(devices_.learns, network, test_.inputs, options_.recipe.batch));
    SHOAL_ASSIGN(const double score, score_of(answers, test_.targets));
    return std::optional(score);
  }

  Result<BothNetworks> trained(std::string_view stage, const BothNetworks& network, int64_t epochs,
                               const std::optional<SparseLearning>& sparse) {
    fit::TrainingOptions recipe = options_.recipe;
    recipe.epochs = epochs;
    const ArrayCallbacks callbacks{.on_step =
                                       [&](const ArrayStep& step) {
                                         if (callbacks_.on_step) callbacks_.on_step(stage, step);
                                       },
                                   .cancel = callbacks_.cancel};
    SHOAL_ASSIGN(const Weights weights,
                 learn(devices_.learns, network.learns, examples_, recipe, sparse, callbacks));
    return both_with(network, weights);
  }

  Status train_control() {
    SHOAL_ASSIGN(
        const BothNetworks dense,
        trained("dense control", given_, options_.sparse_epochs + options_.recipe.epochs, {}));
    SHOAL_ASSIGN(result_.score_control, judged(dense.used));
    if (options_.dense.empty()) return {};
    return fit::export_network(without_subnormals(dense.used), options_.dense);
  }

  Result<BothNetworks> removed_from(const BothNetworks& network) {
    SHOAL_ASSIGN(const LoadedGraph loaded, network.used(1));
    SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(loaded.graph));
    for (const compress::BlockSparsity& block : compress::sparsity_of(
             loaded.graph, compress::find_blocks(loaded.graph, groups), options_.line_share)) {
      result_.blocks.push_back({loaded.graph[block.block.weights].name, block.block.box.begin[0],
                                block.block.box.begin[1], block.rows, block.columns});
    }
    SHOAL_ASSIGN(const std::vector<size_t> units,
                 compress::choose(loaded.graph, groups, compress::magnitudes(loaded.graph, groups),
                                  options_.target));
    SHOAL_ASSIGN(result_.before, compress::size_without(loaded.graph, groups, {}));
    SHOAL_ASSIGN(result_.size, compress::size_without(loaded.graph, groups, units));
    result_.removed = removed_by(loaded.graph, groups, units);
    BothNetworks small = {without(network.learns, units), without(network.used, units)};
    SHOAL_ASSIGN(result_.score_removed, judged(small.used));
    return small;
  }

  Status measure(const NetworkForBatch& small) {
    if (options_.measure_seconds == 0) return {};
    SHOAL_ASSIGN(const std::vector<double> ms,
                 measured_ms(devices_.runs, {given_.used, small}, options_.measure_seconds));
    result_.ms_before = ms[0];
    result_.ms = ms[1];
    return {};
  }

  const ShrinkDevices devices_;
  const TPruneData& data_;
  const TPruneOptions& options_;
  const TPruneCallbacks& callbacks_;
  const BothNetworks given_;
  ArrayExamples examples_, test_;
  TPruneResult result_;
};

}  // namespace

Result<TPruneResult> tprune(const ShrinkDevices& devices, const Model& model,
                            const TPruneData& data, const TPruneOptions& options,
                            const TPruneCallbacks& callbacks) {
  SHOAL_TRY(compress::check(options.target));
  if (!data.inputs.defined() || data.inputs.shape().rank() == 0 ||
      (data.test_inputs.defined() && data.test_inputs.shape().rank() == 0)) {
    return invalid("examples need a first axis");
  }
  if (options.control && !data.labels.defined()) {
    return invalid("a network that imitates itself needs no dense control");
  }
  if (data.test_inputs.defined() && data.labels.defined() != data.test_labels.defined()) {
    return invalid("examples that teach and examples that judge must both have labels, or none");
  }
  BothNetworks both_networks;
  SHOAL_ASSIGN(both_networks.learns, network_for(model, data.inputs));
  SHOAL_ASSIGN(both_networks.used,
               network_for(model, data.test_inputs.defined() ? data.test_inputs : data.inputs));
  return Run(devices, data, options, callbacks, std::move(both_networks)).run();
}

}  // namespace shoal::shrink
