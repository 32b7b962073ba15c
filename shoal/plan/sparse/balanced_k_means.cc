#include "shoal/plan/sparse/balanced_k_means.h"

#include <algorithm>
#include <numeric>

namespace shoal::plan {
namespace {

constexpr int kIterations = 12;

double squared_distance(const Matrix& a, size_t i, const Matrix& b, size_t j) {
  double sum = 0;
  for (size_t d = 0; d < a.columns(); ++d) {
    const double difference = a(i, d) - b(j, d);
    sum += difference * difference;
  }
  return sum;
}

void copy_row(const Matrix& from, size_t i, Matrix& to, size_t j) {
  for (size_t d = 0; d < from.columns(); ++d) to(j, d) = from(i, d);
}

// k-means++: each next centre is a point, the likelier the further it is from the others.
Matrix first_centres(const Matrix& points, size_t count, RandomStream random) {
  Matrix centres(count, points.columns());
  copy_row(points, random.below(points.rows(), 0), centres, 0);
  std::vector<double> nearest(points.rows(), kNoLimit);
  for (size_t k = 1; k < count; ++k) {
    double sum = 0;
    for (size_t i = 0; i < points.rows(); ++i) {
      nearest[i] = std::min(nearest[i], squared_distance(points, i, centres, k - 1));
      sum += nearest[i];
    }
    double rest = sum * (static_cast<double>(random[k] >> 11) * 0x1p-53);
    size_t chosen = 0;
    while (chosen + 1 < points.rows() && rest >= nearest[chosen]) rest -= nearest[chosen++];
    copy_row(points, chosen, centres, k);
  }
  return centres;
}

// First those points that lose most if they do not get the nearest cluster.
std::vector<size_t> most_eager_first(const Matrix& distances) {
  std::vector<double> regrets(distances.rows(), 0);
  for (size_t i = 0; i < distances.rows(); ++i) {
    const auto row = distances.elements().subspan(i * distances.columns(), distances.columns());
    std::vector<double> sorted(row.begin(), row.end());
    std::sort(sorted.begin(), sorted.end());
    if (sorted.size() > 1) regrets[i] = sorted[1] - sorted[0];
  }
  std::vector<size_t> order(distances.rows());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return regrets[a] > regrets[b]; });
  return order;
}

std::vector<size_t> assigned(const Matrix& distances, std::span<const double> weights,
                             std::span<const double> capacities) {
  std::vector<size_t> clusters(distances.rows());
  std::vector<double> loads(capacities.size(), 0);
  for (size_t i : most_eager_first(distances)) {
    size_t best = 0;
    bool fits = false;
    for (size_t k = 0; k < capacities.size(); ++k) {
      const bool has_room = loads[k] + weights[i] <= capacities[k];
      const bool better = has_room
                              ? !fits || distances(i, k) < distances(i, best)
                              : !fits && loads[k] / capacities[k] < loads[best] / capacities[best];
      if (better) best = k;
      fits = fits || has_room;
    }
    clusters[i] = best;
    loads[best] += weights[i];
  }
  return clusters;
}

// The weighted means; a cluster without points keeps its centre.
void move_centres(Matrix& centres, const Matrix& points, std::span<const double> weights,
                  std::span<const size_t> clusters) {
  Matrix sums(centres.rows(), centres.columns());
  std::vector<double> loads(centres.rows(), 0);
  for (size_t i = 0; i < points.rows(); ++i) {
    loads[clusters[i]] += weights[i];
    for (size_t d = 0; d < points.columns(); ++d) sums(clusters[i], d) += weights[i] * points(i, d);
  }
  for (size_t k = 0; k < centres.rows(); ++k) {
    if (loads[k] == 0) continue;
    for (size_t d = 0; d < centres.columns(); ++d) centres(k, d) = sums(k, d) / loads[k];
  }
}

}  // namespace

std::vector<size_t> balanced_k_means(const Matrix& points, std::span<const double> weights,
                                     std::span<const double> capacities, RandomStream random) {
  if (points.rows() == 0) return {};
  Matrix centres = first_centres(points, capacities.size(), random);
  std::vector<size_t> clusters;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    Matrix distances(points.rows(), centres.rows());
    for (size_t i = 0; i < points.rows(); ++i) {
      for (size_t k = 0; k < centres.rows(); ++k) {
        distances(i, k) = squared_distance(points, i, centres, k);
      }
    }
    std::vector<size_t> next = assigned(distances, weights, capacities);
    if (next == clusters) break;
    clusters = std::move(next);
    move_centres(centres, points, weights, clusters);
  }
  return clusters;
}

}  // namespace shoal::plan
