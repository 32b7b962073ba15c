// Rewrites of element-wise operators: explicit broadcasting (before opset 7), and attributes that
// became inputs.
#include <array>

#include "shoal/model/onnx/opsets/normalize.h"
#include "shoal/model/ops/elementwise/cast.h"
#include "shoal/model/ops/narrow_type.h"
#include "shoal/model/ops/onnx_dtype.h"

namespace shoal::onnx {
namespace {

using Terms = Result<std::vector<Term>>;

// A known value needs no node, and as a constant it stays known to shape arithmetic.
Terms identity(Draft draft, int64_t, Emitter& emitter) {
  if (draft.input(0).constant.defined()) return std::vector{draft.input(0)};
  return emitter.emit(std::move(draft));
}

// Reshapes `term` so that it broadcasts as if its first axis were axis `axis` of a tensor of rank
// `rank`.
Result<Term> align_at(const Term& term, int64_t axis, size_t rank, Emitter& emitter) {
  const auto n = static_cast<int64_t>(rank), own = static_cast<int64_t>(term.rank());
  if (axis < 0) axis += n;
  if (axis < 0 || axis > n - own) return invalid("axis is out of range");
  if (axis + own == n) return term;
  Shape shape = term.type.shape;
  for (int64_t i = axis + own; i < n; ++i) shape.push_back(1);
  return emitter.emit_one("Reshape", {term, Term::ints_of(shape)});
}

// Before opset 7 the second input was stretched only where `broadcast` and `axis` said so. Shapes
// that did not need it broadcast to themselves now.
Terms broadcast_1(Draft draft, int64_t, Emitter& emitter) {
  const bool broadcast = draft.take<int64_t>("broadcast").value_or(0) != 0;
  const auto axis = draft.take<int64_t>("axis");
  if (broadcast && axis && draft.has(1)) {
    SHOAL_ASSIGN(Term aligned, align_at(draft.input(1), *axis, draft.input(0).rank(), emitter));
    draft.set_input(1, std::move(aligned));
  }
  return emitter.emit(std::move(draft));
}

// The slope of opset 1 and 6 has one element per channel, axis 1.
Terms prelu_1(Draft draft, int64_t, Emitter& emitter) {
  const Term slope = draft.input(1);
  if (slope.rank() == 1 && slope.type.shape[0] != 1 && draft.input(0).rank() >= 2) {
    SHOAL_ASSIGN(Term aligned, align_at(slope, 1, draft.input(0).rank(), emitter));
    draft.set_input(1, std::move(aligned));
  }
  return emitter.emit(std::move(draft));
}

// Before opset 11 the bounds were attributes.
Terms clip_1(Draft draft, int64_t, Emitter& emitter) {
  size_t input = 1;
  for (std::string_view key : {"min", "max"}) {
    if (const auto value = draft.take<float>(key)) {
      SHOAL_ASSIGN(Term bound, Term::scalar(*value, draft.input(0).type.dtype));
      draft.set_input(input, std::move(bound));
    }
    ++input;
  }
  return emitter.emit(std::move(draft));
}

// Before opset 6 the type was text: a name of TensorProto.DataType, whose index is the number.
Terms cast_1(Draft draft, int64_t, Emitter& emitter) {
  constexpr std::array<std::string_view, 17> names = {
      "UNDEFINED", "FLOAT",  "UINT8",     "INT8",       "UINT16",  "INT16",
      "INT32",     "INT64",  "STRING",    "BOOL",       "FLOAT16", "DOUBLE",
      "UINT32",    "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"};
  const std::string to = draft.take<std::string>("to").value_or("");
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == to) draft.attributes["to"] = static_cast<int64_t>(i);
  }
  return emitter.emit(std::move(draft));
}

// The number of the type that a Cast or a CastLike converts to.
int64_t target_of(const Draft& draft) {
  if (draft.op == "CastLike") {
    const Term& like = draft.input(1);
    return like.narrow != 0 ? like.narrow : ops::onnx_number_of(like.type.dtype);
  }
  const auto to = draft.attributes.find("to");
  const auto* number = to == draft.attributes.end() ? nullptr : std::get_if<int64_t>(&to->second);
  return number == nullptr ? 0 : *number;
}

// Opset 19 added element types that are held in wider ones, and says how numbers become one. Since
// then the vectors of ONNX round to the nearest bfloat16, where those before cut off.
Terms cast_19(Draft draft, int64_t, Emitter& emitter) {
  const int64_t to = target_of(draft);
  if (ops::find_narrow_type(to) != nullptr) {
    const Term x = draft.input(0);
    Attributes attributes = std::move(draft.attributes);
    attributes.erase("to");
    attributes["type"] = to;
    return emitter.emit_last(std::move(draft), "NarrowCast", {x}, std::move(attributes));
  }
  draft.attributes.erase("saturate");
  draft.attributes.erase(ops::kRoundMode);
  if (to == ops::onnx_number_of(DType::kBF16)) {
    draft.attributes[ops::kRoundMode] = std::string(ops::kNearest);
  }
  return emitter.emit(std::move(draft));
}

// The values of narrow types are here, their bits are not.
Terms bit_cast(Draft draft, int64_t, Emitter& emitter) {
  if (draft.input(0).narrow != 0 || ops::find_narrow_type(target_of(draft)) != nullptr) {
    return Status(Code::kUnsupported, "bits of elements narrower than a byte, or 8-bit floats");
  }
  return emitter.emit(std::move(draft));
}

// Before opset 12 a model could only ask for inference here, so the input and a mask of ones are
// left. The mask was of the input's type before opset 10.
Terms dropout_1(Draft draft, int64_t opset, Emitter& emitter) {
  const DType dtype = draft.input(0).type.dtype;
  draft.attributes.clear();
  draft.inputs.resize(1);
  SHOAL_ASSIGN(std::vector<Term> outputs, emitter.emit(std::move(draft)));
  if (outputs.size() > 1 && opset < 10) {
    SHOAL_ASSIGN(outputs[1],
                 emitter.emit_one("Cast", {outputs[1]}, {{"to", ops::onnx_number_of(dtype)}}));
  }
  return outputs;
}

}  // namespace

std::span<const RewriteEntry> elementwise_rewrites() {
  static const std::vector<RewriteEntry> table = {
      {"Add", 1, 6, broadcast_1},
      {"And", 1, 6, broadcast_1},
      {"BitCast", 26, kEver, bit_cast},
      {"Cast", 1, 5, cast_1},
      {"Cast", 19, kEver, cast_19, {"Cast", "NarrowCast"}},
      {"CastLike", 19, kEver, cast_19, {"CastLike", "NarrowCast"}},
      {"Clip", 1, 10, clip_1},
      {"Div", 1, 6, broadcast_1},
      {"Dropout", 1, 11, dropout_1, {"Dropout", "Cast"}},
      {"Equal", 1, 6, broadcast_1},
      {"Greater", 1, 6, broadcast_1},
      {"Identity", 1, kEver, identity},
      {"Less", 1, 6, broadcast_1},
      {"Mul", 1, 6, broadcast_1},
      {"Or", 1, 6, broadcast_1},
      {"PRelu", 1, 6, prelu_1},
      {"Pow", 1, 6, broadcast_1},
      {"Sub", 1, 6, broadcast_1},
      {"Xor", 1, 6, broadcast_1},
  };
  return table;
}

}  // namespace shoal::onnx
