// The simplex method on a dense tableau without basic columns. All constraints are "at most" with
// limits that are not negative, so x = 0 is feasible. Resource rows are scaled to a limit of 1.
#include "shoal/variants/scheduler/packing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "shoal/base/status.h"

namespace shoal::schedule {
namespace {

constexpr double kTiny = 1e-11;

class Tableau {
 public:
  Tableau(std::span<const ChoiceGroup> groups, const Amounts& budgets)
      : rows_(groups.size() + kResources) {
    for (size_t g = 0; g < groups.size(); ++g) {
      for (size_t c = 0; c < groups[g].size(); ++c) {
        if (is_possible(groups[g][c], budgets)) origins_.push_back({g, c});
      }
    }
    width_ = origins_.size() + 1;  // the last column: limits
    cells_.assign((rows_ + 1) * width_, 0);
    for (size_t column = 0; column < origins_.size(); ++column) {
      const auto [g, c] = origins_[column];
      const Choice& choice = groups[g][c];
      cell(g, column) = 1;
      for (size_t r = 0; r < kResources; ++r) {
        cell(groups.size() + r, column) = budgets[r] > 0 ? choice.costs[r] / budgets[r] : 0;
      }
      cell(rows_, column) = -choice.value;
    }
    for (size_t row = 0; row < rows_; ++row) cell(row, width_ - 1) = 1;
    // Variables: those of choices first, then one slack for each row.
    for (size_t i = 0; i < origins_.size() + rows_; ++i) {
      (i < origins_.size() ? in_column_ : in_row_).push_back(i);
    }
  }

  void solve() {
    // By Dantzig's rule, which is quick; by Bland's, which never cycles, once it took that long.
    const size_t patience = 8 * (rows_ + width_);
    for (size_t pivots = 0;; ++pivots) {
      const auto column = entering(pivots > patience);
      if (!column) return;
      const auto row = leaving(*column);
      SHOAL_CHECK(row.has_value());  // every column has its group's row, which bounds it
      pivot(*row, *column);
    }
  }

  Packing result(std::span<const ChoiceGroup> groups, const Amounts& budgets) const {
    Packing packing;
    packing.value = at(rows_, width_ - 1);
    for (const ChoiceGroup& group : groups) packing.shares.emplace_back(group.size(), 0.0);
    packing.group_prices.assign(groups.size(), 0);
    for (size_t row = 0; row < rows_; ++row) {
      if (in_row_[row] >= origins_.size()) continue;
      const auto [g, c] = origins_[in_row_[row]];
      packing.shares[g][c] = at(row, width_ - 1);
    }
    for (size_t column = 0; column + 1 < width_; ++column) {
      if (in_column_[column] < origins_.size()) continue;
      const size_t row = in_column_[column] - origins_.size();
      const double price = at(rows_, column);
      if (row < groups.size()) {
        packing.group_prices[row] = price;
      } else if (budgets[row - groups.size()] > 0) {
        packing.prices[row - groups.size()] = price / budgets[row - groups.size()];
      }
    }
    return packing;
  }

 private:
  struct Origin {
    size_t group, choice;
  };

  static bool is_possible(const Choice& choice, const Amounts& budgets) {
    for (size_t r = 0; r < kResources; ++r) {
      if (budgets[r] <= 0 && choice.costs[r] > 0) return false;
    }
    return choice.value > 0;
  }

  double& cell(size_t row, size_t column) { return cells_[row * width_ + column]; }
  double at(size_t row, size_t column) const { return cells_[row * width_ + column]; }

  std::optional<size_t> entering(bool first_of_all) const {
    std::optional<size_t> best;
    double least = -kTiny * (1 + std::abs(at(rows_, width_ - 1)));
    for (size_t column = 0; column + 1 < width_; ++column) {
      const double gain = at(rows_, column);
      if (first_of_all) {
        if (gain < least && (!best || in_column_[column] < in_column_[*best])) best = column;
      } else if (gain < least) {
        least = gain;
        best = column;
      }
    }
    return best;
  }

  std::optional<size_t> leaving(size_t column) const {
    std::optional<size_t> best;
    double least = 0;
    for (size_t row = 0; row < rows_; ++row) {
      const double slope = at(row, column);
      if (slope <= kTiny) continue;
      const double reach = at(row, width_ - 1) / slope;
      if (!best || reach < least || (reach == least && in_row_[row] < in_row_[*best])) {
        least = reach;
        best = row;
      }
    }
    return best;
  }

  void pivot(size_t row, size_t column) {
    const double by = 1 / at(row, column);
    for (size_t j = 0; j < width_; ++j) cell(row, j) *= by;
    cell(row, column) = by;
    for (size_t i = 0; i <= rows_; ++i) {
      const double factor = at(i, column);
      if (i == row || factor == 0) continue;
      double* const to = &cell(i, 0);
      const double* const from = &cell(row, 0);
      for (size_t j = 0; j < width_; ++j) to[j] -= factor * from[j];
      to[column] = -factor * by;
    }
    for (size_t i = 0; i < rows_; ++i) {  // rounding leaves no limit below zero
      cell(i, width_ - 1) = std::max(0.0, at(i, width_ - 1));
    }
    std::swap(in_row_[row], in_column_[column]);
  }

  size_t rows_, width_ = 0;
  std::vector<Origin> origins_;
  std::vector<double> cells_;  // [rows + 1, columns + 1]; the last row: -(reduced values)
  std::vector<size_t> in_row_, in_column_;
};

}  // namespace

Packing pack(std::span<const ChoiceGroup> groups, const Amounts& budgets) {
  Tableau tableau(groups, budgets);
  tableau.solve();
  return tableau.result(groups, budgets);
}

}  // namespace shoal::schedule
