// Gradient of Einsum: the gradient of an input is another Einsum, of dy and the other inputs,
//   "ij,jk->ik":  da = "ik,jk->ij"(dy, b),  db = "ik,ij->jk"(dy, a)
// Labels that only this input has were summed over, so its gradient is constant along them.
#include <algorithm>
#include <string>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/product/einsum_equation.h"

namespace shoal::ops {
namespace {

bool has(const Term& term, Label label) { return std::ranges::count(term, label) > 0; }

class EinsumGradient {
 public:
  EinsumGradient(const Node& node, ValueId dy, const Equation& equation, Chain& chain)
      : node_(node), dy_(dy), equation_(equation), chain_(chain) {
    // Ellipsis labels are given letters that the equation does not use, so that every axis is
    // named.
    size_t next = 0;
    for (Label label = 0; label < kLabels; ++label) {
      if (label < kEllipsis) {
        letters_[label] = letter(label);
      } else if (equation.used[label]) {
        while (next < kEllipsis && equation.used[next]) ++next;
        letters_[label] = letter(next++);
      }
    }
  }

  ValueId of_input(size_t i) {
    std::vector<ValueId> operands{dy_};
    Term known = equation_.output;
    std::string text = text_of(equation_.output);
    for (size_t j = 0; j < node_.inputs.size(); ++j) {
      if (j == i) continue;
      const Term term = without_stretched(j);
      operands.push_back(chain_.reshape(node_.inputs[j], shape_of(term)));
      text += "," + text_of(term);
      known.insert(known.end(), term.begin(), term.end());
    }
    Term wanted = without_stretched(i);
    // A label that only this input has was summed over: dx is computed without it, then stretched.
    std::erase_if(wanted, [&](Label label) { return !has(known, label); });
    const ValueId dx = chain_.add(einsum, operands, {{"equation", text + "->" + text_of(wanted)}});
    const Shape shape = chain_.shape_of(node_.inputs[i]);
    Shape kept;
    for (Label label : equation_.terms[i]) {
      kept.push_back(has(wanted, label) ? equation_.size[label] : 1);
    }
    return chain_.stretch_to(chain_.reshape(dx, kept), shape);
  }

 private:
  static char letter(size_t i) { return static_cast<char>(i < 26 ? 'A' + i : 'a' + (i - 26)); }

  std::string text_of(const Term& term) const {
    std::string text;
    for (Label label : term) text += letters_[label];
    return text;
  }
  Shape shape_of(const Term& term) const {
    Shape shape;
    for (Label label : term) shape.push_back(equation_.size[label]);
    return shape;
  }
  // The labels of an input without those along which it broadcasts.
  Term without_stretched(size_t input) const {
    const Shape shape = chain_.shape_of(node_.inputs[input]);
    Term term;
    for (size_t d = 0; d < shape.rank(); ++d) {
      const Label label = equation_.terms[input][d];
      if (shape[d] == equation_.size[label]) term.push_back(label);
    }
    return term;
  }

  const Node& node_;
  const ValueId dy_;
  const Equation& equation_;
  Chain& chain_;
  std::array<char, kLabels> letters_{};
};

// A diagonal would need an operator that writes to diagonals, which ONNX does not have.
Status require_each_once(const Equation& equation) {
  for (const Term& term : equation.terms) {
    for (Label label : term) {
      if (std::ranges::count(term, label) > 1) {
        return Status(Code::kUnsupported, "Einsum has no gradient along a diagonal");
      }
    }
  }
  return {};
}

}  // namespace

Result<std::vector<ValueId>> einsum_gradient(const Node& node, std::span<const ValueId> outputs,
                                             Graph& graph) {
  SHOAL_ASSIGN(const Equation equation, parse_equation(node, graph.operands(node.inputs)));
  SHOAL_TRY(require_each_once(equation));
  Chain chain(graph, node.inputs[0]);
  EinsumGradient gradient(node, outputs[0], equation, chain);
  std::vector<ValueId> gradients;
  for (size_t i = 0; i < node.inputs.size(); ++i) gradients.push_back(gradient.of_input(i));
  return chain.finish(std::move(gradients));
}

}  // namespace shoal::ops
