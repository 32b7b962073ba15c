#include "shoal/plan/sparse/refine.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <numeric>
#include <optional>

namespace shoal::plan {

SparsePattern pattern_of(std::span<const float> weight, size_t rows) {
  SparsePattern pattern;
  pattern.all_rows = rows;
  if (weight.empty()) return pattern;
  const size_t columns = pattern.all_columns = weight.size() / rows;
  std::vector<uint32_t> index(columns, 0);  // 1 where a column is live, later its live index
  for (size_t i = 0; i < weight.size(); ++i) {
    if (weight[i] != 0) index[i % columns] = 1;
  }
  for (size_t c = 0; c < columns; ++c) {
    if (index[c] == 0) continue;
    index[c] = static_cast<uint32_t>(pattern.columns.size());
    pattern.columns.push_back(c);
  }
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      if (weight[r * columns + c] != 0) pattern.targets.push_back(index[c]);
    }
    if (pattern.targets.size() == pattern.begins.back()) continue;
    pattern.rows.push_back(r);
    pattern.begins.push_back(pattern.targets.size());
  }
  return pattern;
}

double sampled_density(std::span<const float> weight) {
  constexpr size_t kMost = 4096;
  constexpr size_t kEnough = 64;                  // for a matrix that has no zeros
  constexpr uint64_t kStep = 0x9E3779B97F4A7C15;  // odd, so that it meets no period of the matrix
  if (weight.empty()) return 1;
  const size_t count = std::min(kMost, weight.size());
  size_t found = 0;
  for (uint64_t i = 0; i < count; ++i) {
    // All elements in turn if they are few.
    const uint64_t at = weight.size() <= kMost ? i : (i * kStep >> 16) % weight.size();
    if (weight[at] != 0) ++found;
    if (i + 1 == kEnough && found == kEnough) return 1;
  }
  return static_cast<double>(found) / static_cast<double>(count);
}

SparsePattern transposed(const SparsePattern& pattern) {
  SparsePattern turned{.all_rows = pattern.all_columns,
                       .all_columns = pattern.all_rows,
                       .rows = pattern.columns,
                       .columns = pattern.rows,
                       .begins = std::vector<size_t>(pattern.columns.size() + 1, 0),
                       .targets = std::vector<uint32_t>(pattern.targets.size())};
  for (uint32_t c : pattern.targets) ++turned.begins[c + 1];
  for (size_t c = 0; c < pattern.columns.size(); ++c) turned.begins[c + 1] += turned.begins[c];
  std::vector<size_t> next(turned.begins.begin(), turned.begins.end() - 1);
  for (size_t r = 0; r < pattern.rows.size(); ++r) {
    for (uint32_t c : pattern.row(r)) turned.targets[next[c]++] = static_cast<uint32_t>(r);
  }
  return turned;
}

namespace {

constexpr int kSubspaceIterations = 30;

using Scales = std::vector<double>;

struct Degrees {
  Scales row_scales;  // D1^-1/2
  Scales column_scales;
};

Degrees degrees_of(const SparsePattern& pattern) {
  Degrees degrees{.row_scales = Scales(pattern.rows.size()),
                  .column_scales = Scales(pattern.columns.size(), 0)};
  for (uint32_t c : pattern.targets) ++degrees.column_scales[c];
  for (size_t r = 0; r < pattern.rows.size(); ++r) {
    degrees.row_scales[r] = static_cast<double>(pattern.row(r).size());
  }
  for (Scales* scales : {&degrees.row_scales, &degrees.column_scales}) {
    for (double& scale : *scales) scale = 1 / std::sqrt(scale);
  }
  return degrees;
}

// diag(scales) a
Matrix scaled_rows(Matrix a, const Scales& scales) {
  for (size_t i = 0; i < a.rows(); ++i) {
    for (size_t j = 0; j < a.columns(); ++j) a(i, j) *= scales[i];
  }
  return a;
}

void add_row(Matrix& sum, size_t to, const Matrix& a, size_t from) {
  const auto source = a.elements().subspan(from * a.columns(), a.columns());
  const auto target = sum.elements().subspan(to * a.columns(), a.columns());
  for (size_t j = 0; j < source.size(); ++j) target[j] += source[j];
}

// An x
Matrix forward(const SparsePattern& pattern, const Degrees& degrees, const Matrix& x) {
  const Matrix scaled = scaled_rows(x, degrees.column_scales);
  Matrix sum(pattern.rows.size(), x.columns());
  for (size_t r = 0; r < sum.rows(); ++r) {
    for (uint32_t c : pattern.row(r)) add_row(sum, r, scaled, c);
  }
  return scaled_rows(std::move(sum), degrees.row_scales);
}

// Anᵀ x
Matrix backward(const SparsePattern& pattern, const Degrees& degrees, const Matrix& x) {
  const Matrix scaled = scaled_rows(x, degrees.row_scales);
  Matrix sum(pattern.columns.size(), x.columns());
  for (size_t r = 0; r < x.rows(); ++r) {
    for (uint32_t c : pattern.row(r)) add_row(sum, c, scaled, r);
  }
  return scaled_rows(std::move(sum), degrees.column_scales);
}

// Removes the trivial singular vector, D2^1/2 1 in proportion, from every column of x.
void remove_trivial(Matrix& x, const Scales& column_scales) {
  double square = 0;
  for (double scale : column_scales) square += 1 / (scale * scale);
  for (size_t j = 0; j < x.columns(); ++j) {
    double along = 0;
    for (size_t i = 0; i < x.rows(); ++i) along += x(i, j) / column_scales[i];
    for (size_t i = 0; i < x.rows(); ++i) x(i, j) -= along / square / column_scales[i];
  }
}

// An orthonormal basis of the columns, longest direction first; zero if there is none left.
Result<Matrix> orthonormal(const Matrix& x) {
  SHOAL_ASSIGN(const EigenBasis basis, eigen_basis(gram(transposed(x))));
  Scales factors(x.columns(), 0);
  for (size_t j = 0; j < x.columns(); ++j) {
    const double square = basis.values[j];
    if (square > 1e-12 * basis.values[0] && square > 1e-24) factors[j] = 1 / std::sqrt(square);
  }
  return scaled_columns(product(x, basis.vectors), factors);
}

}  // namespace

Result<Matrix> row_embedding(const SparsePattern& pattern, size_t dimensions, RandomStream random) {
  const Degrees degrees = degrees_of(pattern);
  Matrix x(pattern.columns.size(), dimensions);
  for (size_t i = 0; i < x.elements().size(); ++i) {
    x.elements()[i] = static_cast<double>(random[i] >> 11) * 0x1p-53 - 0.5;
  }
  for (int i = 0; i < kSubspaceIterations; ++i) {
    remove_trivial(x, degrees.column_scales);
    SHOAL_ASSIGN(const Matrix basis, orthonormal(x));
    x = backward(pattern, degrees, forward(pattern, degrees, basis));
  }
  remove_trivial(x, degrees.column_scales);
  SHOAL_ASSIGN(const Matrix basis, orthonormal(x));
  return scaled_rows(forward(pattern, degrees, basis), degrees.row_scales);
}

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

namespace {

constexpr int kPasses = 12;

// What a change adds. The first member decides, the second among equals.
struct Change {
  int64_t exchanged = 0;
  int64_t spread = 0;  // half of what the sum of count² loses

  friend auto operator<=>(const Change&, const Change&) = default;
  friend Change operator+(Change a, Change b) {
    return {a.exchanged + b.exchanged, a.spread + b.spread};
  }
};

struct Move {
  size_t row = 0;
  size_t to = 0;
  Change change;
};

// The best moves of a row that gain: into a part below its limit, and into one at it.
struct Moves {
  std::optional<Move> free;
  std::optional<Move> blocked;
};

class Refinement {
 public:
  Refinement(const SparsePattern& pattern, std::vector<size_t> row_parts,
             std::span<const double> limits)
      : pattern_(pattern),
        limits_(limits),
        parts_(std::move(row_parts)),
        counts_(column_counts(pattern, parts_, limits.size())),
        loads_(limits.size(), 0) {
    for (size_t r = 0; r < parts_.size(); ++r) loads_[parts_[r]] += weight(r);
  }

  // Whether anything changed.
  bool pass(RandomStream random);

  std::vector<size_t> parts() && { return std::move(parts_); }

 private:
  double weight(size_t row) const { return static_cast<double>(pattern_.row(row).size()); }
  Change change_of(size_t row, size_t to) const;
  Moves best_moves(size_t row);
  void apply(size_t row, size_t to);
  bool swap(const Move& there, const Move& back);
  bool swap_all(std::vector<Move> wanted);

  const SparsePattern& pattern_;
  std::span<const double> limits_;
  std::vector<size_t> parts_;
  std::vector<uint32_t> counts_;
  std::vector<double> loads_;
  std::vector<Change> changes_;  // of best_moves()
};

Change Refinement::change_of(size_t row, size_t to) const {
  Change change;
  for (uint32_t c : pattern_.row(row)) {
    const int64_t here = counts_[c * limits_.size() + parts_[row]];
    const int64_t there = counts_[c * limits_.size() + to];
    change.exchanged += (there == 0 ? 1 : 0) - (here == 1 ? 1 : 0);
    change.spread += here - 1 - there;
  }
  return change;
}

Moves Refinement::best_moves(size_t row) {
  const size_t count = limits_.size();
  const size_t from = parts_[row];
  changes_.assign(count, {});
  for (uint32_t c : pattern_.row(row)) {  // of all parts at once: the counts come from far away
    const uint32_t* counts = &counts_[c * count];
    const int64_t lost = counts[from] == 1 ? 1 : 0;
    for (size_t to = 0; to < count; ++to) {
      changes_[to].exchanged += (counts[to] == 0 ? 1 : 0) - lost;
      changes_[to].spread += int64_t{counts[from]} - 1 - int64_t{counts[to]};
    }
  }
  Moves best;
  for (size_t to = 0; to < count; ++to) {
    if (to == from) continue;
    auto& kind = loads_[to] + weight(row) > limits_[to] ? best.blocked : best.free;
    if (changes_[to] < (kind ? kind->change : Change{})) {
      kind = Move{.row = row, .to = to, .change = changes_[to]};
    }
  }
  return best;
}

void Refinement::apply(size_t row, size_t to) {
  for (uint32_t c : pattern_.row(row)) {
    --counts_[c * limits_.size() + parts_[row]];
    ++counts_[c * limits_.size() + to];
  }
  loads_[parts_[row]] -= weight(row);
  loads_[to] += weight(row);
  parts_[row] = to;
}

// Exchanges two rows if both parts stay within their limits and the exact change is a gain.
bool Refinement::swap(const Move& there, const Move& back) {
  const size_t from = back.to;
  if (parts_[there.row] != from || parts_[back.row] != there.to) return false;
  const double more = weight(there.row) - weight(back.row);  // for there.to
  if (more > 0 && loads_[there.to] + more > limits_[there.to]) return false;
  if (more < 0 && loads_[from] - more > limits_[from]) return false;
  const Change first = change_of(there.row, there.to);
  apply(there.row, there.to);
  if (first + change_of(back.row, from) < Change{}) {
    apply(back.row, from);
    return true;
  }
  apply(there.row, from);
  return false;
}

// Pairs moves into full parts with moves the other way, those that gain most first.
bool Refinement::swap_all(std::vector<Move> wanted) {
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const Move& a, const Move& b) { return a.change < b.change; });
  const size_t count = limits_.size();
  std::vector<std::vector<Move>> between(count * count);
  for (const Move& move : wanted) between[parts_[move.row] * count + move.to].push_back(move);
  bool changed = false;
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = a + 1; b < count; ++b) {
      const auto& there = between[a * count + b];
      const auto& back = between[b * count + a];
      for (size_t i = 0; i < std::min(there.size(), back.size()); ++i) {
        if (swap(there[i], back[i])) changed = true;
      }
    }
  }
  return changed;
}

bool Refinement::pass(RandomStream random) {
  std::vector<size_t> order(parts_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i, i)]);
  bool changed = false;
  std::vector<Move> wanted;
  for (size_t row : order) {
    const Moves moves = best_moves(row);
    if (moves.free) {
      apply(row, moves.free->to);
      changed = true;
    } else if (moves.blocked) {
      wanted.push_back(*moves.blocked);
    }
  }
  return swap_all(std::move(wanted)) || changed;
}

}  // namespace

std::vector<uint32_t> column_counts(const SparsePattern& pattern, std::span<const size_t> row_parts,
                                    size_t parts) {
  std::vector<uint32_t> counts(pattern.columns.size() * parts, 0);
  for (size_t r = 0; r < row_parts.size(); ++r) {
    for (uint32_t c : pattern.row(r)) ++counts[c * parts + row_parts[r]];
  }
  return counts;
}

std::vector<size_t> refined(const SparsePattern& pattern, std::vector<size_t> row_parts,
                            std::span<const double> limits, RandomStream random) {
  Refinement refinement(pattern, std::move(row_parts), limits);
  for (uint64_t pass = 0; pass < kPasses && refinement.pass(random.child(pass)); ++pass) continue;
  return std::move(refinement).parts();
}

}  // namespace shoal::plan
