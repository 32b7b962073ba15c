// LSTM: a hidden state and a cell, moved by four gates that lie in the order i, o, f, c.
#include "shoal/ops/gradient.h"
#include "shoal/ops/record.h"
#include "shoal/ops/recurrent/recurrent.h"

namespace shoal::ops {
namespace {

constexpr std::string_view kActivations[] = {"Sigmoid", "Tanh", "Tanh"};
constexpr RecurrentKind kKind = {.gates = 4, .activations = kActivations};

Result<std::vector<TensorType>> infer(const Node& node, std::span<const Operand> inputs) {
  return infer_recurrent(kKind, node, inputs);
}

template <class T>
class Cell {
 public:
  Cell(const RecurrentKind& kind, const Node& node, int64_t d, const RecurrentWeights<T>& weights,
       int64_t hidden)
      : activations_(activations_of<T>(kind, node, static_cast<size_t>(d))),
        weights_(weights),
        hidden_(hidden),
        coupled_(node.integer("input_forget", 0) != 0) {}

  void operator()(T* sums, T* h, T* c) const {
    for (size_t j = 0; j < weights_.r_bias.size(); ++j) sums[j] += weights_.r_bias[j];
    add_product(h, hidden_, weights_.r.data(), 4 * hidden_, 4 * hidden_, sums);
    const auto &f = activations_[0], &g = activations_[1], &last = activations_[2];
    const T *p_i = weights_.peephole.data(), *p_o = p_i + hidden_, *p_f = p_o + hidden_;
    const T *s_i = sums, *s_o = s_i + hidden_, *s_f = s_o + hidden_, *s_c = s_f + hidden_;
    for (int64_t j = 0; j < hidden_; ++j) {
      const T input = f(s_i[j] + p_i[j] * c[j]);
      const T forget = coupled_ ? 1 - input : f(s_f[j] + p_f[j] * c[j]);
      c[j] = forget * c[j] + input * g(s_c[j]);
      h[j] = f(s_o[j] + p_o[j] * c[j]) * last(c[j]);
    }
  }

 private:
  std::vector<Activation<T>> activations_;
  const RecurrentWeights<T>& weights_;
  int64_t hidden_;
  bool coupled_;
};

void reference(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  recurrent_reference<Cell<float>, Cell<double>>(kKind, node, inputs, outputs);
}

}  // namespace

SHOAL_RECORD(lstm) = {.name = "LSTM",
                      .min_inputs = 3,
                      .max_inputs = 8,
                      .max_outputs = 3,
                      .infer = infer,
                      .reference = reference,
                      .split = split_recurrent,
                      .macs = recurrent_macs,
                      .gradient = recurrent_gradient};

}  // namespace shoal::ops
