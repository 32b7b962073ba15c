// Element-wise operators of any number of inputs that broadcast: Sum, Mean, Max, Min. Max and Min
// of a NaN are NaN. Gradients are in gradient_nary.cc.
#include <algorithm>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/extrema.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// ONNX sets no limit. This one bounds the work that a node of a hostile file can ask for.
constexpr size_t kMaxInputs = 1 << 16;

template <class List>
Result<std::vector<TensorType>> infer_variadic(const Node&, std::span<const Operand> inputs) {
  SHOAL_TRY(require<List>(inputs[0]));
  SHOAL_TRY(require_given(inputs));
  SHOAL_TRY(require_same_type(inputs));
  SHOAL_ASSIGN(const Shape shape, broadcast(inputs));
  return std::vector{TensorType{inputs[0].type.dtype, shape}};
}

// Where the row'th innermost line of `shape` begins in an operand with these strides.
int64_t line_offset(int64_t row, const Shape& shape, const Strides& strides) {
  int64_t offset = 0;
  for (size_t d = shape.rank(); d-- > 1;) {
    offset += row % shape[d - 1] * strides[d - 1];
    row /= shape[d - 1];
  }
  return offset;
}

// Computes one line of the output at a time and writes it when every input has been read, since the
// output may be in the memory of the first. F::step folds one more element into an accumulator,
// F::finish returns the result.
template <class F, class T>
void fold(std::span<const Tensor> inputs, Tensor& output) {
  const Shape& shape = output.shape();
  if (shape.count() == 0) return;
  const int64_t n = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  std::vector<Strides> strides;
  for (const Tensor& input : inputs) strides.push_back(broadcast_strides(input.shape(), shape));
  std::vector<Compute<T>> line(static_cast<size_t>(n));
  T* y = output.data<T>().data();
  for (int64_t row = 0; row < shape.count() / n; ++row, y += n) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const T* x = inputs[i].data<T>().data() + line_offset(row, shape, strides[i]);
      const int64_t step = shape.rank() == 0 ? 0 : strides[i][shape.rank() - 1];
      for (Compute<T>& element : line) {
        element =
            i == 0 ? static_cast<Compute<T>>(*x) : F::step(element, static_cast<Compute<T>>(*x));
        x += step;
      }
    }
    std::ranges::transform(line, y, [&](Compute<T> element) {
      return static_cast<T>(F::finish(element, inputs.size()));
    });
  }
}

template <class F, class List>
void reference_variadic(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  visit<List>(inputs[0].dtype(), [&]<class T>() { fold<F, T>(inputs, outputs[0]); });
}

template <class F, class List>
constexpr Operator variadic(std::string_view name) {
  return {.name = name,
          .max_inputs = kMaxInputs,
          .infer = infer_variadic<List>,
          .reference = reference_variadic<F, List>,
          .split = split_elementwise,
          .elementwise = {.operands = kAnyNumber, .finite = true},
          .in_place = true,
          .linear_time = true};
}

struct Sum {
  static auto step(auto a, auto b) { return a + b; }
  static auto finish(auto sum, size_t) { return sum; }
};

struct Mean {
  static auto step(auto a, auto b) { return a + b; }
  template <class T>
  static T finish(T sum, size_t inputs) {
    return sum / static_cast<T>(inputs);
  }
};

struct Max {
  static auto step(auto a, auto b) { return larger(a, b); }
  static auto finish(auto top, size_t) { return top; }
};

struct Min {
  static auto step(auto a, auto b) { return smaller(a, b); }
  static auto finish(auto bottom, size_t) { return bottom; }
};

}  // namespace

SHOAL_RECORD(max) = differentiable(variadic<Max, Numbers>("Max"), extremum_gradient);
SHOAL_RECORD(mean) = differentiable(variadic<Mean, Floats>("Mean"), mean_gradient);
SHOAL_RECORD(min) = differentiable(variadic<Min, Numbers>("Min"), extremum_gradient);
SHOAL_RECORD(sum) = differentiable(variadic<Sum, Floats>("Sum"), add_gradient);

}  // namespace shoal::ops
