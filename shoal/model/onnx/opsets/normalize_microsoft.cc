// Operators of the domain com.microsoft, which ONNX Runtime writes into optimised models: those
// that are common and plain combinations of ONNX operators.
#include <algorithm>

#include "shoal/model/onnx/opsets/normalize.h"

namespace shoal::onnx {
namespace {

using Terms = Result<std::vector<Term>>;

// y = activation(conv(x, w, b) + z)
Terms fused_conv(Draft draft, int64_t, Emitter& emitter) {
  const std::string activation = draft.take<std::string>("activation").value_or("");
  const auto params =
      draft.take<std::vector<float>>("activation_params").value_or(std::vector<float>());
  Attributes attributes = std::move(draft.attributes);
  SHOAL_ASSIGN(Term y, emitter.emit_one("Conv", {draft.input(0), draft.input(1), draft.input(2)},
                                        std::move(attributes)));
  if (draft.has(3)) {
    SHOAL_ASSIGN(y, emitter.emit_one("Add", {y, draft.input(3)}));
  }
  if (activation == "Relu" || activation == "Sigmoid" || activation == "Tanh") {
    return emitter.emit_last(std::move(draft), activation, {y});
  }
  if (activation == "LeakyRelu" && params.size() == 1) {
    return emitter.emit_last(std::move(draft), activation, {y}, {{"alpha", params[0]}});
  }
  if (activation == "HardSigmoid" && params.size() == 2) {
    return emitter.emit_last(std::move(draft), activation, {y},
                             {{"alpha", params[0]}, {"beta", params[1]}});
  }
  if (activation == "Clip" && params.size() == 2) {
    SHOAL_ASSIGN(Term low, Term::scalar(params[0], y.type.dtype));
    SHOAL_ASSIGN(Term high, Term::scalar(params[1], y.type.dtype));
    return emitter.emit_last(std::move(draft), activation, {y, low, high});
  }
  return Status(Code::kUnsupported, "this activation is not supported");
}

// y = gelu(x + bias); the fast form approximates by tanh.
Terms gelu(Draft draft, int64_t, Emitter& emitter) {
  Term x = draft.input(0);
  const Attributes attributes = {
      {"approximate", std::string(draft.op == "FastGelu" ? "tanh" : "none")}};
  if (draft.has(1)) {
    SHOAL_ASSIGN(x, emitter.emit_one("Add", {x, draft.input(1)}));
  }
  return emitter.emit_last(std::move(draft), "Gelu", {x}, attributes);
}

// y = x * sigmoid(alpha * x)
Terms quick_gelu(Draft draft, int64_t, Emitter& emitter) {
  const Term x = draft.input(0);
  SHOAL_ASSIGN(Term alpha, Term::scalar(draft.take<float>("alpha").value_or(1.702f), x.type.dtype));
  SHOAL_ASSIGN(Term y, emitter.emit_one("Mul", {x, alpha}));
  SHOAL_ASSIGN(y, emitter.emit_one("Sigmoid", {y}));
  return emitter.emit_last(std::move(draft), "Mul", {x, y});
}

// y = layer_norm(x + skip + bias) * gamma + beta; the fourth output is the sum itself.
Terms skip_layer_normalization(Draft draft, int64_t, Emitter& emitter) {
  SHOAL_ASSIGN(Term sum, emitter.emit_one("Add", {draft.input(0), draft.input(1)}));
  if (draft.has(4)) {
    SHOAL_ASSIGN(sum, emitter.emit_one("Add", {sum, draft.input(4)}));
  }
  const float epsilon = draft.take<float>("epsilon").value_or(1e-12f);
  const size_t outputs = draft.outputs.size();
  draft.outputs.resize(std::min<size_t>(outputs, 3));
  const std::vector<Term> inputs = {sum, draft.input(2), draft.input(3)};
  SHOAL_ASSIGN(std::vector<Term> terms,
               emitter.emit_last(std::move(draft), "LayerNormalization", inputs,
                                 {{"axis", int64_t{-1}}, {"epsilon", epsilon}}));
  if (outputs > 3) terms.push_back(sum);
  return terms;
}

// Zero points may be left out. They are 0 then, in the element type of their tensor.
void complete_zero_points(Draft& draft, std::initializer_list<size_t> zero_points, DType dtype) {
  for (size_t i : zero_points) {
    if (!draft.has(i)) draft.set_input(i, Term::of(Tensor({dtype, {}})));
  }
}

Terms q_linear_add(Draft draft, int64_t, Emitter& emitter) {
  complete_zero_points(draft, {2, 5, 7}, draft.input(0).type.dtype);
  return emitter.emit(std::move(draft));
}

Terms q_linear_global_average_pool(Draft draft, int64_t, Emitter& emitter) {
  if (draft.take<int64_t>("channels_last").value_or(0) != 0) {
    return Status(Code::kUnsupported, "images with channels last are not supported");
  }
  complete_zero_points(draft, {2, 4}, draft.input(0).type.dtype);
  return emitter.emit(std::move(draft));
}

// y = alpha * a' b' + c, where ' transposes if the attribute says so.
Terms q_gemm(Draft draft, int64_t, Emitter& emitter) {
  if (draft.take<int64_t>("transA").value_or(0) != 0 ||
      draft.take<float>("alpha").value_or(1) != 1) {
    return Status(Code::kUnsupported, "transA and alpha are not supported");
  }
  return emitter.emit(std::move(draft));
}

}  // namespace

std::span<const RewriteEntry> microsoft_rewrites() {
  static const std::vector<RewriteEntry> table = {
      {"BiasGelu", 1, kEver, gelu, {"Add", "Gelu"}},
      {"FastGelu", 1, kEver, gelu, {"Add", "Gelu"}},
      {"FusedConv",
       1,
       kEver,
       fused_conv,
       {"Conv", "Add", "Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "Clip"}},
      {"Gelu", 1, kEver, gelu, {"Add", "Gelu"}},
      {"QGemm", 1, kEver, q_gemm, {"QGemm"}},
      {"QLinearAdd", 1, kEver, q_linear_add, {"QLinearAdd"}},
      {"QLinearGlobalAveragePool",
       1,
       kEver,
       q_linear_global_average_pool,
       {"QLinearGlobalAveragePool"}},
      {"QuickGelu", 1, kEver, quick_gelu, {"Mul", "Sigmoid"}},
      {"SkipLayerNormalization", 1, kEver, skip_layer_normalization, {"Add", "LayerNormalization"}},
  };
  return table;
}

}  // namespace shoal::onnx
