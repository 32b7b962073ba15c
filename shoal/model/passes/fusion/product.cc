#include "shoal/model/passes/fusion/product.h"

#include <algorithm>
#include <cmath>

#include "shoal/model/ops/ops.h"

namespace shoal::passes {
namespace {

constexpr double kRounding = 1e-5;  // relative, of constants that exporters have rounded
constexpr int kMaxDepth = 5;        // of nested nodes; bounds the time
constexpr double kMaxExponent = 3;

class Expansion {
 public:
  Expansion(const Graph& graph, const UseDefs& links) : graph_(graph), links_(links) {}

  void multiply(ValueId id, int depth) {
    const Node* node = links_.producer(id);
    const bool is_whole = depth == kMaxDepth || node == nullptr || !is_ours(id, depth);
    if (is_whole) return multiply_by(id);
    if (node->op == &ops::mul) {
      multiply(node->inputs[0], depth + 1);
      multiply(node->inputs[1], depth + 1);
      return;
    }
    // A scalar that is missing reads as 0, which is neither a divisor nor an exponent that is
    // accepted.
    const double right = node->inputs.size() == 2 ? scalar(graph_, node->inputs[1]).value_or(0) : 0;
    if (node->op == &ops::div && right != 0) {
      product_.scale /= right;
      multiply(node->inputs[0], depth + 1);
    } else if (node->op == &ops::pow && is_power(right)) {
      for (double i = 0; i < right; ++i) multiply_by(node->inputs[0]);
    } else {
      multiply_by(id);
    }
  }

  Product result() && { return std::move(product_); }

 private:
  // The first value belongs to the caller, so its other readers do not matter here.
  bool is_ours(ValueId id, int depth) const {
    return depth == 0 || links_.only_reader(id) != nullptr;
  }
  static bool is_power(double exponent) {
    return exponent >= 1 && exponent <= kMaxExponent && exponent == std::floor(exponent);
  }
  void multiply_by(ValueId id) {
    if (const std::optional<double> value = scalar(graph_, id)) {
      product_.scale *= *value;
    } else {
      product_.factors.push_back(id);
    }
  }

  const Graph& graph_;
  const UseDefs& links_;
  Product product_;
};

}  // namespace

bool Product::is(double expected_scale, std::vector<ValueId> expected_factors) const {
  return std::abs(scale - expected_scale) <= kRounding * std::abs(expected_scale) &&
         std::ranges::is_permutation(factors, expected_factors);
}

Product product(const Graph& graph, const UseDefs& links, ValueId id) {
  Expansion expansion(graph, links);
  expansion.multiply(id, 0);
  return std::move(expansion).result();
}

}  // namespace shoal::passes
