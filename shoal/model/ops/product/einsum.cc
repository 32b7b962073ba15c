// Einsum: y[output] = sum over all other labels of the product of x_i[term i], as numpy.einsum. It
// is a plain loop over every label, ordered so that the innermost one walks memory. A label that is
// repeated in a term takes a diagonal. The gradient is in gradient_einsum.cc.
#include <algorithm>
#include <array>
#include <string>

#include "shoal/base/checked.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/product/einsum_equation.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// The number of times that the innermost statement runs. The sizes of all labels are multiplied,
// which may overflow though every tensor is small.
Checked steps_of(const Equation& equation) {
  Checked steps = 1;
  for (Label label = 0; label < kLabels; ++label) {
    if (equation.used[label]) steps = steps * equation.size[label];
  }
  return steps;
}

Result<std::vector<TensorType>> infer_einsum(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require_given(inputs));
  SHOAL_TRY(require<Numbers>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  SHOAL_ASSIGN(Equation equation, parse_equation(node, inputs));
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

// The order of the loops: labels of the output outside, and innermost the label along which most
// tensors are contiguous or constant.
std::vector<Loop> loops_of(const Equation& equation, std::span<const Tensor> inputs,
                           const Shape& shape) {
  std::vector<std::array<int64_t, kLabels>> steps(1 + inputs.size());
  auto add_steps = [](const Term& term, const Shape& dims, std::array<int64_t, kLabels>& to) {
    const Strides strides = strides_of(dims);
    // A repeated label steps along both of its axes at once, which walks the diagonal.
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
  // One product per position of the inner loop is kept, so that each input is one pass over memory.
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

void reference_einsum(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Equation equation = *parse_equation(node, operands_of(inputs));
  if (steps_of(equation).value() == 0) {
    std::ranges::fill(outputs[0].bytes(), std::byte{0});  // an empty sum
    return;
  }
  const std::vector<Loop> loops = loops_of(equation, inputs, outputs[0].shape());
  visit<Numbers>(inputs[0].dtype(), [&]<class T>() { contract<T>(loops, inputs, outputs[0]); });
}

// An axis is cut where the output is; labels that are summed over are read whole.
std::optional<Tile> split_einsum(const Node& node, std::span<const Operand> inputs,
                                 const Region& output) {
  const Equation equation = *parse_equation(node, inputs);
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
  return steps_of(*parse_equation(node, inputs)).value();
}

}  // namespace

SHOAL_RECORD(einsum) = {.name = "Einsum",
                        .min_inputs = 1,
                        .max_inputs = kAnyNumber,
                        .infer = infer_einsum,
                        .reference = reference_einsum,
                        .split = split_einsum,
                        .linear = true,
                        .macs = count_macs,
                        .gradient = einsum_gradient};

}  // namespace shoal::ops
