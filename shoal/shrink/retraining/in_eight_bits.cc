#include "shoal/shrink/retraining/in_eight_bits.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "shoal/model/onnx/export/export.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/shrink/compress/quantization/quantize.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/retraining/norms.h"
#include "shoal/shrink/retraining/retrain.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/step/graph/differentiate.h"

namespace shoal::shrink {
namespace {

constexpr float kRate = 0.1F, kDistill = 0.5F;
constexpr size_t kOpenBatch = 16;  // bytes more for inputs and outputs with batches of any size

}  // namespace

Result<compress::Int8Choice> int8_for(Device& device, const NetworkForBatch& network,
                                      const Dataset& examples, const fit::TrainingOptions& recipe) {
  SHOAL_ASSIGN(const LoadedGraph loaded, network(1));
  return compress::choose_int8(loaded.graph,
                               {device, fit::spread_examples(loaded.graph, examples, recipe)});
}

Result<double> bytes_in_eight_bits(const NetworkForBatch& network) {
  SHOAL_ASSIGN(const LoadedGraph loaded, network(1));
  SHOAL_ASSIGN(const Graph graph, compress::prepare(loaded.graph));
  // The numbers do not matter for the size, only that they differ: equal ones are written once.
  compress::Ranges any;
  float next = 1;
  for (ValueId id : compress::values_to_quantize(graph)) {
    const float scale = 1 + next / 1000, zero = std::fmod(next++, 255.0F);
    any[id] = {-zero * scale, (255 - zero) * scale};
  }
  compress::QuantizeOptions corrected;  // biases that are zero would be zero points
  for (const Node& node : graph.nodes()) {
    if (node.op != &ops::conv && node.op != &ops::gemm) continue;
    const auto channels = static_cast<size_t>(graph[node.outputs[0]].type.shape[1]);
    corrected.shifts[node.outputs[0]].assign(channels, next++);
  }
  SHOAL_ASSIGN(const Graph quantized, compress::quantize(graph, any, corrected));
  SHOAL_ASSIGN(const Graph merged, passes::merge_equal(quantized));
  SHOAL_ASSIGN(const std::vector<std::byte> file,
               onnx::to_onnx(merged, loaded.outputs, {}, onnx::Style::kCompact));
  return static_cast<double>(file.size() + kOpenBatch);
}

Result<double> real_bytes_for(const NetworkForBatch& network, double most) {
  SHOAL_ASSIGN(const double file, bytes_in_eight_bits(network));
  SHOAL_ASSIGN(const LoadedGraph loaded, network(1));
  SHOAL_ASSIGN(const Graph graph, compress::prepare(loaded.graph));
  SHOAL_ASSIGN(const compress::Size before, compress::size_without(graph, {}, {}));
  const double bytes = static_cast<double>(before.bytes) - kBytesForOne * (file - most);
  if (bytes > 0) return bytes;
  return Status(Code::kUnsupported, "in 8 bits, a file without weights has " +
                                        std::to_string(std::lround(most - bytes / kBytesForOne)) +
                                        " bytes");
}

NetworkForBatch in_eight_bits(NetworkForBatch network, compress::Int8Choice choice) {
  const auto quantize = [choice = std::move(choice)](const Graph& graph) -> Result<Graph> {
    SHOAL_ASSIGN(const Graph quantized, compress::quantized(graph, choice));
    return passes::merge_equal(quantized);
  };
  return fit::changed(std::move(network), quantize);
}

Result<NetworkForBatch> used_to_rounding(Device& device, const NetworkForBatch& network,
                                         const compress::Int8Choice& choice,
                                         const fit::TrainingData& data,
                                         const fit::TrainingOptions& recipe, int64_t epochs,
                                         const fit::TrainingCallbacks& callbacks) {
  fit::TrainingOptions gentle = recipe;
  gentle.epochs = epochs;
  gentle.warm_up = 0;
  gentle.optimizer.rate = kRate * fit::trainer_options(recipe).optimizer.rate;
  gentle.loss.distill = kDistill;
  gentle.checkpoint.clear();  // a run that is resumed does this again, with the same result
  gentle.resume = false;
  const auto round = [&choice](const Graph& graph) -> Result<Graph> {
    SHOAL_ASSIGN(const Graph rounding, compress::rounding(graph, choice));
    return train::straight_through(rounding);
  };
  const NetworkForBatch rounded = fit::changed(network, round);
  SHOAL_ASSIGN(Trained trained, retrain(device, rounded, network, data, gentle, callbacks));
  const NetworkForBatch folded =
      fit::changed(network, [](const Graph& graph) { return compress::prepare(graph); });
  return with_weights(folded, std::move(trained.weights));
}

}  // namespace shoal::shrink
