// Erasure codes over the reals and the integers. With data x_i and coefficients c_pi, parity p is
//
//   y_p = sum_i c_pi x_i.
//
// One lost x_l follows from any parity: x_l = (y_p - sum_{i != l} c_pi x_i) / c_pl. Two lost values
// follow from two parities by Cramer's rule. Any loss can be recovered from iff all c_pi and all
// 2x2 minors of c are not zero; how much rounding errors are amplified is the condition number of
// that system. For reals, columns (cos a_i, sin a_i) with equally spaced angles keep it about 2 n /
// pi, while the textbook's 1, 2, 3, ... would grow with n^2.
#include "shoal/plan/coding/erasure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

namespace shoal::plan {
namespace {

// The larger singular value of a 2x2 matrix over the smaller: from s1^2 + s2^2 = ||A||_F^2 and s1
// s2 = |det A|.
double condition(double a, double b, double c, double d) {
  const double squares = a * a + b * b + c * c + d * d, determinant = std::abs(a * d - b * c);
  if (determinant == 0) return std::numeric_limits<double>::infinity();
  const double root = std::sqrt(std::max(0.0, squares * squares - 4 * determinant * determinant));
  return (squares + root) / (2 * determinant);
}

// Amplification of the others' errors when a sum is divided by one coefficient.
double condition_of_one(std::span<const double> coefficients, size_t lost) {
  double largest = 0;
  for (double c : coefficients) largest = std::max(largest, std::abs(c));
  return coefficients[lost] == 0 ? std::numeric_limits<double>::infinity()
                                 : largest / std::abs(coefficients[lost]);
}

// One lost value from a parity, or two from two.
std::vector<Recovery> solve(const Coefficients& c, const std::vector<size_t>& lost,
                            const std::vector<size_t>& parities) {
  const size_t data = c[0].size();
  const auto is_lost = [&](size_t i) { return std::ranges::find(lost, i) != lost.end(); };
  // The lost values' rows of the inverse, times the determinant.
  std::vector<std::vector<double>> rows = {{1}};
  double divisor = c[parities[0]][lost[0]];
  if (lost.size() == 2) {
    const double a = c[parities[0]][lost[0]], b = c[parities[0]][lost[1]];
    const double d = c[parities[1]][lost[0]], e = c[parities[1]][lost[1]];
    rows = {{e, -b}, {-d, a}};
    divisor = a * e - b * d;
  }
  std::vector<Recovery> recoveries;
  for (size_t l = 0; l < lost.size(); ++l) {
    Recovery& recovery = recoveries.emplace_back(Recovery{lost[l], {}, divisor});
    for (size_t i = 0; i < data; ++i) {
      if (is_lost(i)) continue;
      double weight = 0;
      for (size_t p = 0; p < parities.size(); ++p) weight -= rows[l][p] * c[parities[p]][i];
      if (weight != 0) recovery.terms.push_back({i, weight});
    }
    for (size_t p = 0; p < parities.size(); ++p) {
      if (rows[l][p] != 0) recovery.terms.push_back({data + parities[p], rows[l][p]});
    }
  }
  return recoveries;
}

// to += weight * from, where both begin at the same place along the axis.
template <class T, class Sum>
void add_scaled(const Tensor& from, size_t axis, int64_t length, Sum weight, std::span<Sum> to) {
  const Shape& shape = from.shape();
  const int64_t inner = shape.count(axis + 1, shape.rank()), outer = shape.count(0, axis);
  const auto common = static_cast<size_t>(std::min(shape[axis], length) * inner);
  const T* x = from.data<T>().data();
  Sum* y = to.data();
  for (int64_t o = 0; o < outer; ++o, x += shape[axis] * inner, y += length * inner) {
    for (size_t i = 0; i < common; ++i) y[i] += weight * static_cast<Sum>(x[i]);
  }
}

Shape with_length(Shape shape, size_t axis, int64_t length) {
  shape[axis] = length;
  return shape;
}

// Sums of integers in 64 bits. The division has no remainder, because the sum is the lost value
// times the divisor; check_exact() has excluded overflow where the divisor is not 1 or -1.
Tensor recover_integers(const Recovery& recovery, std::span<const Tensor> members, size_t axis,
                        const Shape& shape) {
  Tensor value({DType::kI32, shape});
  std::vector<int64_t> sums(static_cast<size_t>(shape.count()));
  for (const Recovery::Term& term : recovery.terms) {
    add_scaled<int32_t, int64_t>(members[term.member], axis, shape[axis], std::llround(term.weight),
                                 sums);
  }
  const int64_t divisor = std::llround(recovery.divisor);
  std::ranges::transform(sums, value.data<int32_t>().begin(),
                         [=](int64_t sum) { return static_cast<int32_t>(sum / divisor); });
  return value;
}

double largest_of(const Tensor& reals) {
  double largest = 0;
  for (float x : reals.data<float>()) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(static_cast<double>(x)));
  }
  return largest;
}

// Overflow of 32 bits is part of the arithmetic that makes the shares, so the sums wrap around,
// too.
Misfit find_misfit_of_integers(std::span<const Tensor> data, const Tensor& parity,
                               std::span<const double> coefficients, size_t axis) {
  std::vector<int64_t> sums(static_cast<size_t>(parity.count()));
  for (size_t i = 0; i < data.size(); ++i) {
    add_scaled<int32_t, int64_t>(data[i], axis, parity.shape()[axis], std::llround(coefficients[i]),
                                 sums);
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    if (static_cast<int32_t>(sums[i]) != parity.data<int32_t>()[i]) return {true, i};
  }
  return {};
}

}  // namespace

Coefficients real_coefficients(size_t data, int parities) {
  if (parities == 1) return {std::vector<double>(data, 1)};
  Coefficients coefficients(2);
  // A parity is a member as well: slots 0 and slots / 2, its unit vectors, stay free. With an odd
  // number of data, one more slot makes the right angle exist.
  const size_t slots = data + 2 + data % 2;
  for (size_t slot = 1; coefficients[0].size() < data; ++slot) {
    if (slot == slots / 2) continue;
    const double angle = std::numbers::pi * static_cast<double>(slot) / static_cast<double>(slots);
    coefficients[0].push_back(std::cos(angle));
    coefficients[1].push_back(std::sin(angle));
  }
  return coefficients;
}

Coefficients integer_coefficients(size_t data, int parities) {
  Coefficients coefficients = {std::vector<double>(data, 1)};
  if (parities == 1) return coefficients;
  coefficients.emplace_back();
  for (size_t i = 0; i < data; ++i) coefficients[1].push_back(static_cast<double>(i + 1));
  return coefficients;
}

double worst_condition(const Coefficients& c) {
  double worst = 1;
  for (size_t i = 0; i < c[0].size(); ++i) {
    // The other parity may be lost, too.
    for (const std::vector<double>& row : c) worst = std::max(worst, condition_of_one(row, i));
    for (size_t j = i + 1; c.size() > 1 && j < c[0].size(); ++j) {
      worst = std::max(worst, condition(c[0][i], c[0][j], c[1][i], c[1][j]));
    }
  }
  return worst;
}

Status check_coefficients(const Coefficients& coefficients, size_t data, bool integers) {
  // Coefficients arrive over the network. Their size keeps sums of all members within 64 bits, and
  // the condition keeps a hostile or broken code from turning rounding errors into answers.
  constexpr double kMost = 256, kWorstCondition = 1e4;
  constexpr size_t kMostData = 256;
  if (coefficients.empty() || std::ssize(coefficients) > kMostParities || data < 1 ||
      data > kMostData) {
    return invalid("a code of a kind that there is not");
  }
  for (const std::vector<double>& row : coefficients) {
    const bool fits = std::ranges::all_of(
        row, [&](double c) { return std::abs(c) <= kMost && (!integers || c == std::round(c)); });
    if (row.size() != data || !fits) return invalid("coefficients of a code do not fit");
  }
  // Negated, so that NaN is rejected.
  if (!(worst_condition(coefficients) <= kWorstCondition)) {
    return invalid("a code from which not everything comes back");
  }
  return {};
}

Status verify_codes(const Graph& graph, const Plan& plan) {
  std::set<ValueId> known;
  for (const ErasureCode& code : plan.codes) {
    if (code.data.empty() || std::ssize(code.parity) != plan.survives) {
      return invalid("a code survives something else than its plan");
    }
    const TensorType& first = graph[code.parity[0]].type;
    SHOAL_TRY(check_coefficients(code.coefficients, code.data.size(), first.dtype == DType::kI32));
    if (code.axis >= first.shape.rank()) return invalid("a code has no such axis");
    int64_t longest = 0;
    for (const std::vector<ValueId>* members : {&code.data, &code.parity}) {
      for (ValueId id : *members) {
        TensorType type = graph[id].type;
        longest = std::max(longest, type.shape.rank() > code.axis ? type.shape[code.axis] : 0);
        if (type.shape.rank() > code.axis) type.shape[code.axis] = first.shape[code.axis];
        if (type != first || !known.insert(id).second) return invalid("a code does not fit");
      }
    }
    for (ValueId id : code.parity) {
      if (graph[id].type.shape[code.axis] != longest) return invalid("a parity is too short");
    }
  }
  return {};
}

std::optional<std::vector<Recovery>> find_recoveries(const Coefficients& coefficients,
                                                     const std::vector<bool>& here) {
  const size_t data = coefficients[0].size();
  std::vector<size_t> lost, parities;
  for (size_t i = 0; i < data; ++i) {
    if (!here[i]) lost.push_back(i);
  }
  for (size_t p = 0; p < coefficients.size(); ++p) {
    if (here[data + p]) parities.push_back(p);
  }
  if (lost.empty()) return std::vector<Recovery>();
  if (lost.size() > parities.size()) return std::nullopt;
  // For a single loss, the parity in which the lost value has the larger relative coefficient:
  // dividing by it amplifies errors least.
  if (lost.size() == 1) {
    parities = {*std::ranges::max_element(parities, {}, [&](size_t p) {
      return std::abs(coefficients[p][lost[0]]) /
             std::abs(*std::ranges::max_element(coefficients[p], {},
                                                [](double x) { return std::abs(x); }));
    })};
  }
  return solve(coefficients, lost, parities);
}

Tensor recover(const Recovery& recovery, std::span<const Tensor> members, size_t axis,
               int64_t length) {
  const Tensor& first = members[recovery.terms[0].member];
  const Shape shape = with_length(first.shape(), axis, length);
  if (first.dtype() == DType::kI32) return recover_integers(recovery, members, axis, shape);
  Tensor value({DType::kF32, shape});
  for (const Recovery::Term& term : recovery.terms) {
    add_scaled<float, float>(members[term.member], axis, length,
                             static_cast<float>(term.weight / recovery.divisor),
                             value.data<float>());
  }
  return value;
}

Misfit find_misfit(std::span<const Tensor> data, const Tensor& parity,
                   std::span<const double> coefficients, size_t axis, double tolerance) {
  if (parity.dtype() == DType::kI32) {
    return find_misfit_of_integers(data, parity, coefficients, axis);
  }
  std::vector<double> sums(static_cast<size_t>(parity.count()));
  double scale = largest_of(parity);
  for (size_t i = 0; i < data.size(); ++i) {
    add_scaled<float, double>(data[i], axis, parity.shape()[axis], coefficients[i], sums);
    scale += std::abs(coefficients[i]) * largest_of(data[i]);
  }
  Misfit misfit;
  double worst = tolerance * scale;
  for (size_t i = 0; i < sums.size(); ++i) {
    const double gap = std::abs(sums[i] - static_cast<double>(parity.data<float>()[i]));
    // NaN compares false with everything: one that only some members have is a misfit.
    if (gap <= worst || (std::isnan(sums[i]) && std::isnan(parity.data<float>()[i]))) continue;
    misfit = {true, i};
    if (std::isnan(gap)) return misfit;
    worst = gap;
  }
  return misfit;
}

Tensor parity_of(std::span<const Tensor> data, std::span<const double> coefficients, size_t axis) {
  int64_t length = 0;
  for (const Tensor& tensor : data) length = std::max(length, tensor.shape()[axis]);
  Tensor parity({DType::kF32, with_length(data[0].shape(), axis, length)});
  std::vector<double> sums(static_cast<size_t>(parity.count()));
  for (size_t i = 0; i < data.size(); ++i) {
    add_scaled<float, double>(data[i], axis, length, coefficients[i], sums);
  }
  std::ranges::transform(sums, parity.data<float>().begin(),
                         [](double sum) { return static_cast<float>(sum); });
  return parity;
}

}  // namespace shoal::plan
