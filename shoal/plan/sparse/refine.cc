#include "shoal/plan/sparse/refine.h"

#include <algorithm>
#include <compare>
#include <numeric>
#include <optional>

namespace shoal::plan {
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

// The best moves of a row that gain: into a part with room, and into one without.
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

// Exchanges two rows if both parts have room then and the exact change is a gain.
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
