// Rewrites of operators that move elements. Most turn an attribute into the input that replaced it
// in a later opset.
#include <numeric>

#include "shoal/base/limits.h"
#include "shoal/model/onnx/opsets/normalize.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/require.h"

namespace shoal::onnx {
namespace {

using Terms = Result<std::vector<Term>>;
using Ints = std::vector<int64_t>;

// Turns an attribute into the input that the newer form has in its place. Without the attribute the
// input is left out.
void attribute_to_input(Draft& draft, std::string_view key, size_t input) {
  if (auto values = draft.take<Ints>(key)) draft.set_input(input, Term::ints(*std::move(values)));
}

Terms axes_to_input(Draft draft, int64_t, Emitter& emitter) {
  attribute_to_input(draft, "axes", 1);
  return emitter.emit(std::move(draft));
}

Terms reshape_1(Draft draft, int64_t, Emitter& emitter) {
  attribute_to_input(draft, "shape", 1);
  return emitter.emit(std::move(draft));
}

// Before opset 4 the axis had a default.
Terms concat_1(Draft draft, int64_t, Emitter& emitter) {
  draft.attributes.try_emplace("axis", int64_t{1});
  return emitter.emit(std::move(draft));
}

Terms slice_1(Draft draft, int64_t, Emitter& emitter) {
  attribute_to_input(draft, "starts", 1);
  attribute_to_input(draft, "ends", 2);
  attribute_to_input(draft, "axes", 3);
  return emitter.emit(std::move(draft));
}

// In opset 1 the sizes could be an input already; opset 2 made them an attribute, opset 13 an input
// again.
Terms split_2(Draft draft, int64_t opset, Emitter& emitter) {
  if (opset == 1 && draft.has(1)) return emitter.emit(std::move(draft));
  attribute_to_input(draft, "split", 1);
  return emitter.emit(std::move(draft));
}

// Opset 18 allows a last part that is smaller.
Terms split_18(Draft draft, int64_t, Emitter& emitter) {
  const auto parts = draft.take<int64_t>("num_outputs");
  if (!parts || draft.has(1)) return emitter.emit(std::move(draft));
  SHOAL_ASSIGN(const size_t axis, ops::require_axis(attribute<int64_t>(draft.attributes, "axis", 0),
                                                    draft.input(0).rank()));
  if (*parts != static_cast<int64_t>(draft.outputs.size())) {
    return invalid("num_outputs is not the number of outputs");
  }
  const int64_t size = draft.input(0).type.shape[axis];
  const int64_t part = (size + *parts - 1) / *parts;
  Ints sizes(draft.outputs.size(), part);
  sizes.back() = size - part * (*parts - 1);
  if (sizes.back() < 0) return invalid("there are more parts than elements");
  draft.set_input(1, Term::ints(std::move(sizes)));
  return emitter.emit(std::move(draft));
}

// The one element of a tensor of any type.
Result<double> number(const Term& term, Emitter& emitter) {
  SHOAL_ASSIGN(const Tensor tensor, emitter.elements(term));
  if (tensor.count() != 1 || !Numbers::contains(tensor.dtype())) {
    return invalid("tiles and axis are one number each");
  }
  return ops::converted(tensor, DType::kF64).data<double>()[0];
}

// Before opset 6 Tile repeated along one axis, and both numbers were of the input's own type.
Terms tile_1(Draft draft, int64_t, Emitter& emitter) {
  SHOAL_ASSIGN(const double tiles, number(draft.input(1), emitter));
  SHOAL_ASSIGN(const double axis, number(draft.input(2), emitter));
  const size_t rank = draft.input(0).rank();
  if (!(axis >= 0 && axis < static_cast<double>(rank))) return invalid("axis is out of range");
  if (!(tiles >= 0 && tiles < 1e9)) return invalid("tiles is out of range");
  Ints repeats(rank, 1);
  repeats[static_cast<size_t>(axis)] = static_cast<int64_t>(tiles);
  draft.inputs = {draft.input(0), Term::ints(std::move(repeats))};
  return emitter.emit(std::move(draft));
}

Terms pad_1(Draft draft, int64_t, Emitter& emitter) {
  attribute_to_input(draft, "paddings", 1);  // opset 1
  attribute_to_input(draft, "pads", 1);
  const float value = draft.take<float>("value").value_or(0.0f);
  SHOAL_ASSIGN(Term constant, Term::scalar(value, draft.input(0).type.dtype));
  draft.set_input(2, std::move(constant));
  return emitter.emit(std::move(draft));
}

// Opset 18 can name axes. Their pads become pads of all axes.
Terms pad_18(Draft draft, int64_t, Emitter& emitter) {
  if (!draft.has(3)) return emitter.emit(std::move(draft));
  SHOAL_ASSIGN(const Ints pads, emitter.integers(draft.input(1)));
  SHOAL_ASSIGN(const Ints axes, emitter.integers(draft.input(3)));
  const size_t rank = draft.input(0).rank();
  if (pads.size() != 2 * axes.size()) return invalid("pads and axes do not go together");
  Ints all(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    SHOAL_ASSIGN(const size_t axis, ops::require_axis(axes[i], rank));
    all[axis] = pads[i];
    all[rank + axis] = pads[axes.size() + i];
  }
  draft.set_input(1, Term::ints(std::move(all)));
  draft.set_input(3, Term());
  return emitter.emit(std::move(draft));
}

// Crops or pads with zeros on both sides, with an odd element at the end. Both are a Pad.
Terms center_crop_pad(Draft draft, int64_t, Emitter& emitter) {
  const Shape& from = draft.input(0).type.shape;
  Ints axes(from.rank());
  std::iota(axes.begin(), axes.end(), 0);
  axes = draft.take<Ints>("axes").value_or(std::move(axes));
  SHOAL_TRY(ops::require_axes(axes, from.rank()).status());
  SHOAL_ASSIGN(const Ints sizes, emitter.integers(draft.input(1)));
  if (sizes.size() != axes.size()) return invalid("shape and axes do not go together");
  Ints pads(2 * from.rank(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > kLimits.max_dimension) return invalid("shape is out of range");
    const size_t axis = ops::axis_in(axes[i], from.rank());
    pads[axis] = (sizes[i] - from[axis]) / 2;
    pads[from.rank() + axis] = sizes[i] - from[axis] - pads[axis];
  }
  const Term x = draft.input(0);
  return emitter.emit_last(std::move(draft), "Pad", {x, Term::ints(std::move(pads))});
}

Terms top_k_1(Draft draft, int64_t, Emitter& emitter) {
  draft.set_input(1, Term::ints({draft.take<int64_t>("k").value_or(0)}));
  return emitter.emit(std::move(draft));
}

// Scatter was renamed in opset 11.
Terms scatter(Draft draft, int64_t, Emitter& emitter) {
  draft.op = "ScatterElements";
  return emitter.emit(std::move(draft));
}

}  // namespace

std::span<const RewriteEntry> movement_rewrites() {
  static const std::vector<RewriteEntry> table = {
      {"CenterCropPad", 18, kEver, center_crop_pad, {"Pad"}},
      {"Concat", 1, 3, concat_1},
      {"Pad", 1, 10, pad_1},
      {"Pad", 18, kEver, pad_18},
      {"Reshape", 1, 4, reshape_1},
      {"Scatter", 1, kEver, scatter, {"ScatterElements"}},
      {"Slice", 1, 9, slice_1},
      {"Split", 1, 12, split_2},
      {"Split", 18, kEver, split_18},
      {"Squeeze", 1, 12, axes_to_input},
      {"Tile", 1, 5, tile_1},
      {"TopK", 1, 9, top_k_1},
      {"Unsqueeze", 1, 12, axes_to_input},
  };
  return table;
}

}  // namespace shoal::onnx
