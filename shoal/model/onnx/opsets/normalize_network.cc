// Rewrites of the layers of networks: Softmax, norms, reductions, pools, resizing.
#include <algorithm>

#include "shoal/base/limits.h"
#include "shoal/model/onnx/opsets/normalize.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/require.h"

namespace shoal::onnx {
namespace {

using Terms = Result<std::vector<Term>>;
using Ints = std::vector<int64_t>;
using Floats32 = std::vector<float>;

Term floats(const Floats32& values) {
  return Term::of(
      Tensor::of<float>({static_cast<int64_t>(values.size())}, std::span<const float>(values)));
}

// Before opset 13 Softmax flattened its input to two axes at `axis` and normalized the second:
// Softmax(Flatten(x)), reshaped back. For the last axis both definitions agree.
Terms softmax_1(Draft draft, int64_t, Emitter& emitter) {
  const Term x = draft.input(0);
  const int64_t axis = draft.take<int64_t>("axis").value_or(1);
  SHOAL_ASSIGN(const size_t first, ops::require_axis(axis, x.rank()));
  if (first + 1 == x.rank()) {
    draft.attributes["axis"] = axis;
    return emitter.emit(std::move(draft));
  }
  SHOAL_ASSIGN(Term flat, emitter.emit_one("Flatten", {x}, {{"axis", axis}}));
  SHOAL_ASSIGN(Term y, emitter.emit_one(draft.op, {std::move(flat)}, {{"axis", int64_t{-1}}}));
  return emitter.emit_last(std::move(draft), "Reshape",
                           {std::move(y), Term::ints_of(x.type.shape)});
}

Terms reduce_sum_1(Draft draft, int64_t, Emitter& emitter) {
  if (auto axes = draft.take<Ints>("axes")) draft.set_input(1, Term::ints(*std::move(axes)));
  return emitter.emit(std::move(draft));
}

// Opset 18 made the axes an input of all reductions. In opset 17 they are an attribute, except for
// ReduceSum.
Terms reduce_18(Draft draft, int64_t, Emitter& emitter) {
  const bool noop = draft.take<int64_t>("noop_with_empty_axes").value_or(0) != 0;
  Ints axes;
  if (draft.has(1)) {
    SHOAL_ASSIGN(axes, emitter.integers(draft.input(1)));
  }
  if (draft.inputs.size() > 1) draft.inputs.resize(1);
  // Without axes, noop_with_empty_axes makes it a copy; otherwise all axes are reduced.
  if (axes.empty() && noop) return emitter.emit_last(draft, "Identity", draft.inputs);
  if (!axes.empty()) draft.attributes["axes"] = std::move(axes);
  return emitter.emit(std::move(draft));
}

// Before opset 14 one output meant inference. The other outputs belong to training, which these
// opsets cannot be run in here.
Terms batch_normalization_1(Draft draft, int64_t, Emitter& emitter) {
  draft.attributes.erase("is_test");
  const bool spatial = draft.take<int64_t>("spatial").value_or(1) != 0;
  if (!spatial && draft.input(0).rank() > 2) {
    return Status(Code::kUnsupported, "statistics per element (spatial = 0) are not supported");
  }
  draft.outputs.resize(1);
  return emitter.emit(std::move(draft));
}

// Before opset 7 C was stretched only if `broadcast` said so; now it always may.
Terms gemm_1(Draft draft, int64_t, Emitter& emitter) {
  draft.attributes.erase("broadcast");
  return emitter.emit(std::move(draft));
}

// In opset 1 the exponent was a float.
Terms lp_pool_1(Draft draft, int64_t, Emitter& emitter) {
  const auto p = draft.take<float>("p");
  if (p && !(*p >= 1 && *p <= 1e6f)) return invalid("p is out of range");
  if (p) draft.attributes["p"] = static_cast<int64_t>(*p);
  return emitter.emit(std::move(draft));
}

Terms recurrent_1(Draft draft, int64_t, Emitter& emitter) {
  draft.attributes.erase("output_sequence");  // an output that is named is wanted
  return emitter.emit(std::move(draft));
}

// Upsample, and Resize of opset 10, sample at x * in / out and round down.
Terms resize_10(Draft draft, int64_t, Emitter& emitter) {
  draft.op = "Resize";
  draft.inputs = {draft.input(0), Term(), draft.input(1)};
  if (draft.take<std::string>("mode").value_or("nearest") != "nearest") {
    draft.attributes["mode"] = std::string("linear");  // "bilinear" in opset 1
  }
  draft.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
  draft.attributes["nearest_mode"] = std::string("floor");
  return emitter.emit(std::move(draft));
}

// In opset 11 an input could also be left out by giving an empty tensor.
Terms resize_11(Draft draft, int64_t, Emitter& emitter) {
  for (size_t i = 1; i < draft.inputs.size(); ++i) {
    if (draft.has(i) && draft.input(i).type.shape.count() == 0) draft.set_input(i, Term());
  }
  return emitter.emit(std::move(draft));
}

Terms upsample_1(Draft draft, int64_t opset, Emitter& emitter) {
  Floats32 scales = draft.take<Floats32>("scales").value_or(Floats32());
  if (scales.empty()) {  // opset 1
    const auto height = draft.take<float>("height_scale"), width = draft.take<float>("width_scale");
    if (!height || !width || draft.input(0).rank() != 4) return invalid("has no scales");
    scales = {1, 1, *height, *width};
  }
  draft.set_input(1, floats(scales));
  return resize_10(std::move(draft), opset, emitter);
}

// Opset 20 added volumes and renamed the modes.
Terms grid_sample_20(Draft draft, int64_t, Emitter& emitter) {
  const std::string mode = draft.take<std::string>("mode").value_or("linear");
  draft.attributes["mode"] = mode == "linear" ? "bilinear" : mode == "cubic" ? "bicubic" : mode;
  return emitter.emit(std::move(draft));
}

// The coordinates of n points from -1 to 1, along one axis of a tensor: with the ends
// (align_corners), or the middles of n equal parts.
Result<Term> coordinates(int64_t n, bool ends, DType dtype, size_t rank, size_t axis) {
  if (!Floats::contains(dtype)) return invalid("takes only floats");
  TensorType type{dtype, Shape::filled(rank, 1)};
  type.shape[axis] = n;
  SHOAL_TRY(check(type));
  Tensor tensor(type);
  const double step = 2.0 / static_cast<double>(ends ? std::max<int64_t>(n - 1, 1) : n);
  const double first = !ends ? step / 2 - 1 : n == 1 ? 0 : -1;
  visit<Floats>(dtype, [&]<class T>() {
    double next = first;
    for (T& x : tensor.data<T>()) {
      x = static_cast<T>(static_cast<Compute<T>>(next));
      next += step;
    }
  });
  return Term::of(std::move(tensor));
}

// Column k of theta, [n, axes, axes + 1], as [n, 1, ..., 1, axes], which broadcasts to all pixels.
Result<Term> column_of(const Term& theta, size_t k, Emitter& emitter) {
  const Shape& from = theta.type.shape;
  Shape to = Shape::filled(static_cast<size_t>(from[1]) + 2, 1);
  to[0] = from[0];
  to[to.rank() - 1] = from[1];
  const Term index = Term::of(Tensor::of<int64_t>({}, {static_cast<int64_t>(k)}));
  SHOAL_ASSIGN(Term column, emitter.emit_one("Gather", {theta, index}, {{"axis", int64_t{2}}}));
  return emitter.emit_one("Reshape", {std::move(column), Term::ints_of(to)});
}

// grid = theta (x, y, 1)^T for every pixel of an image, or theta (x, y, z, 1)^T of a volume: the
// sum of the columns of theta, each times one coordinate.
Terms affine_grid(Draft draft, int64_t, Emitter& emitter) {
  const Term theta = draft.input(0);
  SHOAL_ASSIGN(const Ints size, emitter.integers(draft.input(1)));
  const bool ends = draft.take<int64_t>("align_corners").value_or(0) != 0;
  const size_t rank = size.size();
  if (rank != 4 && rank != 5) return invalid("takes the size of images and volumes");
  const auto columns = static_cast<int64_t>(rank) - 1;
  if (theta.type.shape != Shape{size[0], columns - 1, columns}) {
    return invalid("theta " + to_string(theta.type.shape) + " does not fit the size");
  }
  auto product = [&](size_t k) -> Result<Term> {
    SHOAL_ASSIGN(Term place,
                 coordinates(size[rank - 1 - k], ends, theta.type.dtype, rank, rank - 2 - k));
    SHOAL_ASSIGN(Term column, column_of(theta, k, emitter));
    return emitter.emit_one("Mul", {std::move(place), std::move(column)});
  };
  SHOAL_ASSIGN(Term sum, column_of(theta, rank - 2, emitter));
  for (size_t k = rank - 3; k > 0; --k) {
    SHOAL_ASSIGN(Term one, product(k));
    SHOAL_ASSIGN(sum, emitter.emit_one("Add", {std::move(sum), std::move(one)}));
  }
  SHOAL_ASSIGN(Term last, product(0));
  return emitter.emit_last(std::move(draft), "Add", {std::move(sum), std::move(last)});
}

// The inverse of a one-sided transform, [..., length / 2 + 1, ..., 2] -> [..., length, ..., 1]: the
// other frequencies are conjugates of those given, and the real part is left of the inverse.
Terms inverse_onesided(Draft draft, size_t axis, Emitter& emitter) {
  Term x = draft.input(0);
  const size_t rank = x.rank();
  if (axis + 1 >= rank || x.type.shape[rank - 1] != 2) return invalid("takes complex numbers");
  int64_t length = 2 * (x.type.shape[axis] - 1);
  if (draft.has(1)) {
    SHOAL_ASSIGN(const Ints given, emitter.integers(draft.input(1)));
    if (given.size() != 1) return invalid("dft_length is one number");
    length = given[0];
  }
  if (length < 1 || length > kLimits.max_dimension) return invalid("dft_length is out of range");
  const int64_t half = length / 2 + 1;
  const Term at = Term::ints({static_cast<int64_t>(axis)});
  Ints pads(2 * rank, 0);
  pads[rank + axis] = half - x.type.shape[axis];  // less than 0: cut
  SHOAL_ASSIGN(x, emitter.emit_one("Pad", {x, Term::ints(pads)}));
  SHOAL_ASSIGN(Term others, emitter.emit_one("Slice", {x, Term::ints({length - half}),
                                                       Term::ints({0}), at, Term::ints({-1})}));
  const Tensor sign = ops::converted(Tensor::of<float>({2}, {1, -1}), x.type.dtype);
  SHOAL_ASSIGN(others, emitter.emit_one("Mul", {others, Term::of(sign)}));
  const Attributes along = {{"axis", static_cast<int64_t>(axis)}};
  SHOAL_ASSIGN(x, emitter.emit_one("Concat", {x, others}, along));
  SHOAL_ASSIGN(x, emitter.emit_one(
                      "DFT", {x}, {{"axis", static_cast<int64_t>(axis)}, {"inverse", int64_t{1}}}));
  return emitter.emit_last(std::move(draft), "Slice",
                           {x, Term::ints({0}), Term::ints({1}), Term::ints({-1})});
}

Terms emit_dft(Draft draft, int64_t axis, Emitter& emitter) {
  SHOAL_ASSIGN(const size_t counted, ops::require_axis(axis, draft.input(0).rank()));
  const bool inverse = draft.flag("inverse");
  if (inverse && draft.flag("onesided")) {
    return inverse_onesided(std::move(draft), counted, emitter);
  }
  draft.attributes["axis"] = static_cast<int64_t>(counted);
  return emitter.emit(std::move(draft));
}

Terms dft_17(Draft draft, int64_t, Emitter& emitter) {
  const int64_t axis = draft.take<int64_t>("axis").value_or(1);
  return emit_dft(std::move(draft), axis, emitter);
}

// Opset 20 made the axis an input, by default the last but one.
Terms dft_20(Draft draft, int64_t, Emitter& emitter) {
  int64_t axis = -2;
  if (draft.has(2)) {
    SHOAL_ASSIGN(const Ints axes, emitter.integers(draft.input(2)));
    if (axes.size() != 1) return invalid("axis is one number");
    axis = axes[0];
    draft.set_input(2, Term());
  }
  return emit_dft(std::move(draft), axis, emitter);
}

// RMSNormalization gives the type of its scale.
Terms rms_normalization(Draft draft, int64_t, Emitter& emitter) {
  const DType from = draft.input(0).type.dtype, to = draft.input(1).type.dtype;
  if (from == to || !draft.has(1)) return emitter.emit(std::move(draft));
  SHOAL_ASSIGN(const Term scale,
               emitter.emit_one("Cast", {draft.input(1)}, {{"to", ops::onnx_number_of(from)}}));
  SHOAL_ASSIGN(const Term y, emitter.emit_one(draft.op, {draft.input(0), scale}, draft.attributes));
  return emitter.emit_last(std::move(draft), "Cast", {y}, {{"to", ops::onnx_number_of(to)}});
}

// Before opset 9 the axes followed from other attributes.
Terms mean_variance_normalization_1(Draft draft, int64_t, Emitter& emitter) {
  if (draft.take<int64_t>("normalize_variance").value_or(1) == 0) {
    return Status(Code::kUnsupported, "normalize_variance = 0 is not supported");
  }
  const bool across = draft.take<int64_t>("across_channels").value_or(0) != 0;
  draft.attributes["axes"] = across ? Ints{0, 1, 2, 3} : Ints{0, 2, 3};
  return emitter.emit(std::move(draft));
}

}  // namespace

std::span<const RewriteEntry> network_rewrites() {
  static const std::vector<RewriteEntry> table = {
      {"AffineGrid", 20, kEver, affine_grid, {"Gather", "Reshape", "Mul", "Add"}},
      {"BatchNormalization", 1, 13, batch_normalization_1},
      {"DFT", 17, 19, dft_17, {"DFT", "Pad", "Slice", "Concat", "Mul"}},
      {"DFT", 20, kEver, dft_20, {"DFT", "Pad", "Slice", "Concat", "Mul"}},
      {"GRU", 1, 6, recurrent_1},
      {"Gemm", 1, 6, gemm_1},
      {"GlobalLpPool", 1, 1, lp_pool_1},
      {"GridSample", 20, kEver, grid_sample_20},
      {"Hardmax", 1, 12, softmax_1, {"Hardmax", "Flatten", "Reshape"}},
      {"LSTM", 1, 6, recurrent_1},
      {"LogSoftmax", 1, 12, softmax_1, {"LogSoftmax", "Flatten", "Reshape"}},
      {"LpPool", 1, 1, lp_pool_1},
      {"MeanVarianceNormalization", 1, 8, mean_variance_normalization_1},
      {"RMSNormalization", 23, kEver, rms_normalization, {"RMSNormalization", "Cast"}},
      {"RNN", 1, 6, recurrent_1},
      {"ReduceL1", 18, kEver, reduce_18},
      {"ReduceL2", 18, kEver, reduce_18},
      {"ReduceLogSum", 18, kEver, reduce_18},
      {"ReduceLogSumExp", 18, kEver, reduce_18},
      {"ReduceMax", 18, kEver, reduce_18},
      {"ReduceMean", 18, kEver, reduce_18},
      {"ReduceMin", 18, kEver, reduce_18},
      {"ReduceProd", 18, kEver, reduce_18},
      {"ReduceSum", 1, 12, reduce_sum_1},
      {"ReduceSumSquare", 18, kEver, reduce_18},
      {"Resize", 10, 10, resize_10},
      {"Resize", 11, kEver, resize_11},
      {"Softmax", 1, 12, softmax_1, {"Softmax", "Flatten", "Reshape"}},
      {"Upsample", 1, 8, upsample_1, {"Resize"}},
      {"Upsample", 9, kEver, resize_10, {"Resize"}},
  };
  return table;
}

}  // namespace shoal::onnx
