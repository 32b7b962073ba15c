#include "shoal/cpu/product.h"

#include <algorithm>

#include "shoal/cpu/product_tiles.h"

namespace shoal::cpu {
namespace {

// Elements of k per pass: a panel of the left factor takes 8 KB or less, and stays in the first
// level cache beside the panels of the right one that stream by.
constexpr int64_t kDepth = 256;
// Columns per block: with kDepth at most 240 KB, half of a small second-level cache.
constexpr int64_t kBlockColumns = 240;
// Rows per block where the left factor is packed on the fly, beside the columns.
constexpr int64_t kBlockRows = 240;

int64_t ceil_div(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
int64_t round_up(int64_t value, int64_t unit) { return ceil_div(value, unit) * unit; }

// The size of pieces of n, at most `most` each, that are multiples of `unit` and even.
int64_t even_piece(int64_t n, int64_t most, int64_t unit) {
  const int64_t pieces = std::max<int64_t>(ceil_div(n, most), 1);
  return round_up(std::max<int64_t>(ceil_div(n, pieces), 1), unit);
}

}  // namespace

int64_t packed_rows_size(int64_t m, int64_t k) { return round_up(m, panel_size().rows) * k; }

void RightMatrix::pack(int64_t k, int64_t k_end, int64_t j, int64_t j_end, float* panels) const {
  Matrix part = matrix_;
  part.data += k * part.row_stride + j * part.column_stride;
  pack_columns(part, k_end - k, j_end - j, panels);
}

Blocking choose_blocking(int64_t m, int64_t n, int64_t k, bool left_is_packed, int64_t batch,
                         int threads) {
  const PanelSize panel = panel_size();
  Blocking blocking;
  blocking.columns = even_piece(n, kBlockColumns, panel.columns);
  blocking.rows = even_piece(m, left_is_packed ? std::max<int64_t>(m, 1) : kBlockRows, panel.rows);
  blocking.column_blocks = ceil_div(n, blocking.columns);
  blocking.row_blocks = ceil_div(m, blocking.rows);
  // Rows are cut further where there is not enough for all threads to do; each block then gathers
  // its own columns, which costs little next to multiplying them by kFewRows rows or more.
  constexpr int64_t kBlocksPerThread = 4, kFewRows = 64;
  const int64_t wanted = threads == 1 ? 1 : kBlocksPerThread * threads;
  while (batch * blocking.blocks() < wanted && blocking.rows >= 2 * kFewRows) {
    blocking.rows = round_up(blocking.rows / 2, panel.rows);
    blocking.row_blocks = ceil_div(m, blocking.rows);
  }
  const int64_t depth = std::min(k, kDepth);
  const int64_t left = left_is_packed ? 0 : blocking.rows * depth;
  blocking.scratch_floats = round_up(blocking.columns * depth + left + kPanelSlack, 16);
  return blocking;
}

void multiply(const Product& product, const Blocking& blocking, int64_t index, float* scratch) {
  // Neighbours in the order of blocks share their columns.
  const int64_t i = index % blocking.row_blocks * blocking.rows;
  const int64_t j = index / blocking.row_blocks * blocking.columns;
  Block block{i, std::min(i + blocking.rows, product.m),
              j, std::min(j + blocking.columns, product.n),
              0, 0};
  const int64_t panel_rows = panel_size().rows;
  float* right = scratch;
  float* left = scratch + blocking.columns * std::min(product.k, kDepth);
  do {  // once even if there is nothing to sum: the bias remains
    block.k = block.k_end;
    block.k_end = std::min(block.k + kDepth, product.k);
    const int64_t depth = block.k_end - block.k;
    product.right->pack(block.k, block.k_end, block.j, block.j_end, right);
    if (product.packed_left != nullptr) {
      const float* panels = product.packed_left + i * product.k + block.k * panel_rows;
      multiply_block(product, block, panels, panel_rows * product.k, right);
    } else {
      Matrix part = product.left;
      part.data += i * part.row_stride + block.k * part.column_stride;
      pack_rows(part, block.i_end - i, depth, left);
      multiply_block(product, block, left, panel_rows * depth, right);
    }
  } while (block.k_end < product.k);

  const Function& pass = product.activation.pass;
  if (pass.loop == nullptr) return;
  for (int64_t r = block.i; r < block.i_end; ++r) {
    float* y = product.y + r * product.y_stride + block.j;
    pass(y, y, block.j_end - block.j);
  }
}

}  // namespace shoal::cpu
