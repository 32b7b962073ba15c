// Rewrites of QuantizeLinear and DequantizeLinear, which opsets 19 and 21 extended to types and
// blocks that are not supported here.
#include "shoal/onnx/element_type.h"
#include "shoal/onnx/normalize.h"
#include "shoal/ops/onnx_dtype.h"

namespace shoal::onnx {
namespace {

using Terms = Result<std::vector<Term>>;

Status refuse_blocks(Draft& draft) {
  draft.attributes.erase("saturate");  // of 8-bit floats
  if (draft.take<int64_t>("block_size").value_or(0) == 0) return {};
  return Status(Code::kUnsupported, "quantisation in blocks (block_size) is not supported");
}

Terms dequantize_19(Draft draft, int64_t, Emitter& emitter) {
  SHOAL_TRY(refuse_blocks(draft));
  return emitter.emit(std::move(draft));
}

// Opset 21 can name the type of the output without a zero point.
Terms quantize_19(Draft draft, int64_t, Emitter& emitter) {
  SHOAL_TRY(refuse_blocks(draft));
  const int64_t number = draft.take<int64_t>("output_dtype").value_or(0);
  if (number == 0 || !draft.has(1)) return emitter.emit(std::move(draft));
  SHOAL_ASSIGN(const DType dtype, element_type(number));
  if (!draft.has(2)) {
    // One zero per scale. Scales are a vector at most, so this is not larger than they are.
    draft.set_input(2, Term::of(Tensor({dtype, draft.input(1).type.shape})));
  } else if (draft.input(2).type.dtype != dtype) {
    return invalid("output_dtype and the zero point do not agree");
  }
  return emitter.emit(std::move(draft));
}

// Opset 21 takes scales of 16 bits, too.
Terms q_linear_mat_mul_21(Draft draft, int64_t, Emitter& emitter) {
  for (size_t scale : {1, 4, 6}) {
    if (!draft.has(scale) || draft.input(scale).type.dtype == DType::kF32) continue;
    SHOAL_ASSIGN(Term wide, emitter.emit_one("Cast", {draft.input(scale)},
                                             {{"to", ops::onnx_number_of(DType::kF32)}}));
    draft.set_input(scale, std::move(wide));
  }
  return emitter.emit(std::move(draft));
}

}  // namespace

std::span<const RewriteEntry> quantize_rewrites() {
  static const std::vector<RewriteEntry> table = {
      {"DequantizeLinear", 19, kEver, dequantize_19},
      {"QLinearMatMul", 21, kEver, q_linear_mat_mul_21, {"QLinearMatMul", "Cast"}},
      {"QuantizeLinear", 19, kEver, quantize_19},
  };
  return table;
}

}  // namespace shoal::onnx
