// RNN: h = f(W x + R h + b).
#include "shoal/ops/gradient.h"
#include "shoal/ops/record.h"
#include "shoal/ops/recurrent/recurrent.h"

namespace shoal::ops {
namespace {

constexpr std::string_view kActivations[] = {"Tanh"};
constexpr RecurrentKind kKind = {.gates = 1, .activations = kActivations};

Result<std::vector<TensorType>> infer(const Node& node, std::span<const Operand> inputs) {
  return infer_recurrent(kKind, node, inputs);
}

template <class T>
class Cell {
 public:
  Cell(const RecurrentKind& kind, const Node& node, int64_t d, const RecurrentWeights<T>& weights,
       int64_t hidden)
      : f_(activations_of<T>(kind, node, static_cast<size_t>(d))[0]),
        weights_(weights),
        hidden_(hidden) {}

  void operator()(T* sums, T* h, T*) const {
    add_product(h, hidden_, weights_.r.data(), hidden_, hidden_, sums);
    for (int64_t j = 0; j < hidden_; ++j) {
      h[j] = f_(sums[j] + weights_.r_bias[static_cast<size_t>(j)]);
    }
  }

 private:
  Activation<T> f_;
  const RecurrentWeights<T>& weights_;
  int64_t hidden_;
};

void reference(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  recurrent_reference<Cell<float>, Cell<double>>(kKind, node, inputs, outputs);
}

}  // namespace

SHOAL_RECORD(rnn) = {.name = "RNN",
                     .min_inputs = 3,
                     .max_inputs = 6,
                     .max_outputs = 2,
                     .infer = infer,
                     .reference = reference,
                     .split = split_recurrent,
                     .macs = recurrent_macs,
                     .gradient = recurrent_gradient};

}  // namespace shoal::ops
