// GRU: a hidden state, moved by the gates z (update) and r (reset) towards a candidate h',
//   z  = f(W_z x + R_z h + b_z)
//   r  = f(W_r x + R_r h + b_r)
//   h' = g(W_h x + R_h (r * h) + b_h)    or with linear_before_reset  g(W_h x + r * (R_h h + b_h))
//   h  = (1 - z) * h' + z * h
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/recurrent/recurrent.h"

namespace shoal::ops {
namespace {

constexpr std::string_view kActivations[] = {"Sigmoid", "Tanh"};

template <class T>
class GruCell {
 public:
  static constexpr RecurrentKind kKind = {.gates = 3, .activations = kActivations};

  GruCell(const Node& node, std::vector<RecurrentActivation> activations,
          const RecurrentWeights<T>& weights, int64_t hidden)
      : activations_(std::move(activations)),
        weights_(weights),
        hidden_(hidden),
        linear_before_reset_(node.integer("linear_before_reset", 0) != 0),
        reset_(static_cast<size_t>(hidden)),
        recurrent_(static_cast<size_t>(hidden)) {}

  void operator()(T* sums, T* h, T*) {
    const auto &f = activations_[0], &g = activations_[1];
    const int64_t n = hidden_;
    const T *bias_r = weights_.r_bias.data() + n, *bias_h = bias_r + n;
    const T* matrix_h = weights_.r.data() + 2 * n;
    add_product(h, n, weights_.r.data(), 3 * n, 2 * n, sums);
    for (int64_t j = 0; j < n; ++j) reset_[at(j)] = f(sums[n + j] + bias_r[j]);
    // The recurrent bias of the candidate is kept apart: with linear_before_reset r multiplies it
    // too.
    std::copy_n(bias_h, n, recurrent_.begin());
    if (linear_before_reset_) {
      add_product(h, n, matrix_h, 3 * n, n, recurrent_.data());
      for (int64_t j = 0; j < n; ++j) recurrent_[at(j)] *= reset_[at(j)];
    } else {
      for (int64_t j = 0; j < n; ++j) reset_[at(j)] *= h[j];
      add_product(reset_.data(), n, matrix_h, 3 * n, n, recurrent_.data());
    }
    for (int64_t j = 0; j < n; ++j) {
      const T update = f(sums[j] + weights_.r_bias[at(j)]);
      h[j] = (1 - update) * g(sums[2 * n + j] + recurrent_[at(j)]) + update * h[j];
    }
  }

 private:
  static size_t at(int64_t j) { return static_cast<size_t>(j); }

  std::vector<RecurrentActivation> activations_;
  const RecurrentWeights<T>& weights_;
  int64_t hidden_;
  bool linear_before_reset_;
  std::vector<T> reset_, recurrent_;
};

}  // namespace

SHOAL_RECORD(gru) = recurrent_record<GruCell>("GRU", 6, 2);

}  // namespace shoal::ops
