#include "shoal/ops/elementwise/fused_activation.h"

#include <limits>
#include <string>

#include "shoal/ops/convert.h"
#include "shoal/ops/ops.h"

namespace shoal::ops {
namespace {

using Kind = Activation::Kind;

struct Entry {
  const Operator* op;
  Activation plain;  // as it is where attributes or bounds are left out
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

constexpr Entry kTable[] = {
    {&relu, {Kind::kRelu}},
    {&leaky_relu, {Kind::kLeakyRelu, 0.01f}},
    {&clip, {Kind::kClip, -kInfinity, kInfinity}},
    {&sigmoid, {Kind::kSigmoid}},
    {&tanh, {Kind::kTanh}},
    {&hard_sigmoid, {Kind::kHardSigmoid, 0.2f, 0.5f}},
    {&hard_swish, {Kind::kHardSwish}},
    {&gelu, {Kind::kGelu}},
    {&swish, {Kind::kSwish, 1}},
};

const Entry* entry_of(Kind kind) {
  auto it = std::ranges::find(kTable, kind, [](const Entry& e) { return e.plain.kind; });
  return it == std::end(kTable) ? nullptr : it;
}

// A bound of Clip: input i, or `fallback` if it is not given. Nothing if it is not constant.
std::optional<float> bound(std::span<const Operand> inputs, size_t i, float fallback) {
  if (i >= inputs.size() || !inputs[i].given) return fallback;
  if (inputs[i].value == nullptr || inputs[i].type.shape.count() != 1 ||
      !Floats::contains(inputs[i].type.dtype)) {
    return std::nullopt;
  }
  return converted(*inputs[i].value, DType::kF32).data<float>()[0];
}

}  // namespace

Result<Activation> require_activation(const Node& node) {
  const std::string name = node.text("activation", "");
  if (name.empty()) return Activation{};
  for (const Entry& entry : kTable) {
    if (entry.op->name != name) continue;
    return Activation{entry.plain.kind, node.real("activation_alpha", entry.plain.alpha),
                      node.real("activation_beta", entry.plain.beta)};
  }
  return invalid("activation " + name + " is not one that can be fused");
}

Activation activation_of(const Node& node) {
  auto activation = require_activation(node);
  SHOAL_CHECK(activation.ok());
  return *activation;
}

void set_activation(Attributes& attributes, const Activation& activation) {
  const Entry* entry = entry_of(activation.kind);
  attributes["activation"] = entry ? std::string(entry->op->name) : std::string();
  attributes["activation_alpha"] = activation.alpha;
  attributes["activation_beta"] = activation.beta;
}

std::optional<Activation> as_activation(const Node& node, std::span<const Operand> inputs) {
  auto entry = std::ranges::find(kTable, node.op, &Entry::op);
  if (entry == std::end(kTable)) return std::nullopt;
  Activation activation = entry->plain;
  if (activation.kind == Kind::kClip) {
    const auto low = bound(inputs, 1, activation.alpha), high = bound(inputs, 2, activation.beta);
    if (!low || !high) return std::nullopt;
    return Activation{Kind::kClip, *low, *high};
  }
  if (activation.kind == Kind::kGelu && node.text("approximate", "none") != "none") {
    return std::nullopt;
  }
  activation.alpha = node.real("alpha", activation.alpha);
  activation.beta = node.real("beta", activation.beta);
  return activation;
}

Result<ValueId> append(const Activation& activation, ValueId x, Graph& graph) {
  const Entry* entry = entry_of(activation.kind);
  if (entry == nullptr) return x;
  Node node{entry->op, {x}, {}, {}, {}};
  switch (activation.kind) {
    case Kind::kClip: {
      const DType dtype = graph[x].type.dtype;
      for (float limit : {activation.alpha, activation.beta}) {
        node.inputs.push_back(
            graph.add_constant("bound", converted(Tensor::of<float>({}, {limit}), dtype)));
      }
      break;
    }
    case Kind::kGelu:
    case Kind::kSwish: {
      node.attributes["alpha"] = activation.alpha;
      SHOAL_ASSIGN(const std::vector<ValueId> y, node.op->expand(node, node.inputs, graph));
      return y[0];
    }
    case Kind::kHardSigmoid:
      node.attributes["beta"] = activation.beta;
      [[fallthrough]];
    case Kind::kLeakyRelu:
      node.attributes["alpha"] = activation.alpha;
      break;
    default:
      break;
  }
  return graph.add(*node.op, node.inputs, node.attributes);
}

void apply(const Activation& activation, Tensor& tensor) {
  if (activation.kind == Kind::kNone) return;
  visit<Floats>(tensor.dtype(), [&]<class T>() {
    for (T& x : tensor.data<T>()) {
      x = static_cast<T>(apply(activation, static_cast<Compute<T>>(x)));
    }
  });
}

}  // namespace shoal::ops
