#include <algorithm>

#include "shoal/compress/quantize.h"
#include "shoal/passes/passes.h"

namespace shoal::compress {

Result<Graph> prepare(const Graph& graph) {
  Graph current = graph;
  for (auto* pass : {passes::remove_dead_code, passes::remove_identity, passes::fold_constants,
                     passes::fold_pad, passes::fold_batch_norm, passes::remove_dead_code}) {
    SHOAL_ASSIGN(current, pass(current));
  }
  SHOAL_TRY(verify(current));
  return current;
}

Result<Calibration> Calibration::start(const Graph& graph, Device& device) {
  Calibration calibration;
  calibration.results_ = graph.outputs().size();
  calibration.observed_ = values_to_quantize(graph);
  calibration.histograms_.resize(calibration.observed_.size());
  Graph open = graph;
  for (ValueId id : calibration.observed_) open.mark_output(id);
  calibration.outputs_.resize(open.outputs().size());
  SHOAL_ASSIGN(calibration.executable_, device.compile(open));
  return calibration;
}

Status Calibration::observe(std::span<const Tensor> inputs) {
  SHOAL_TRY(executable_->run(inputs, outputs_, nullptr));
  for (size_t i = 0; i < observed_.size(); ++i) {
    histograms_[i].add(outputs_[results_ + i].data<float>());
  }
  return {};
}

Ranges Calibration::ranges() const {
  Ranges ranges;
  for (size_t i = 0; i < observed_.size(); ++i) ranges[observed_[i]] = histograms_[i].best_range();
  return ranges;
}

}  // namespace shoal::compress
