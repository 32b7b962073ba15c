#include "shoal/shrink/compress/analysis/value_probe.h"

namespace shoal::compress {

Result<ValueProbe> ValueProbe::create(const Graph& graph, std::vector<ValueId> values,
                                      Device& device) {
  ValueProbe probe;
  probe.results_ = graph.outputs().size();
  probe.values_ = std::move(values);
  // A copy with further outputs: they keep the values alive until the end of a run, which costs
  // memory, and keep the device from fusing them away.
  Graph open = graph;
  for (ValueId id : probe.values_) open.mark_output(id);
  probe.outputs_.resize(open.outputs().size());
  SHOAL_ASSIGN(probe.executable_, device.compile(open));
  return probe;
}

Status ValueProbe::run(std::span<const Tensor> inputs) {
  return executable_->run(inputs, outputs_, {});
}

}  // namespace shoal::compress
