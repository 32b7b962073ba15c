// Gradients are w times one factor per unit (regularizer.cc), so that a tensor needs one number per
// axis and index: first the squares of its slices, which units add up to norms, then the sum of the
// factors of the units that have the slice.
#include "shoal/train/step/optimizer/unit_penalty.h"

#include <cmath>
#include <map>
#include <string_view>

namespace shoal::train {
namespace {

// One number per index of an axis; empty: no unit has a slice along it.
struct AxisNumbers {
  std::vector<double> squares, factors;
};

// Calls f(begin, end, index) for each run of elements of a tensor that have this index.
template <class F>
void for_each_run(const Shape& shape, size_t axis, const F& f) {
  const auto dim = static_cast<size_t>(shape[axis]);
  const auto inner = static_cast<size_t>(shape.count(axis + 1, shape.rank()));
  const auto count = static_cast<size_t>(shape.count());
  for (size_t begin = 0, run = 0; begin < count; begin += inner, ++run) {
    f(begin, begin + inner, run % dim);
  }
}

class Pass {
 public:
  Pass(std::span<const std::string> names, std::span<const Tensor> weights)
      : weights_(weights), axes_(weights.size()) {
    for (size_t i = 0; i < names.size(); ++i) numbers_[names[i]] = i;
    for (size_t i = 0; i < weights.size(); ++i) axes_[i].resize(weights[i].shape().rank());
  }

  // The penalty of a group; its factors are added to those of its slices.
  double add(const UnitPenalty& penalty, const std::vector<UnitPenalty::Unit>& units) {
    std::vector<double> norms;
    for (const UnitPenalty::Unit& unit : units) {
      double squares = 0;
      for (const UnitPenalty::Slice& slice : unit) {
        if (const AxisNumbers* axis = axis_of(slice)) {
          squares += axis->squares[static_cast<size_t>(slice.index)];
        }
      }
      norms.push_back(std::sqrt(squares));
    }
    double strength = penalty.strength;
    if (penalty.penalty == Regularizer::Penalty::kLasso && !units.empty()) {
      strength *= std::sqrt(elements_of(units[0]));
    }
    const double sum = penalize(penalty.penalty, norms);
    for (size_t u = 0; u < units.size(); ++u) {
      for (const UnitPenalty::Slice& slice : units[u]) {
        if (AxisNumbers* axis = axis_of(slice)) {
          axis->factors[static_cast<size_t>(slice.index)] += strength * norms[u];
        }
      }
    }
    return strength * sum;
  }

  void add_gradients(std::span<Tensor> gradients) const {
    for (size_t i = 0; i < axes_.size(); ++i) {
      for (size_t axis = 0; axis < axes_[i].size(); ++axis) {
        const std::vector<double>& factors = axes_[i][axis].factors;
        if (factors.empty()) continue;
        visit<Types<float, double>>(weights_[i].dtype(), [&]<class T>() {
          const std::span<const T> w = weights_[i].data<T>();
          const std::span<T> g = gradients[i].data<T>();
          for_each_run(weights_[i].shape(), axis, [&](size_t begin, size_t end, size_t index) {
            for (size_t k = begin; k < end; ++k) {
              g[k] += static_cast<T>(factors[index] * static_cast<double>(w[k]));
            }
          });
        });
      }
    }
  }

 private:
  // Null: the weight is not learned.
  AxisNumbers* axis_of(const UnitPenalty::Slice& slice) {
    const auto found = numbers_.find(slice.weight);
    if (found == numbers_.end()) return nullptr;
    AxisNumbers& numbers = axes_[found->second][slice.axis];
    if (numbers.squares.empty()) fill(weights_[found->second], slice.axis, numbers);
    return &numbers;
  }

  static void fill(const Tensor& weight, size_t axis, AxisNumbers& numbers) {
    numbers.squares.resize(static_cast<size_t>(weight.shape()[axis]));
    numbers.factors.resize(numbers.squares.size());
    visit<Types<float, double>>(weight.dtype(), [&]<class T>() {
      const std::span<const T> w = weight.data<T>();
      for_each_run(weight.shape(), axis, [&](size_t begin, size_t end, size_t index) {
        double sum = 0;
        for (size_t k = begin; k < end; ++k) {
          sum += static_cast<double>(w[k]) * static_cast<double>(w[k]);
        }
        numbers.squares[index] += sum;
      });
    });
  }

  // Units of a group have equally many.
  double elements_of(const UnitPenalty::Unit& unit) const {
    int64_t elements = 0;
    for (const UnitPenalty::Slice& slice : unit) {
      const auto found = numbers_.find(slice.weight);
      if (found == numbers_.end()) continue;
      const Shape& shape = weights_[found->second].shape();
      elements += shape.count() / shape[slice.axis];
    }
    return static_cast<double>(elements);
  }

  std::span<const Tensor> weights_;
  std::map<std::string_view, size_t> numbers_;  // of the weights, by name
  std::vector<std::vector<AxisNumbers>> axes_;  // per weight and axis
};

}  // namespace

double regularize(const UnitPenalty& penalty, std::span<const std::string> names,
                  std::span<const Tensor> weights, std::span<Tensor> gradients) {
  SHOAL_CHECK(names.size() == weights.size() && names.size() == gradients.size());
  Pass pass(names, weights);
  double sum = 0;
  for (const auto& units : penalty.groups) sum += pass.add(penalty, units);
  pass.add_gradients(gradients);
  return sum;
}

}  // namespace shoal::train
