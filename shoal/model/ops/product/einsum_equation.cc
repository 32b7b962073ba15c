#include "shoal/model/ops/product/einsum_equation.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace shoal::ops {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
Label label_of(char c) { return static_cast<Label>(c >= 'a' ? c - 'a' + 26 : c - 'A'); }

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

std::vector<std::string_view> separated(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t comma; (comma = text.find(',')) != text.npos; text.remove_prefix(comma + 1)) {
    parts.push_back(text.substr(0, comma));
  }
  parts.push_back(text);
  return parts;
}

// Letters and at most one "...", which stands for `dots` axes. They are numbered from the right, as
// broadcasting aligns them.
Result<Term> parse_term(std::string_view text, size_t dots) {
  Term term;
  bool seen = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_letter(text[i])) {
      term.push_back(label_of(text[i]));
    } else if (text.substr(i, 3) == "..." && !seen) {
      for (size_t d = dots; d-- > 0;) term.push_back(kEllipsis + d);
      seen = true;
      i += 2;
    } else {
      return invalid("the equation has a term \"" + std::string(text) + "\"");
    }
  }
  return term;
}

// The number of axes, of a tensor of this rank, that the ellipsis of the term stands for.
Result<size_t> ellipsis_rank(std::string_view text, size_t rank) {
  const auto letters = static_cast<size_t>(std::ranges::count_if(text, is_letter));
  const bool dots = text.find('.') != text.npos;
  if (letters > rank || (letters < rank && !dots)) {
    return invalid("the term \"" + std::string(text) + "\" does not fit a tensor of rank " +
                   std::to_string(rank));
  }
  return rank - letters;
}

// Only the axes of an ellipsis broadcast. Letters must agree.
Status add_sizes(Equation& equation, const Term& term, const Shape& shape) {
  for (size_t d = 0; d < term.size(); ++d) {
    int64_t& size = equation.size[term[d]];
    const bool stretches = term[d] >= kEllipsis && (size == 1 || shape[d] == 1);
    if (equation.used[term[d]] && size != shape[d] && !stretches) {
      return invalid("an index has size " + std::to_string(size) + " and " +
                     std::to_string(shape[d]));
    }
    if (!equation.used[term[d]] || size == 1) size = shape[d];
    equation.used[term[d]] = true;
  }
  return {};
}

// Without "->", as in NumPy: the axes of ellipses, then the letters that occur once, in
// alphabetical order, capitals first.
Term implicit_output(const Equation& equation, size_t dots) {
  std::array<int, kLabels> occurrences{};
  for (const Term& term : equation.terms) {
    for (Label label : term) ++occurrences[label];
  }
  Term output;
  for (size_t d = dots; d-- > 0;) output.push_back(kEllipsis + d);
  for (Label label = 0; label < kEllipsis; ++label) {
    if (occurrences[label] == 1) output.push_back(label);
  }
  return output;
}

Status check_output(const Equation& equation) {
  std::array<bool, kLabels> seen{};
  for (Label label : equation.output) {
    if (!equation.used[label]) return invalid("an index of the output is in no input");
    if (seen[label]) return invalid("an index occurs twice in the output");
    seen[label] = true;
  }
  return equation.output.size() <= Shape::kMaxRank ? Status() : invalid("more than 8 dimensions");
}

}  // namespace

Result<Equation> parse_equation(const Node& node, std::span<const Operand> inputs) {
  const std::string text = without_spaces(node.text("equation", ""));
  const size_t arrow = text.find("->");
  const std::vector<std::string_view> parts = separated(std::string_view(text).substr(0, arrow));
  if (parts.size() != inputs.size()) {
    return invalid("the equation is for " + std::to_string(parts.size()) + " inputs, there are " +
                   std::to_string(inputs.size()));
  }
  Equation equation;
  size_t most_dots = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Shape& shape = inputs[i].type.shape;
    SHOAL_ASSIGN(size_t dots, ellipsis_rank(parts[i], shape.rank()));
    SHOAL_ASSIGN(Term term, parse_term(parts[i], dots));
    SHOAL_TRY(add_sizes(equation, term, shape));
    equation.terms.push_back(std::move(term));
    most_dots = std::max(most_dots, dots);
  }
  if (arrow == text.npos) {
    equation.output = implicit_output(equation, most_dots);
  } else {
    SHOAL_ASSIGN(equation.output, parse_term(std::string_view(text).substr(arrow + 2), most_dots));
  }
  SHOAL_TRY(check_output(equation));
  return equation;
}

}  // namespace shoal::ops
