// What passes know of quantised values: real = scale * (integer - zero point).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shoal/graph/graph.h"
#include "shoal/passes/rewriter.h"

namespace shoal::passes {

// A real value that DequantizeLinear gives, or that QuantizeLinear would make integers of. All
// values are those of the new graph; the scales are constants, positive and finite.
struct Quantized {
  ValueId integers = kNoValue;
  ValueId scale = kNoValue;
  ValueId zero_point = kNoValue;  // kNoValue: zeros
  DType dtype = DType::kU8;
  int64_t axis = 0;  // that of several scales; they are one per index
};

// What a QuantizeLinear gives bytes of; nothing where a parameter is not constant or makes no
// sense.
std::optional<Quantized> quantized_by(Rewriter& rewriter, const Node& quantize);

std::vector<float> scales_of(const Graph& graph, const Quantized& value);
bool has_one_scale(const Graph& graph, const Quantized& value);
int64_t zero_point_of(const Graph& graph, const Quantized& value);  // of a value with one scale
bool has_same_parameters(const Graph& graph, const Quantized& a, const Quantized& b);

// Its zero point as an input of what stands for `node`. One that has to be made is called
// y.role_zero_point, where y is the node's output.
ValueId zero_point_for(Rewriter& rewriter, const Node& node, const Quantized& value,
                       std::string_view role);

// Which values of the new graph are quantised, as far as the rewriter has come.
class QuantizedValues {
 public:
  // Copies a DequantizeLinear and remembers what it gives. Says no where it did not copy.
  bool remember(Rewriter& rewriter, const Node& dequantize);
  void remember(ValueId fresh, const Quantized& value) { values_.emplace(fresh, value); }

  // What stands for an old value; null if it is not quantised.
  const Quantized* find(Rewriter& rewriter, ValueId old) const;
  // The same, if it is of bytes with one scale for all.
  const Quantized* find_bytes(Rewriter& rewriter, ValueId old) const;

 private:
  std::unordered_map<ValueId, Quantized> values_;
};

// The constant's elements; nothing if it is none, or has a scale for more than its elements.
std::optional<std::vector<float>> reals_of(const Graph& graph, const Quantized& value);

// The 32-bit integers for real numbers at these scales, one scale for all or one each. Nothing if
// one of them would leave no room to add others to it.
std::optional<std::vector<int32_t>> to_sums(const std::vector<float>& reals,
                                            const std::vector<float>& scales);

// table[byte] = quantize(f(dequantize(byte))), where f applies these old nodes, each a function of
// its input 0's elements, one after the other.
Tensor table_of(Rewriter& rewriter, const Quantized& from, const std::vector<const Node*>& f,
                const Quantized& to);

}  // namespace shoal::passes
