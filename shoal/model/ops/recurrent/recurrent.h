// The parts that LSTM, GRU and RNN share: shapes, activations, weights, and the walk along a
// sequence. The step that changes the state is a Cell, in the operator's own file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/convert.h"

namespace shoal::ops {

// The differences between LSTM, GRU and RNN besides their cells. Their inputs are X, W, R, B,
// sequence_lens and initial_h; LSTM has initial_c and P, too.
struct RecurrentKind {
  int64_t gates;
  std::span<const std::string_view> activations;  // the default ones
};

struct RecurrentSizes {
  int64_t steps, batch, input, hidden, directions;
  bool batch_first;  // layout 1

  // The offsets of the elements of one step and of one state.
  int64_t x_at(int64_t t, int64_t b) const {
    return (batch_first ? b * steps + t : t * batch + b) * input;
  }
  int64_t y_at(int64_t t, int64_t d, int64_t b) const {
    return (batch_first ? (b * steps + t) * directions + d : (t * directions + d) * batch + b) *
           hidden;
  }
  int64_t state_at(int64_t d, int64_t b) const {
    return (batch_first ? b * directions + d : d * batch + b) * hidden;
  }
};

RecurrentSizes recurrent_sizes(const Node& node, const Shape& x, const Shape& r);

Result<std::vector<TensorType>> infer_recurrent(const RecurrentKind& kind, const Node& node,
                                                std::span<const Operand> inputs);

// The batch is cut, since sequences are independent; all other axes stay whole.
std::optional<Tile> split_recurrent(const Node& node, std::span<const Operand> inputs,
                                    const Region& output);

int64_t recurrent_macs(const Node& node, std::span<const Operand> inputs,
                       std::span<const TensorType> outputs);

// Appends the unrolled sequence and its gradient. In gradient_recurrent.cc.
Result<std::vector<ValueId>> recurrent_gradient(const RecurrentKind& kind, const Node& node,
                                                std::span<const ValueId> outputs, Graph& graph);

// A function of a gate or of the state. ONNX defines some for recurrent operators only; the others
// are operators.
struct RecurrentActivation {
  const Operator* op;  // null: no operator has this function
  const Elementwise* function;
  float alpha, beta, clip;

  float operator()(float x) const { return function->f32(std::clamp(x, -clip, clip), alpha, beta); }
  double operator()(double x) const {
    const double limit = clip;
    return function->f64(std::clamp(x, -limit, limit), alpha, beta);
  }
};

// The activations of one direction, in the order of the equations.
std::vector<RecurrentActivation> activations_of(const RecurrentKind& kind, const Node& node,
                                                int64_t direction);

// sums[j] += sum_k a[k] * matrix[k * stride + j], j < n.
template <class T>
void add_product(const T* a, int64_t k, const T* matrix, int64_t stride, int64_t n, T* sums) {
  for (int64_t p = 0; p < k; ++p) {
    const T factor = a[p];
    const T* row = matrix + p * stride;
    for (int64_t j = 0; j < n; ++j) sums[j] += factor * row[j];
  }
}

// The parameters of one direction; the matrices lie transposed so that products run along rows.
template <class T>
struct RecurrentWeights {
  std::vector<T> w;         // [input, gates * hidden]
  std::vector<T> r;         // [hidden, gates * hidden]
  std::vector<T> w_bias;    // [gates * hidden]
  std::vector<T> r_bias;    // [gates * hidden]
  std::vector<T> peephole;  // [3 * hidden], zeros if not given
};

template <class T>
RecurrentWeights<T> recurrent_weights(std::span<const Tensor> inputs, int64_t d);

// Steps to walk along each sequence of the batch.
std::vector<int64_t> sequence_lengths(std::span<const Tensor> inputs, const RecurrentSizes& sizes);

bool is_reverse(const Node& node, int64_t d);

// Walks all sequences. One step is cell(sums, h, c): `sums` are the contributions of the input and
// its bias to the gates, which the cell may overwrite, and h and c the state, which it updates.
// REQUIRES: inputs and outputs are of type T.
template <class T, class Cell>
void walk(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const RecurrentSizes sizes = recurrent_sizes(node, inputs[0].shape(), inputs[2].shape());
  const std::vector<int64_t> lengths = sequence_lengths(inputs, sizes);
  const int64_t width = Cell::kKind.gates * sizes.hidden;
  const auto hidden = static_cast<size_t>(sizes.hidden);
  std::vector<T> sums(static_cast<size_t>(width)), h(hidden), c(hidden);
  auto load = [&](size_t i, int64_t at, std::vector<T>& state) {
    std::ranges::fill(state, T{0});
    if (i >= inputs.size() || !inputs[i].defined()) return;
    std::copy_n(inputs[i].data<T>().data() + at, hidden, state.begin());
  };
  auto store = [&](size_t i, int64_t at, const std::vector<T>& state) {
    if (i < outputs.size()) std::ranges::copy(state, outputs[i].data<T>().data() + at);
  };
  std::ranges::fill(outputs[0].data<T>(), T{0});  // steps beyond the end of a sequence
  for (int64_t d = 0; d < sizes.directions; ++d) {
    const RecurrentWeights<T> weights = recurrent_weights<T>(inputs, d);
    Cell cell(node, activations_of(Cell::kKind, node, d), weights, sizes.hidden);
    for (int64_t b = 0; b < sizes.batch; ++b) {
      load(5, sizes.state_at(d, b), h);
      load(6, sizes.state_at(d, b), c);
      const int64_t length = lengths[static_cast<size_t>(b)];
      for (int64_t k = 0; k < length; ++k) {
        const int64_t t = is_reverse(node, d) ? length - 1 - k : k;
        std::ranges::copy(weights.w_bias, sums.begin());
        add_product(inputs[0].data<T>().data() + sizes.x_at(t, b), sizes.input, weights.w.data(),
                    width, width, sums.data());
        cell(sums.data(), h.data(), c.data());
        store(0, sizes.y_at(t, d, b), h);
      }
      store(1, sizes.state_at(d, b), h);
      store(2, sizes.state_at(d, b), c);
    }
  }
}

// Computes f32 and f64 directly, and the 16-bit formats in f32.
template <template <class> class Cell>
void recurrent_reference(const Node& node, std::span<const Tensor> inputs,
                         std::span<Tensor> outputs) {
  const DType dtype = inputs[0].dtype();
  if (dtype == DType::kF32) return walk<float, Cell<float>>(node, inputs, outputs);
  if (dtype == DType::kF64) return walk<double, Cell<double>>(node, inputs, outputs);
  std::vector<Tensor> wide_inputs, wide_outputs;
  for (const Tensor& t : inputs) {
    wide_inputs.push_back(t.defined() && t.dtype() == dtype ? converted(t, DType::kF32) : t);
  }
  for (const Tensor& t : outputs) wide_outputs.push_back(Tensor({DType::kF32, t.shape()}));
  walk<float, Cell<float>>(node, wide_inputs, wide_outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::ranges::copy(converted(wide_outputs[i], dtype).bytes(), outputs[i].bytes().begin());
  }
}

// The record of an operator whose steps are those of Cell<T>, which has a kKind. Cells need
// distinct names: g++ 12 gives instances of a template external linkage, even if their argument has
// none.
template <template <class> class Cell>
constexpr Operator recurrent_record(std::string_view name, size_t max_inputs, size_t max_outputs) {
  return {.name = name,
          .min_inputs = 3,
          .max_inputs = max_inputs,
          .max_outputs = max_outputs,
          .infer =
              [](const Node& node, std::span<const Operand> inputs) {
                return infer_recurrent(Cell<float>::kKind, node, inputs);
              },
          .reference = recurrent_reference<Cell>,
          .split = split_recurrent,
          .macs = recurrent_macs,
          .gradient =
              [](const Node& node, std::span<const ValueId> outputs, Graph& graph) {
                return recurrent_gradient(Cell<float>::kKind, node, outputs, graph);
              }};
}

}  // namespace shoal::ops
