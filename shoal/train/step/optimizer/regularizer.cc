// Penalties P of the norms n_k of groups of weights, with their gradients:
//
//   lasso   sum n                  dP/dw = w / n_k
//   square  sum n^2                dP/dw = 2 w
//   Hoyer   (sum n)^2 / sum n^2    dP/dw = 2 S / Q^2 * (Q / n_k - S) * w,  S = sum n, Q = sum n^2
//
// All gradients are w times one factor per group. So two passes over the weight do: norms, and then
// gradients by factors. Sums are in f64.
#include "shoal/train/step/optimizer/regularizer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <system_error>
#include <utility>

#include "shoal/base/text/glob.h"

namespace shoal::train {
namespace {

using Penalty = Regularizer::Penalty;
using Groups = Regularizer::Groups;

constexpr std::array kPenalties = {std::pair{std::string_view("lasso"), Penalty::kLasso},
                                   std::pair{std::string_view("square"), Penalty::kSquare},
                                   std::pair{std::string_view("hoyer"), Penalty::kHoyer}};
constexpr std::array kGroups = {std::pair{std::string_view("elements"), Groups::kElements},
                                std::pair{std::string_view("filters"), Groups::kFilters},
                                std::pair{std::string_view("rows"), Groups::kFilters},
                                std::pair{std::string_view("channels"), Groups::kChannels},
                                std::pair{std::string_view("columns"), Groups::kColumns},
                                std::pair{std::string_view("blocks"), Groups::kBlocks}};

// "clusters4". A number of 64 is more than workers that gain from it.
bool is_clusters(std::string_view word, Regularizer& result) {
  constexpr std::string_view kClusters = "clusters";
  constexpr int64_t kMost = 64;
  if (!word.starts_with(kClusters)) return false;
  word.remove_prefix(kClusters.size());
  const char* const last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, result.clusters);
  result.groups = Groups::kClusters;
  return error == std::errc() && end == last && result.clusters >= 2 && result.clusters <= kMost;
}

// The text up to the first ':'. The word and the colon are removed from `text`.
std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(':'));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

template <class Table, class Value>
bool find(const Table& table, std::string_view name, Value& value) {
  for (const auto& [known, meaning] : table) {
    if (known != name) continue;
    value = meaning;
    return true;
  }
  return false;
}

using Groups = Regularizer::Groups;
using Penalty = Regularizer::Penalty;

class Grouping {
 public:
  Grouping(const Regularizer& regularizer, const Shape& shape)
      : groups_(regularizer.groups),
        block_(regularizer.block),
        clusters_(regularizer.clusters),
        rows_(shape[0]),
        columns_(shape.count(1, shape.rank())),
        channel_(shape.count(2, shape.rank())) {}

  int64_t count() const {
    switch (groups_) {
      case Groups::kElements:
        return rows_ * columns_;
      case Groups::kFilters:
        return rows_;
      case Groups::kChannels:
        return columns_ / std::max<int64_t>(channel_, 1);
      case Groups::kColumns:
        return columns_;
      case Groups::kBlocks:
        return blocks(rows_) * blocks(columns_);
      case Groups::kClusters:
        return clusters_ * std::min(rows_, columns_);
    }
    return 0;
  }

  // kNone if no group has the element.
  int64_t of(int64_t row, int64_t column) const {
    switch (groups_) {
      case Groups::kElements:
        return row * columns_ + column;
      case Groups::kFilters:
        return row;
      case Groups::kChannels:
        return column / channel_;
      case Groups::kColumns:
        return column;
      case Groups::kBlocks:
        return row / block_ * blocks(columns_) + column / block_;
      case Groups::kClusters: {
        const int64_t row_part = row * clusters_ / rows_,
                      column_part = column * clusters_ / columns_;
        if (row_part == column_part) return kNone;
        return columns_ <= rows_ ? column * clusters_ + row_part : row * clusters_ + column_part;
      }
    }
    return 0;
  }

  // Calls f(element, group) for all elements that are in one, in memory order.
  template <class F>
  void for_each(const F& f) const {
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t column = 0; column < columns_; ++column) {
        const int64_t group = of(row, column);
        if (group == kNone) continue;
        f(static_cast<size_t>(row * columns_ + column), static_cast<size_t>(group));
      }
    }
  }

 private:
  int64_t blocks(int64_t length) const { return (length + block_ - 1) / block_; }

  static constexpr int64_t kNone = -1;

  Groups groups_;
  int64_t block_, clusters_, rows_, columns_, channel_;
};

template <class T>
std::vector<double> norms_of(const Grouping& grouping, std::span<const T> w) {
  std::vector<double> norms(static_cast<size_t>(grouping.count()));
  grouping.for_each([&](size_t i, size_t group) {
    norms[group] += static_cast<double>(w[i]) * static_cast<double>(w[i]);
  });
  for (double& n : norms) n = std::sqrt(n);
  return norms;
}

// Gradients are w times one factor per unit (regularizer.cc), so a tensor needs one number per axis
// and index: first the squares of its slices, summed to norms, then the sum of its units' factors.

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
    const auto position = numbers_.find(slice.weight);
    if (position == numbers_.end()) return nullptr;
    AxisNumbers& numbers = axes_[position->second][slice.axis];
    if (numbers.squares.empty()) fill(weights_[position->second], slice.axis, numbers);
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
      const auto position = numbers_.find(slice.weight);
      if (position == numbers_.end()) continue;
      const Shape& shape = weights_[position->second].shape();
      elements += shape.count() / shape[slice.axis];
    }
    return static_cast<double>(elements);
  }

  std::span<const Tensor> weights_;
  std::map<std::string_view, size_t> numbers_;  // of the weights, by name
  std::vector<std::vector<AxisNumbers>> axes_;  // per weight and axis
};

}  // namespace

Result<Regularizer> parse_regularizer(std::string_view text) {
  Regularizer result;
  std::string_view rest = text;
  bool known = find(kPenalties, take_word(rest), result.penalty);
  const std::string_view groups = take_word(rest);
  known = known && (find(kGroups, groups, result.groups) || is_clusters(groups, result));
  // Unlike strtod(), this reads the same in every locale.
  const std::string_view strength = take_word(rest);
  const char* const last = strength.data() + strength.size();
  const auto [end, error] = std::from_chars(strength.data(), last, result.strength);
  const bool is_number = error == std::errc() && end == last && std::isfinite(result.strength);
  if (!known || !is_number || result.strength < 0) {
    return invalid("no penalty: " + std::string(text) + "; should be lasso:filters:1e-4");
  }
  if (!rest.empty()) {
    result.applies = [pattern = std::string(rest)](std::string_view name) {
      return matches_any(std::span(&pattern, 1), name);
    };
  }
  return result;
}

double penalize(Regularizer::Penalty penalty, std::span<double> norms) {
  double sum = 0, squares = 0;
  for (double n : norms) {
    sum += n;
    squares += n * n;
  }
  if (squares == 0) return 0;
  for (double& n : norms) {
    if (n == 0) continue;
    n = penalty == Penalty::kLasso    ? 1 / n
        : penalty == Penalty::kSquare ? 2
                                      : 2 * sum / (squares * squares) * (squares / n - sum);
  }
  return penalty == Penalty::kLasso    ? sum
         : penalty == Penalty::kSquare ? squares
                                       : sum * sum / squares;
}

double regularize(const Regularizer& regularizer, const Tensor& weight, Tensor& gradient) {
  SHOAL_CHECK(weight.shape().rank() >= 2 && weight.type() == gradient.type());
  const Grouping grouping(regularizer, weight.shape());
  double penalty = 0;
  visit<Types<float, double>>(weight.dtype(), [&]<class T>() {
    const std::span<const T> w = weight.data<T>();
    const std::span<T> g = gradient.data<T>();
    std::vector<double> groups = norms_of(grouping, w);
    penalty = regularizer.strength * penalize(regularizer.penalty, groups);
    grouping.for_each([&](size_t i, size_t group) {
      g[i] += static_cast<T>(regularizer.strength * groups[group] * static_cast<double>(w[i]));
    });
  });
  return penalty;
}

Tensor without_small_groups(const Regularizer& regularizer, const Tensor& weight, double share) {
  SHOAL_CHECK(weight.shape().rank() >= 2 && share < 1);
  const Grouping grouping(regularizer, weight.shape());
  Tensor result = weight.clone();
  visit<Types<float, double>>(weight.dtype(), [&]<class T>() {
    const std::vector<double> norms = norms_of(grouping, weight.data<T>());
    const double largest = norms.empty() ? 0 : *std::ranges::max_element(norms);
    const std::span<T> w = result.data<T>();
    grouping.for_each([&](size_t i, size_t group) {
      if (norms[group] <= share * largest) w[i] = 0;
    });
  });
  return result;
}

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
