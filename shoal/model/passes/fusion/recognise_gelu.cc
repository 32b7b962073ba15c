// Recognises x/2 * (1 + erf(x / sqrt(2))) and its approximation by tanh, x/2 * (1 + tanh(sqrt(2/pi)
// (x + 0.044715 x^3))), as Gelu, in any order of factors that PyTorch and TensorFlow write.
#include <numbers>

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/fusion/product.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {
namespace {

constexpr double kSlope = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
constexpr double kCubic = 0.044715;

struct Gelu {
  ValueId x;
  bool is_tanh;
};

class Matcher {
 public:
  Matcher(const Graph& graph, const UseDefs& links) : graph_(graph), links_(links) {}

  std::optional<Gelu> match(const Node& root) const {
    const Product whole = product(graph_, links_, root.outputs[0]);
    if (whole.factors.size() != 2) return std::nullopt;
    for (size_t i = 0; i < 2; ++i) {
      const ValueId x = whole.factors[i];
      if (auto gate = gate_of(whole.factors[1 - i], whole.scale)) {
        if (is_erf_of(*gate, x)) return Gelu{x, false};
        if (is_tanh_of(*gate, x)) return Gelu{x, true};
      }
    }
    return std::nullopt;
  }

 private:
  // The gate in c + c * gate, where c times `scale` is 1/2.
  std::optional<ValueId> gate_of(ValueId sum, double scale) const {
    const Node* node = links_.only_for_reader(sum, ops::add);
    const auto parts = node == nullptr ? std::nullopt : with_scalar(graph_, *node);
    if (!parts) return std::nullopt;
    const Product varying = product(graph_, links_, parts->other);
    const bool is_half = varying.factors.size() == 1 &&
                         varying.is(parts->scalar, varying.factors) &&
                         Product{scale * parts->scalar, {}}.is(0.5, {});
    return is_half ? std::optional(varying.factors[0]) : std::nullopt;
  }

  bool is_erf_of(ValueId gate, ValueId x) const {
    const Node* erf = links_.only_for_reader(gate, ops::erf);
    return erf != nullptr &&
           product(graph_, links_, erf->inputs[0]).is(1 / std::numbers::sqrt2, {x});
  }

  // Matches tanh(kSlope * (x + kCubic * x^3)), or the same with x factored out: kSlope * x * (1 +
  // kCubic * x^2).
  bool is_tanh_of(ValueId gate, ValueId x) const {
    const Node* tanh = links_.only_for_reader(gate, ops::tanh);
    if (tanh == nullptr) return false;
    const Product argument = product(graph_, links_, tanh->inputs[0]);
    for (ValueId factor : argument.factors) {
      const Node* sum = links_.only_for_reader(factor, ops::add);
      if (sum == nullptr) continue;
      for (size_t i = 0; i < 2; ++i) {
        const ValueId first = sum->inputs[i];
        const Product second = product(graph_, links_, sum->inputs[1 - i]);
        if (first == x && second.is(kCubic, {x, x, x}) && argument.is(kSlope, {factor}))
          return true;
        if (is_scalar(graph_, first, 1) && second.is(kCubic, {x, x}) &&
            argument.is(kSlope, {x, factor})) {
          return true;
        }
      }
    }
    return false;
  }

  const Graph& graph_;
  const UseDefs& links_;
};

}  // namespace

Result<Graph> recognise_gelu(const Graph& graph) {
  const UseDefs links(graph);
  const Matcher matcher(graph, links);
  return rewrite(graph, [&](Rewriter& rewriter, const Node& node) {
    if (node.op != &ops::mul && node.op != &ops::div) return false;
    const std::optional<Gelu> gelu = matcher.match(node);
    if (!gelu) return false;
    Attributes attributes;
    if (gelu->is_tanh) attributes["approximate"] = std::string("tanh");
    return rewriter.substitute(node, ops::gelu, {rewriter.map(gelu->x)}, std::move(attributes));
  });
}

}  // namespace shoal::passes
