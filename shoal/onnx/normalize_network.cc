// Rewrites of the layers of networks: Softmax, norms, reductions, resizing, quantisation.
#include <limits>

#include "shoal/onnx/normalize.h"

namespace shoal::onnx {
namespace {

using Terms = Result<std::vector<Term>>;
using Ints = std::vector<int64_t>;

constexpr int64_t kEver = std::numeric_limits<int64_t>::max();

Term ints_of(const Shape& shape) { return Term::ints(Ints(shape.begin(), shape.end())); }

// Before opset 13, Softmax flattened its input to two axes at `axis` and worked on the second.
Terms softmax_1(Draft draft, int64_t, Emitter& emitter) {
  const Term x = draft.input(0);
  const auto rank = static_cast<int64_t>(x.rank());
  int64_t axis = draft.take<int64_t>("axis").value_or(1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return invalid("axis is out of range");
  if (axis == rank - 1) {
    draft.attributes["axis"] = axis;
    return emitter.emit(std::move(draft));
  }
  SHOAL_ASSIGN(Term flat, emitter.emit("Flatten", {x}, {{"axis", axis}}));
  SHOAL_ASSIGN(Term y, emitter.emit(draft.op, {std::move(flat)}, {{"axis", int64_t{-1}}}));
  return emitter.emit(Draft{"Reshape",
                            {std::move(y), ints_of(x.type.shape)},
                            {},
                            std::move(draft.outputs),
                            std::move(draft.name)});
}

Terms reduce_sum_1(Draft draft, int64_t, Emitter& emitter) {
  if (auto axes = draft.take<Ints>("axes")) draft.set_input(1, Term::ints(*std::move(axes)));
  return emitter.emit(std::move(draft));
}

// Opset 18 made the axes an input everywhere; opset 17 has them as an attribute but for ReduceSum.
Terms reduce_18(Draft draft, int64_t, Emitter& emitter) {
  const bool noop = draft.take<int64_t>("noop_with_empty_axes").value_or(0) != 0;
  Ints axes;
  if (draft.has(1)) {
    SHOAL_ASSIGN(axes, emitter.integers(draft.input(1)));
  }
  draft.inputs.resize(1);
  if (axes.empty() && noop) {
    draft.op = "Identity";
    draft.attributes.clear();
  } else if (!axes.empty()) {
    draft.attributes["axes"] = std::move(axes);
  }
  return emitter.emit(std::move(draft));
}

// Before opset 14 one output meant inference; the others are of training, which is not run.
Terms batch_normalization_1(Draft draft, int64_t, Emitter& emitter) {
  draft.attributes.erase("is_test");
  const bool spatial = draft.take<int64_t>("spatial").value_or(1) != 0;
  if (!spatial && draft.input(0).rank() > 2) {
    return Status(Code::kUnsupported, "statistics per element (spatial = 0) are not supported");
  }
  draft.outputs.resize(1);
  return emitter.emit(std::move(draft));
}

// C of opset 1 and 6 stretches only if `broadcast` says so; now it always may.
Terms gemm_1(Draft draft, int64_t, Emitter& emitter) {
  draft.attributes.erase("broadcast");
  return emitter.emit(std::move(draft));
}

Terms resize_10(Draft draft, int64_t, Emitter& emitter) {
  draft.op = "Resize";
  draft.inputs = {draft.input(0), Term(), draft.input(1)};
  draft.attributes.try_emplace("mode", "nearest");
  if (attribute<std::string>(draft.attributes, "mode", "") == "bilinear") {
    draft.attributes["mode"] = std::string("linear");
  }
  draft.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
  draft.attributes["nearest_mode"] = std::string("floor");
  return emitter.emit(std::move(draft));
}

Terms upsample_1(Draft draft, int64_t opset, Emitter& emitter) {
  std::vector<float> scales =
      draft.take<std::vector<float>>("scales").value_or(std::vector<float>());
  if (scales.empty()) {  // opset 1
    const auto height = draft.take<float>("height_scale"), width = draft.take<float>("width_scale");
    if (!height || !width || draft.input(0).rank() != 4) return invalid("has no scales");
    scales = {1, 1, *height, *width};
  }
  draft.set_input(1, Term::of(Tensor::of<float>({static_cast<int64_t>(scales.size())},
                                                std::span<const float>(scales))));
  return resize_10(std::move(draft), opset, emitter);
}

}  // namespace

std::span<const RewriteEntry> network_rewrites() {
  static const std::vector<RewriteEntry> table = {
      {"BatchNormalization", 1, 13, batch_normalization_1},
      {"Gemm", 1, 6, gemm_1},
      {"Hardmax", 1, 12, softmax_1, {"Hardmax", "Flatten", "Reshape"}},
      {"LogSoftmax", 1, 12, softmax_1, {"LogSoftmax", "Flatten", "Reshape"}},
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
      {"Softmax", 1, 12, softmax_1},
      {"Upsample", 1, 8, upsample_1, {"Resize"}},
      {"Upsample", 9, kEver, resize_10, {"Resize"}},
  };
  return table;
}

std::span<const RewriteEntry> microsoft_rewrites() { return {}; }

}  // namespace shoal::onnx
