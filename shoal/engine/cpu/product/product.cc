// The loops around the register block. y is cut into blocks, which threads share; a block is
// computed in passes over k:
//
//   for each block of y        <= kBlockRows x kBlockColumns
//     for each pass over k     <= kDepth
//       pack kDepth x kBlockColumns of the right factor, unless it is packed
//       for each register block of R x C: multiply_tile (product_tiles.cc)
//
// The right block (at most 240 KB) stays in the second-level cache, a panel of the left factor (R x
// kDepth, at most 8 KB) in the first-level cache. Every pass reads and writes the block of y once,
// which is 2 * 4 bytes for kDepth multiply-accumulates. Scratch of a thread: the right panels, then
// the left.
#include "shoal/engine/cpu/product/product.h"

#include <algorithm>

#include "shoal/base/round_up.h"

namespace shoal::cpu {
namespace {

// Elements of k per pass: the rows of a tile take 8 KB or less and stay in the first-level cache
// while the panels of the right factor stream by.
constexpr int64_t kDepth = 256;
// Columns per block: with kDepth at most 240 KB, half of a small second-level cache. 240 is a
// multiple of the panel widths 12, 24 and 48.
constexpr int64_t kBlockColumns = 240;
// Rows per block. Every block packs its columns again, so that more rows spread that cost. A tile
// reads its rows once, so that they may come from further away.
constexpr int64_t kBlockRows = 384;

// Size of the pieces when n is cut into the fewest pieces of at most `most`: equal but for the
// last, and multiples of `unit`.
int64_t even_piece(int64_t n, int64_t most, int64_t unit) {
  const int64_t pieces = std::max<int64_t>(ceil_div(n, most), 1);
  return round_up(std::max<int64_t>(ceil_div(n, pieces), 1), unit);
}

int64_t left_scratch(const Blocking& blocking, int64_t k, Packed packed) {
  if (packed.left) return 0;
  return round_up(packed_rows_size(blocking.rows, std::min(k, kDepth)), 16);
}

int64_t right_scratch(const Blocking& blocking, int64_t k, Packed packed) {
  return packed.right ? 0 : round_up(blocking.columns * std::min(k, kDepth) + kPanelSlack, 16);
}

// Left factor of the block, packed into `scratch` if tiles ask for it (wants_panels()).
LeftPanels left_of(const Product& product, const Block& block, float* scratch) {
  const int64_t rows = panel_size().rows, depth = block.k_end - block.k;
  if (product.packed_left != nullptr) {
    return {product.packed_left + block.i * product.k + block.k * rows, rows * product.k, 1, rows};
  }
  const Matrix part = product.left.from(block.i, block.k);
  if (!wants_panels(part)) {
    return {part.data, rows * part.row_stride, part.row_stride, part.column_stride};
  }
  pack_rows(part, block.i_end - block.i, depth, scratch);
  return {scratch, rows * depth, 1, rows};
}

RightPanels right_of(const Product& product, const Block& block, float* scratch) {
  const int64_t columns = panel_size().columns;
  if (product.packed_right != nullptr) {
    return {product.packed_right + block.j * product.k + block.k * columns, columns * product.k};
  }
  product.right->pack(block.k, block.k_end, block.j, block.j_end, scratch);
  return {scratch, columns * (block.k_end - block.k)};
}

}  // namespace

int64_t packed_rows_size(int64_t m, int64_t k) { return round_up(m, panel_size().rows) * k; }
int64_t packed_columns_size(int64_t k, int64_t n) { return round_up(n, panel_size().columns) * k; }

void RightMatrix::pack(int64_t k, int64_t k_end, int64_t j, int64_t j_end, float* panels) const {
  pack_columns(matrix_.from(k, j), k_end - k, j_end - j, panels);
  if (scale_ == 1) return;
  float* end = panels + packed_columns_size(k_end - k, j_end - j);
  for (float* p = panels; p < end; ++p) *p *= scale_;
}

Blocking choose_blocking(int64_t m, int64_t n, int64_t k, Packed packed, int64_t batch,
                         int threads) {
  const PanelSize panel = panel_size();
  Blocking blocking;
  blocking.columns = even_piece(n, kBlockColumns, panel.columns);
  // With a packed left factor the right one is packed during the product. All rows form one block
  // then, so that each column is packed once.
  blocking.rows = even_piece(m, packed.left ? std::max<int64_t>(m, 1) : kBlockRows, panel.rows);
  blocking.column_blocks = ceil_div(n, blocking.columns);
  blocking.row_blocks = ceil_div(m, blocking.rows);
  // Rows are cut further until all threads have work. If every block packs its own columns, that
  // costs little next to multiplying them by this many rows or more.
  constexpr int64_t kBlocksPerThread = 4;
  constexpr double kMacs = 1 << 17;  // a few microseconds: more than dispatch costs
  const int64_t few_rows = packed.right ? 16 : 64;
  const double macs =
      static_cast<double>(batch * m) * static_cast<double>(n) * static_cast<double>(k);
  const double wanted =
      threads == 1 ? 1 : std::min(macs / kMacs, static_cast<double>(kBlocksPerThread * threads));
  while (static_cast<double>(batch * blocking.blocks()) < wanted && blocking.rows >= 2 * few_rows) {
    blocking.rows = round_up(blocking.rows / 2, panel.rows);
    blocking.row_blocks = ceil_div(m, blocking.rows);
  }
  blocking.scratch_floats = left_scratch(blocking, k, packed) + right_scratch(blocking, k, packed);
  return blocking;
}

Blocking one_block(int64_t m, int64_t n, int64_t k, Packed packed) {
  Blocking blocking{m, round_up(n, panel_size().columns), 1, 1, 0};
  blocking.scratch_floats = left_scratch(blocking, k, packed) + right_scratch(blocking, k, packed);
  return blocking;
}

void multiply(const Product& product, const Blocking& blocking, int64_t index, float* scratch) {
  // Consecutive blocks share their columns, which are then likely to be in a cache.
  const int64_t i = index % blocking.row_blocks * blocking.rows;
  const int64_t j = index / blocking.row_blocks * blocking.columns;
  Block block{i, std::min(i + blocking.rows, product.m),
              j, std::min(j + blocking.columns, product.n),
              0, 0};
  float* left = scratch + blocking.scratch_floats -
                left_scratch(blocking, product.k, {.left = product.packed_left != nullptr});
  do {  // once even for k = 0: bias and addend remain
    block.k = block.k_end;
    block.k_end = std::min(block.k + kDepth, product.k);
    multiply_block(product, block, left_of(product, block, left),
                   right_of(product, block, scratch));
  } while (block.k_end < product.k);

  // Activations other than clamps make a second pass over the block, which is still in the cache.
  const Function& pass = product.activation.pass;
  if (pass.loop == nullptr) return;
  for (int64_t r = block.i; r < block.i_end; ++r) {
    float* y = product.y + r * product.y_stride + block.j;
    pass(y, y, block.j_end - block.j);
  }
}

}  // namespace shoal::cpu
