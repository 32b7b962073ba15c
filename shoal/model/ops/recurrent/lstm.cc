// LSTM: a hidden state h and a cell c, moved by four gates that lie in the order i, o, f, c,
//   i = f(W_i x + R_i h + P_i * c + b_i)
//   f = f(W_f x + R_f h + P_f * c + b_f)    or with input_forget  1 - i
//   c = f * c + i * g(W_c x + R_c h + b_c)
//   o = f(W_o x + R_o h + P_o * c + b_o)    with the new c
//   h = o * last(c)
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/recurrent/recurrent.h"

namespace shoal::ops {
namespace {

constexpr std::string_view kActivations[] = {"Sigmoid", "Tanh", "Tanh"};

template <class T>
class LstmCell {
 public:
  static constexpr RecurrentKind kKind = {.gates = 4, .activations = kActivations};

  LstmCell(const Node& node, std::vector<RecurrentActivation> activations,
           const RecurrentWeights<T>& weights, int64_t hidden)
      : activations_(std::move(activations)),
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
  std::vector<RecurrentActivation> activations_;
  const RecurrentWeights<T>& weights_;
  int64_t hidden_;
  bool coupled_;
};

}  // namespace

SHOAL_RECORD(lstm) = recurrent_record<LstmCell>("LSTM", 8, 3);

}  // namespace shoal::ops
