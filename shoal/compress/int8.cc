// int8: calibrates a graph on examples and quantises it (quantize.h).
#include "shoal/compress/methods.h"
#include "shoal/compress/quantize.h"
#include "shoal/ops/ops.h"

namespace shoal::compress {
namespace {

// A product is compressed if its weights are dequantised; nodes are in topological order, so that
// the DequantizeLinear has been seen before its reader.
void count_products(Compressed& result) {
  const Graph& graph = result.graph;
  std::vector<bool> dequantized(graph.value_count());
  for (const Node& node : graph.nodes()) {
    if (node.op == &ops::dequantize_linear) {
      dequantized[static_cast<size_t>(node.outputs[0])] = true;
    }
    if (node.op != &ops::conv && node.op != &ops::gemm && node.op != &ops::mat_mul) continue;
    ++result.parts;
    result.compressed += dequantized[static_cast<size_t>(node.inputs[1])] ? 1 : 0;
  }
}

}  // namespace

Result<Compressed> int8(const Graph& graph, const Context& context) {
  SHOAL_ASSIGN(const Graph prepared, prepare(graph));
  SHOAL_ASSIGN(Calibration calibration, Calibration::start(prepared, context.device));
  SHOAL_TRY(calibration.observe(context.examples, context.progress));
  Compressed result;
  SHOAL_ASSIGN(result.graph, quantize(prepared, calibration.ranges()));
  count_products(result);
  // A graph without products would be written unchanged, and look compressed.
  if (result.compressed > 0) return result;
  return Status(Code::kUnsupported, "there is no Conv, Gemm or MatMul with constant f32 weights");
}

}  // namespace shoal::compress
