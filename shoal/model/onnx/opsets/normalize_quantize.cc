// Rewrites of QuantizeLinear and DequantizeLinear, which opsets 19 to 25 extended to blocks, to
// narrow types and to scales of other types.
#include <algorithm>
#include <utility>

#include "shoal/base/limits.h"
#include "shoal/model/onnx/format/tensors.h"
#include "shoal/model/onnx/opsets/normalize.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/narrow_type.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/require.h"

namespace shoal::onnx {
namespace {

using Terms = Result<std::vector<Term>>;
using Ints = std::vector<int64_t>;

Result<Term> cast(const Term& x, DType dtype, Emitter& emitter) {
  if (x.type.dtype == dtype) return x;
  return emitter.emit_one("Cast", {x}, {{"to", ops::onnx_number_of(dtype)}});
}

// The input, and its scales and zero points in shapes that broadcast to it.
struct Aligned {
  Term x, scale, zero_point;
};

// Every parameter `times` times along an axis, cut to `size`.
Result<Term> repeat(const Term& parameter, size_t axis, int64_t times, int64_t size,
                    Emitter& emitter) {
  Shape apart = parameter.type.shape, together = apart;
  apart.push_back(1);
  std::rotate(apart.begin() + axis + 1, apart.end() - 1, apart.end());
  Shape stretched = apart;
  stretched[axis + 1] = times;
  together[axis] *= times;
  SHOAL_ASSIGN(Term y, emitter.emit_one("Reshape", {parameter, Term::ints_of(apart)}));
  SHOAL_ASSIGN(y, emitter.emit_one("Expand", {y, Term::ints_of(stretched)}));
  SHOAL_ASSIGN(y, emitter.emit_one("Reshape", {y, Term::ints_of(together)}));
  return emitter.emit_one(
      "Slice", {y, Term::ints({0}), Term::ints({size}), Term::ints({static_cast<int64_t>(axis)})});
}

// One parameter for all elements, one per index of `axis`, or one per block along it.
Result<Term> align(const Term& parameter, const Term& x, size_t axis, int64_t block,
                   Emitter& emitter) {
  if (!parameter.given() || parameter.type.shape.count() == 1) return parameter;
  const Shape& shape = x.type.shape;
  if (block > 0) {
    Shape blocks = shape;
    blocks[axis] = (shape[axis] + block - 1) / block;
    if (parameter.type.shape != blocks) {
      return invalid("the scale or zero point has shape " + to_string(parameter.type.shape) +
                     ", should have " + to_string(blocks));
    }
    return repeat(parameter, axis, block, shape[axis], emitter);
  }
  Shape line = Shape::filled(shape.rank(), 1);
  line[axis] = shape[axis];
  return emitter.emit_one("Reshape", {parameter, Term::ints_of(line)});
}

// Takes `axis` and `block_size`.
Result<Aligned> take_aligned(Draft& draft, Emitter& emitter) {
  const int64_t block = draft.take<int64_t>("block_size").value_or(0);
  const Term& x = draft.input(0);
  const int64_t last = static_cast<int64_t>(x.rank()) - 1;
  const int64_t asked = draft.take<int64_t>("axis").value_or(std::min<int64_t>(1, last));
  size_t axis = 0;
  if (x.rank() > 0) {
    SHOAL_ASSIGN(axis, ops::require_axis(asked, x.rank()));
    if (block < 0 || block > kLimits.max_dimension || (block > 0 && x.rank() == Shape::kMaxRank)) {
      return invalid("block_size is out of range");
    }
  }
  Aligned all{x, {}, {}};
  SHOAL_ASSIGN(all.scale, align(draft.input(1), x, axis, block, emitter));
  SHOAL_ASSIGN(all.zero_point, align(draft.input(2), x, axis, block, emitter));
  SHOAL_ASSIGN(all.scale, cast(all.scale, DType::kF32, emitter));
  return all;
}

const ops::NarrowType* narrow_float(int64_t number) {
  const ops::NarrowType* type = ops::find_narrow_type(number);
  return type != nullptr && type->is_float() ? type : nullptr;
}

bool has_blocks(const Draft& draft) { return draft.flag("block_size"); }

// (x - zero point) * scale in f32, node by node.
Terms dequantize(Draft draft, DType to, Emitter& emitter) {
  SHOAL_ASSIGN(const Aligned all, take_aligned(draft, emitter));
  SHOAL_ASSIGN(Term y, cast(all.x, DType::kF32, emitter));
  if (all.zero_point.given()) {
    SHOAL_ASSIGN(const Term zero, cast(all.zero_point, DType::kF32, emitter));
    SHOAL_ASSIGN(y, emitter.emit_one("Sub", {y, zero}));
  }
  if (to == DType::kF32) return emitter.emit_last(std::move(draft), "Mul", {y, all.scale});
  SHOAL_ASSIGN(y, emitter.emit_one("Mul", {y, all.scale}));
  return emitter.emit_last(std::move(draft), "Cast", {y}, {{"to", ops::onnx_number_of(to)}});
}

Terms dequantize_19(Draft draft, int64_t, Emitter& emitter) {
  if (!draft.has(0) || !draft.has(1)) return invalid("needs an input and a scale");
  DType to = draft.input(1).type.dtype;
  if (const int64_t number = draft.take<int64_t>("output_dtype").value_or(0); number != 0) {
    SHOAL_ASSIGN(to, ops::require_dtype(number));
    if (!Floats::contains(to)) return invalid("output_dtype is not a float");
    SHOAL_ASSIGN(Term scale, cast(draft.input(1), to, emitter));
    draft.set_input(1, std::move(scale));
  }
  if (has_blocks(draft) || narrow_float(draft.input(0).narrow) != nullptr) {
    return dequantize(std::move(draft), to, emitter);
  }
  draft.attributes.erase("block_size");
  return emitter.emit(std::move(draft));
}

// The least and the largest integer of a narrow type, as its tensors hold them.
std::pair<Term, Term> range_of(const ops::NarrowType& type) {
  const int64_t all = int64_t{1} << type.bits, low = type.is_signed() ? -all / 2 : 0;
  const auto held = [&](int64_t value) {
    return Term::of(ops::converted(Tensor::of<int64_t>({}, {value}), type.held));
  };
  return {held(low), held(low + all - 1)};
}

// Integers of a narrow type from those of the type that holds it.
Terms emit_clipped(Draft draft, const Term& y, const ops::NarrowType& type, Emitter& emitter) {
  const auto [low, high] = range_of(type);
  return emitter.emit_last(std::move(draft), "Clip", {y, low, high});
}

// The element type that QuantizeLinear gives.
struct Target {
  int64_t number;
  DType held;
  const ops::NarrowType* narrow;  // null: another type
};

Result<Target> take_target(Draft& draft) {
  const int64_t asked = draft.take<int64_t>("output_dtype").value_or(0);
  const Term& zero = draft.input(2);
  int64_t number = asked != 0 ? asked : ops::onnx_number_of(DType::kU8);
  if (zero.given()) {
    number = zero.narrow != 0 ? zero.narrow : ops::onnx_number_of(zero.type.dtype);
    if (asked != 0 && asked != number) {
      return invalid("output_dtype and the zero point do not agree");
    }
  }
  SHOAL_ASSIGN(const DType held, element_type(number));
  return Target{number, held, ops::find_narrow_type(number)};
}

// x / scale + zero point, rounded to the target; in f32, node by node.
Terms quantize(Draft draft, const Target& to, bool saturate, Emitter& emitter) {
  SHOAL_ASSIGN(const Aligned all, take_aligned(draft, emitter));
  const bool to_float = to.narrow != nullptr && to.narrow->is_float();
  SHOAL_ASSIGN(Term y, cast(all.x, DType::kF32, emitter));
  SHOAL_ASSIGN(y, emitter.emit_one("Div", {y, all.scale}));
  if (!to_float) {
    SHOAL_ASSIGN(y, emitter.emit_one("Round", {y}));
  }
  if (all.zero_point.given()) {
    SHOAL_ASSIGN(const Term zero, cast(all.zero_point, DType::kF32, emitter));
    SHOAL_ASSIGN(y, emitter.emit_one("Add", {y, zero}));
  }
  if (to_float) {
    return emitter.emit_last(std::move(draft), "NarrowCast", {y},
                             {{"type", to.number}, {"saturate", int64_t{saturate}}});
  }
  if (to.narrow == nullptr) {
    return emitter.emit_last(std::move(draft), "Cast", {y}, {{"to", to.number}});
  }
  SHOAL_ASSIGN(y, cast(y, to.held, emitter));
  return emit_clipped(std::move(draft), y, *to.narrow, emitter);
}

// `precision` is not read: the division is in f32.
Terms quantize_19(Draft draft, int64_t, Emitter& emitter) {
  if (!draft.has(0) || !draft.has(1)) return invalid("needs an input and a scale");
  draft.attributes.erase("precision");
  const bool saturate = draft.take<int64_t>("saturate").value_or(1) != 0;
  SHOAL_ASSIGN(const Target to, take_target(draft));
  if (has_blocks(draft) || (to.narrow != nullptr && to.narrow->is_float())) {
    return quantize(std::move(draft), to, saturate, emitter);
  }
  draft.attributes.erase("block_size");
  if (!draft.has(2)) {
    // One zero per scale. Scales are a vector at most, so this is not larger than they are.
    draft.set_input(2, Term::of(Tensor({to.held, draft.input(1).type.shape})));
  }
  if (to.narrow == nullptr) return emitter.emit(std::move(draft));
  SHOAL_ASSIGN(const Term y, emitter.emit_one("QuantizeLinear", draft.inputs, draft.attributes));
  return emit_clipped(std::move(draft), y, *to.narrow, emitter);
}

// Opset 21 takes scales of 16 bits, too.
Terms q_linear_mat_mul_21(Draft draft, int64_t, Emitter& emitter) {
  for (size_t i : {size_t{1}, size_t{4}, size_t{6}}) {
    if (!draft.has(i)) continue;
    SHOAL_ASSIGN(Term scale, cast(draft.input(i), DType::kF32, emitter));
    draft.set_input(i, std::move(scale));
  }
  return emitter.emit(std::move(draft));
}

}  // namespace

std::span<const RewriteEntry> quantize_rewrites() {
  static const std::vector<RewriteEntry> table = {
      {"DequantizeLinear", 19, kEver, dequantize_19, {"DequantizeLinear", "Cast", "Sub", "Mul"}},
      {"QLinearMatMul", 21, kEver, q_linear_mat_mul_21, {"QLinearMatMul", "Cast"}},
      {"QuantizeLinear",
       19,
       kEver,
       quantize_19,
       {"QuantizeLinear", "Cast", "Div", "Round", "Add", "Clip", "NarrowCast"}},
  };
  return table;
}

}  // namespace shoal::onnx
