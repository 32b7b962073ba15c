// Matrix products of floats: the one loop nest under Gemm, MatMul, Conv and Attention.
//
// The innermost loop reads the right factor from panels of C columns, [panel][k][C], with zeros
// beyond the edge. Weights are packed so once; other factors block by block during the product. The
// left factor is read in place, R rows side by side, or from panels of R rows, [panel][k][R].
//
// All functions are thread-safe.
#pragma once

#include <cstdint>

#include "shoal/engine/cpu/elementwise/elementwise.h"

namespace shoal::cpu {

// R and C of the instruction set in use: R x C sums fill its registers (panels-inl.h).
struct PanelSize {
  int64_t rows = 0;
  int64_t columns = 0;
};
PanelSize panel_size();
inline constexpr int64_t kMaxPanelColumns = 64;  // of any instruction set

// Floats after the panels of a right factor that may be overwritten, so that packing can store
// whole vectors.
inline constexpr int64_t kPanelSlack = 16;

// Element (i, j) is data[i * row_stride + j * column_stride].
struct Matrix {
  const float* data = nullptr;
  int64_t row_stride = 0;
  int64_t column_stride = 0;

  Matrix from(int64_t i, int64_t j) const {
    return {data + i * row_stride + j * column_stride, row_stride, column_stride};
  }
};

// Right factor of a product. pack() fills panels with the rows [k, k_end) and columns [j, j_end),
// counted from the first of the product. Convolutions gather them from an image (conv_loops.h).
// Several threads call pack() at once.
class RightFactor {
 public:
  virtual ~RightFactor() = default;
  virtual void pack(int64_t k, int64_t k_end, int64_t j, int64_t j_end, float* panels) const = 0;
};

// scale * matrix
class RightMatrix : public RightFactor {
 public:
  explicit RightMatrix(const Matrix& matrix, float scale = 1) : matrix_(matrix), scale_(scale) {}
  void pack(int64_t k, int64_t k_end, int64_t j, int64_t j_end, float* panels) const override;

 private:
  Matrix matrix_;
  float scale_;
};

// Number of floats of the panels of an m x k left factor, and packing; the same for a k x n right
// one. REQUIRES: `panels` is aligned to a cache line.
int64_t packed_rows_size(int64_t m, int64_t k);
void pack_rows(const Matrix& matrix, int64_t m, int64_t k, float* panels);
int64_t packed_columns_size(int64_t k, int64_t n);
void pack_columns(const Matrix& matrix, int64_t k, int64_t n, float* panels);

// y = activation(left * right + row_bias + column_bias + addend). Null terms are absent.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  const float* packed_left = nullptr;   // panels made by pack_rows, or
  Matrix left;                          // a matrix
  const float* packed_right = nullptr;  // panels made by pack_columns, or
  const RightFactor* right = nullptr;   // packs them block by block
  float* y = nullptr;                   // [m, n]
  int64_t y_stride = 0;

  const float* row_bias = nullptr;     // [m]
  const float* column_bias = nullptr;  // [n]
  const float* addend = nullptr;       // [m, n], as far apart as the rows of y; may be y
  Epilogue activation;
};

// Partition of y into blocks that threads compute independently.
struct Blocking {
  int64_t rows = 0, columns = 0;  // of one block
  int64_t row_blocks = 0, column_blocks = 0;
  int64_t scratch_floats = 0;  // that each thread needs

  int64_t blocks() const { return row_blocks * column_blocks; }
};

// Factors that are packed before the product.
struct Packed {
  bool left = false, right = false;
};

// Blocking for `batch` products of the same size that `threads` threads share.
Blocking choose_blocking(int64_t m, int64_t n, int64_t k, Packed packed, int64_t batch,
                         int threads);

// One block for all of a product, for callers that partition the work themselves.
Blocking one_block(int64_t m, int64_t n, int64_t k, Packed packed);

// Computes one block, in [0, blocking.blocks()). REQUIRES: `scratch` has blocking.scratch_floats,
// aligned to a cache line, and belongs to the calling thread.
void multiply(const Product& product, const Blocking& blocking, int64_t block, float* scratch);

// The inner loops of product.h, compiled once per instruction set.

// A rectangle of y, and the part of k that a pass adds to it.
struct Block {
  int64_t i, i_end, j, j_end, k, k_end;
};

// Left factor of a block, from (i, k) on. Element (r, p) of a panel is data[r * row + p * step],
// and the next panel lies `stride` further. That describes packed panels and matrices in place
// alike.
struct LeftPanels {
  const float* data;
  int64_t stride, row, step;
};

// Right factor of a block, from (k, j) on, in panels `stride` apart.
struct RightPanels {
  const float* data;
  int64_t stride;
};

// One pass: y (+)= left * right over the block, with the epilogue in the last pass.
void multiply_block(const Product& product, const Block& block, const LeftPanels& left,
                    const RightPanels& right);

// True if packing this left factor into panels is faster than reading it in place.
bool wants_panels(const Matrix& left);

// Products of a few rows with a large matrix that is read once and in place: fully connected layers
// at batch size 1.

// y = x * w^T. Elements along k are contiguous in both factors.
struct Dots {
  const float* x = nullptr;
  int64_t x_stride = 0;  // from row to row
  int64_t m = 0;
  int64_t k = 0;
  const float* w = nullptr;  // [n, k]
  float* y = nullptr;        // [m, n]
  int64_t y_stride = 0;
};

// y[i, j] = x_i . w_j for every i and the rows j in [begin, end) of w.
void dot_rows(const Dots& dots, int64_t begin, int64_t end);

// y[j] = sum over p of x[p] * w[p, j] for j in [begin, end); w: [k, n].
void add_rows(const float* x, int64_t k, const float* w, int64_t n, int64_t begin, int64_t end,
              float* y);

}  // namespace shoal::cpu
