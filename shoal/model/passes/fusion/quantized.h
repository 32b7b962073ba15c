// Quantised values as passes see them: real = scale * (integer - zero point).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {

// A real value computed by DequantizeLinear, or to be converted by QuantizeLinear. All ids are
// those of the new graph. Scales are constants, positive and finite.
struct Quantized {
  ValueId integers = kNoValue;
  ValueId scale = kNoValue;
  ValueId zero_point = kNoValue;  // kNoValue: zeros
  DType dtype = DType::kU8;
  int64_t axis = 0;  // the axis with one scale per index, if there are several
};

// The parameters of a QuantizeLinear to bytes; nullopt if one is not constant or not usable.
std::optional<Quantized> quantized_by(Rewriter& rewriter, const Node& quantize);

std::vector<float> scales_of(const Graph& graph, const Quantized& value);
bool has_one_scale(const Graph& graph, const Quantized& value);
int64_t zero_point_of(const Graph& graph, const Quantized& value);  // REQUIRES: it has one scale
bool has_same_parameters(const Graph& graph, const Quantized& a, const Quantized& b);

// The zero point as an input of the node that replaces `node`. A new one is called
// y.role_zero_point, where y is the node's output.
ValueId zero_point_for(Rewriter& rewriter, const Node& node, const Quantized& value,
                       std::string_view role);

// The quantised values of the new graph so far.
class QuantizedValues {
 public:
  // Copies a DequantizeLinear and remembers its result. Returns false if it did not copy.
  bool remember(Rewriter& rewriter, const Node& dequantize);
  void remember(ValueId fresh, const Quantized& value) { values_.emplace(fresh, value); }

  // The quantised form of an old value; null if it has none.
  const Quantized* find(Rewriter& rewriter, ValueId old) const;
  // The same, if it consists of bytes with one scale.
  const Quantized* find_bytes(Rewriter& rewriter, ValueId old) const;

 private:
  std::unordered_map<ValueId, Quantized> values_;
};

// The elements of a constant as reals; nullopt if it is not constant, or has one scale per several
// elements.
std::optional<std::vector<float>> reals_of(const Graph& graph, const Quantized& value);

// The 32-bit integers for real numbers at these scales, one scale for all or one each. nullopt if
// one of them exceeds 2^30, which could overflow the sum that it is added to.
std::optional<std::vector<int32_t>> to_sums(const std::vector<float>& reals,
                                            const std::vector<float>& scales);

// table[byte] = quantize(f(dequantize(byte))), where f applies these old nodes one after the other.
// REQUIRES: each is a function of the elements of its input 0.
Tensor table_of(Rewriter& rewriter, const Quantized& from, const std::vector<const Node*>& f,
                const Quantized& to);

}  // namespace shoal::passes
