// Einsum: y[output] = sum over all other labels of the product of x_i[term i], as numpy.einsum.
// A plain loop over every label, ordered so that the innermost one walks memory.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "shoal/base/checked.h"
#include "shoal/graph/graph.h"
#include "shoal/ops/broadcast.h"
#include "shoal/ops/convert.h"
#include "shoal/ops/record.h"
#include "shoal/ops/require.h"

namespace shoal::ops {
namespace {

// A label is a letter, or an axis under an ellipsis, numbered from the right: those broadcast.
using Label = size_t;
constexpr Label kEllipsis = 52;
constexpr size_t kLabels = kEllipsis + Shape::kMaxRank;

using Term = std::vector<Label>;  // one label per axis

struct Equation {
  std::vector<Term> terms;
  Term output;
  std::array<int64_t, kLabels> size{};  // of a label
  std::array<bool, kLabels> used{};     // occurs in a term
};

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

// Letters and at most one "...", which stands for `dots` axes.
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

// How many axes of a tensor of this rank the ellipsis of the term stands for.
Result<size_t> ellipsis_rank(std::string_view text, size_t rank) {
  const auto letters = static_cast<size_t>(std::ranges::count_if(text, is_letter));
  const bool dots = text.find('.') != text.npos;
  if (letters > rank || (letters < rank && !dots)) {
    return invalid("the term \"" + std::string(text) + "\" does not fit a tensor of rank " +
                   std::to_string(rank));
  }
  return rank - letters;
}

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

// Without "->": the axes under ellipses, then the letters that occur once, in their order.
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

Result<Equation> parse(const Node& node, std::span<const Operand> inputs) {
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

// How often the innermost statement runs.
Checked steps_of(const Equation& equation) {
  Checked steps = 1;
  for (Label label = 0; label < kLabels; ++label) {
    if (equation.used[label]) steps = steps * equation.size[label];
  }
  return steps;
}

Result<std::vector<TensorType>> infer(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require_given(inputs));
  SHOAL_TRY(require<Numbers>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  SHOAL_ASSIGN(Equation equation, parse(node, inputs));
  if (!steps_of(equation).ok()) return Status(Code::kExhausted, "the equation has too many terms");
  Shape shape;
  for (Label label : equation.output) shape.push_back(equation.size[label]);
  return std::vector{TensorType{inputs[0].type.dtype, shape}};
}

// One loop over a label: its length, and the step of the output and of each input.
struct Loop {
  int64_t size;
  std::vector<int64_t> steps;

  auto contiguous() const {
    return std::ranges::count_if(steps, [](int64_t s) { return s <= 1; });
  }
};

// Labels of the output outside, the one that most tensors walk element by element inside.
std::vector<Loop> loops_of(const Equation& equation, std::span<const Tensor> inputs,
                           const Shape& shape) {
  std::vector<std::array<int64_t, kLabels>> steps(1 + inputs.size());
  auto add_steps = [](const Term& term, const Shape& dims, std::array<int64_t, kLabels>& to) {
    const Strides strides = strides_of(dims);
    for (size_t d = 0; d < term.size(); ++d) to[term[d]] += dims[d] == 1 ? 0 : strides[d];
  };
  add_steps(equation.output, shape, steps[0]);
  for (size_t i = 0; i < inputs.size(); ++i) {
    add_steps(equation.terms[i], inputs[i].shape(), steps[i + 1]);
  }
  Term order = equation.output;
  for (Label label = 0; label < kLabels; ++label) {
    if (equation.used[label] && std::ranges::count(order, label) == 0) order.push_back(label);
  }
  std::vector<Loop> loops;
  for (Label label : order) {
    Loop loop{equation.size[label], {}};
    for (const auto& tensor : steps) loop.steps.push_back(tensor[label]);
    if (loop.size > 1) loops.push_back(std::move(loop));
  }
  if (loops.empty()) loops.push_back({1, std::vector<int64_t>(steps.size(), 0)});
  const auto inner = std::ranges::max_element(loops, {}, &Loop::contiguous);
  std::rotate(inner, inner + 1, loops.end());
  return loops;
}

// Moves the offsets to the next position of the outer loops; false after the last.
bool advance(std::span<const Loop> outer, std::vector<int64_t>& at, std::vector<int64_t>& offsets) {
  for (size_t d = outer.size(); d-- > 0;) {
    const Loop& loop = outer[d];
    const bool wraps = ++at[d] == loop.size;
    const int64_t turns = wraps ? 1 - loop.size : 1;
    for (size_t i = 0; i < offsets.size(); ++i) offsets[i] += turns * loop.steps[i];
    if (!wraps) return true;
    at[d] = 0;
  }
  return false;
}

template <class T>
void contract(std::span<const Loop> loops, std::span<const Tensor> inputs, Tensor& output) {
  using Sum = Modular<Compute<T>>;
  const Loop& inner = loops.back();
  const std::span<const Loop> outer = loops.first(loops.size() - 1);
  std::vector<Sum> sums(static_cast<size_t>(output.count()));
  std::vector<Sum> products(static_cast<size_t>(inner.size));
  Sum* product = products.data();
  std::vector<int64_t> at(outer.size()), offsets(1 + inputs.size());
  do {
    std::ranges::fill(products, Sum{1});
    for (size_t i = 0; i < inputs.size(); ++i) {
      const T* x = inputs[i].data<T>().data() + offsets[i + 1];
      const int64_t step = inner.steps[i + 1];
      for (int64_t k = 0; k < inner.size; ++k) product[k] *= static_cast<Sum>(x[k * step]);
    }
    Sum* sum = sums.data() + offsets[0];
    for (int64_t k = 0; k < inner.size; ++k) sum[k * inner.steps[0]] += product[k];
  } while (advance(outer, at, offsets));
  std::ranges::transform(sums, output.data<T>().begin(),
                         [](Sum sum) { return static_cast<T>(sum); });
}

void reference(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Equation equation = *parse(node, operands_of(inputs));
  if (steps_of(equation).value() == 0) {
    std::ranges::fill(outputs[0].bytes(), std::byte{0});  // a sum of nothing
    return;
  }
  const std::vector<Loop> loops = loops_of(equation, inputs, outputs[0].shape());
  visit<Numbers>(inputs[0].dtype(), [&]<class T>() { contract<T>(loops, inputs, outputs[0]); });
}

// An axis is cut where the output is; what is summed over is read whole.
std::optional<Tile> split(const Node& node, std::span<const Operand> inputs, const Region& output) {
  const Equation equation = *parse(node, inputs);
  Tile tile{{}, output, node.attributes, {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    Region read = Region::whole(inputs[i].type.shape);
    for (size_t d = 0; d < read.begin.rank(); ++d) {
      const auto found = std::ranges::find(equation.output, equation.terms[i][d]);
      if (found == equation.output.end() || inputs[i].type.shape[d] == 1) continue;
      const auto axis = static_cast<size_t>(found - equation.output.begin());
      read.begin[d] = output.begin[axis];
      read.end[d] = output.end[axis];
    }
    tile.inputs.push_back(read);
  }
  return tile;
}

int64_t count_macs(const Node& node, std::span<const Operand> inputs, std::span<const TensorType>) {
  return steps_of(*parse(node, inputs)).value();
}

}  // namespace

SHOAL_RECORD(einsum) = {.name = "Einsum",
                        .min_inputs = 1,
                        .max_inputs = kAnyNumber,
                        .infer = infer,
                        .reference = reference,
                        .split = split,
                        .linear = true,
                        .macs = count_macs};

}  // namespace shoal::ops
