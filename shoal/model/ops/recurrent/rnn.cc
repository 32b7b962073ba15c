// RNN: h = f(W x + R h + b_w + b_r), by default with f = tanh.
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/recurrent/recurrent.h"

namespace shoal::ops {
namespace {

constexpr std::string_view kActivations[] = {"Tanh"};

template <class T>
class RnnCell {
 public:
  static constexpr RecurrentKind kKind = {.gates = 1, .activations = kActivations};

  RnnCell(const Node&, std::vector<RecurrentActivation> activations,
          const RecurrentWeights<T>& weights, int64_t hidden)
      : f_(activations[0]), weights_(weights), hidden_(hidden) {}

  void operator()(T* sums, T* h, T*) const {
    add_product(h, hidden_, weights_.r.data(), hidden_, hidden_, sums);
    for (int64_t j = 0; j < hidden_; ++j) {
      h[j] = f_(sums[j] + weights_.r_bias[static_cast<size_t>(j)]);
    }
  }

 private:
  RecurrentActivation f_;
  const RecurrentWeights<T>& weights_;
  int64_t hidden_;
};

}  // namespace

SHOAL_RECORD(rnn) = recurrent_record<RnnCell>("RNN", 6, 2);

}  // namespace shoal::ops
