#include "shoal/variants/catalog/figures.h"

#include "shoal/model/passes/passes.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/retraining/retrain.h"

namespace shoal::catalog {
namespace {

// Multiply-accumulates of products in 8 bits. Passes make such products of pairs of conversions.
int64_t int8_macs_of(const Graph& optimized) {
  int64_t all = 0;
  for (const Node& node : optimized.nodes()) {
    if (node.inputs.empty() || node.inputs[0] == kNoValue) continue;
    const DType dtype = optimized[node.inputs[0]].type.dtype;
    if (dtype == DType::kI8 || dtype == DType::kU8) all += macs(optimized, node);
  }
  return all;
}

}  // namespace

Result<VariantFigures> costs_of(Device& device, const fit::NetworkForBatch& network) {
  VariantFigures figures;
  SHOAL_ASSIGN(const LoadedGraph loaded, network(1));
  SHOAL_ASSIGN(figures.size, compress::size_without(loaded.graph, {}, {}));
  SHOAL_ASSIGN(const Graph optimized, passes::optimize(loaded.graph));
  SHOAL_ASSIGN(const MemoryUse use, device.memory_of(optimized));
  figures.memory = figures.size.bytes + use.planned;
  figures.millijoules = millijoules_of(figures.size, figures.memory,
                                       std::min(int8_macs_of(optimized), figures.size.macs));
  return figures;
}

Result<VariantFigures> figures_of(const shrink::ShrinkDevices& devices,
                                  const fit::NetworkForBatch& network, const fit::JudgedData& data,
                                  const fit::TrainingOptions& recipe) {
  SHOAL_ASSIGN(VariantFigures figures, costs_of(devices.runs, network));
  SHOAL_ASSIGN(figures.top1, shrink::top1_of(devices.learns, network, *data.test, recipe));
  SHOAL_ASSIGN(figures.held_out_top1,
               shrink::top1_of(devices.learns, network, *data.data.held_out, recipe));
  return figures;
}

}  // namespace shoal::catalog
