// Ranks of scores. Ties go to the lower index everywhere, so that rank 0, best_class() and the
// first of top_classes() are the same class.
#include "shoal/engine/run/scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shoal::fit {
namespace {

// NaN compares as false with everything, which is no order to sort by; here it is below -inf.
bool is_higher(float a, float b) { return a > b || (std::isnan(b) && !std::isnan(a)); }

}  // namespace

size_t rank_of(std::span<const float> scores, int64_t label) {
  const auto own = static_cast<size_t>(label);
  if (label < 0 || own >= scores.size() || std::isnan(scores[own])) return scores.size();
  size_t higher = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    higher += scores[i] > scores[own] || (scores[i] == scores[own] && i < own) ? 1 : 0;
  }
  return higher;
}

int64_t best_class(std::span<const float> scores) {
  SHOAL_CHECK(!scores.empty());
  return std::ranges::max_element(scores, [](float a, float b) { return is_higher(b, a); }) -
         scores.begin();
}

// softmax(x) = softmax(x - max x), whose exponents are at most 0: exp() cannot overflow. The
// maximum itself is not subtracted, as inf - inf is NaN.
std::vector<double> softmax(std::span<const float> scores) {
  std::vector<double> p(scores.begin(), scores.end());
  if (p.empty()) return p;
  const double top = p[static_cast<size_t>(best_class(scores))];
  double sum = 0;
  for (double& x : p) sum += x = std::isnan(x) ? 0 : x == top ? 1 : std::exp(x - top);
  for (double& x : p) x /= std::max(sum, 1.0);  // less than 1 only if all are NaN
  return p;
}

// 0.001 covers the rounding of f32 sums over some thousand classes.
bool are_probabilities(std::span<const float> scores) {
  const double total = std::accumulate(scores.begin(), scores.end(), 0.0);
  return std::abs(total - 1) < 1e-3 && std::ranges::all_of(scores, [](float x) { return x >= 0; });
}

std::vector<RankedClass> top_classes(std::span<const float> scores, size_t count) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  count = std::min(count, order.size());
  std::ranges::partial_sort(
      order, order.begin() + static_cast<ptrdiff_t>(count), [&](size_t a, size_t b) {
        return is_higher(scores[a], scores[b]) || (!is_higher(scores[b], scores[a]) && a < b);
      });
  const std::vector<double> p = are_probabilities(scores)
                                    ? std::vector<double>(scores.begin(), scores.end())
                                    : softmax(scores);
  std::vector<RankedClass> best;
  for (size_t index : std::span(order).first(count)) {
    best.push_back({index, scores[index], p[index]});
  }
  return best;
}

size_t count_correct(const Tensor& scores, const Tensor& labels, size_t count) {
  const auto classes = static_cast<size_t>(scores.shape()[1]);
  size_t correct = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto row = scores.data<float>().subspan(i * classes, classes);
    correct += rank_of(row, labels.data<int64_t>()[i]) == 0 ? 1 : 0;
  }
  return correct;
}

}  // namespace shoal::fit
