// Matrix products of floats: the one loop nest under Gemm, MatMul, Conv and Attention.
//
// The innermost loop reads the right factor from panels of C columns, [panel][k][C], with zeros
// beyond the edge; weights are packed so once, anything else block by block. The left factor is
// read where it lies, R rows side by side, or from panels of R rows, [panel][k][R].
#pragma once

#include <cstdint>

#include "shoal/cpu/elementwise/function.h"

namespace shoal::cpu {

// R and C of the instruction set in use: R x C sums fill its registers.
struct PanelSize {
  int64_t rows = 0;
  int64_t columns = 0;
};
PanelSize panel_size();
inline constexpr int64_t kMaxPanelColumns = 64;  // of any instruction set

// Floats after the panels of a right factor that may be written too, so that whoever fills them
// can store whole vectors.
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

// The right factor of a product: whatever can fill panels with its rows [k, k_end) and columns
// [j, j_end), k and j counted from the product's first. Convolutions gather it from an image.
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

// Floats that the panels of an m x k left factor take, and filling them; the same for a k x n
// right one.
int64_t packed_rows_size(int64_t m, int64_t k);
void pack_rows(const Matrix& matrix, int64_t m, int64_t k, float* panels);
int64_t packed_columns_size(int64_t k, int64_t n);
void pack_columns(const Matrix& matrix, int64_t k, int64_t n, float* panels);

// y = activation(left * right + row_bias + column_bias + addend); null: not there.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  const float* packed_left = nullptr;   // panels made by pack_rows, or
  Matrix left;                          // a matrix
  const float* packed_right = nullptr;  // panels made by pack_columns, or
  const RightFactor* right = nullptr;   // what packs them block by block
  float* y = nullptr;                   // [m, n]
  int64_t y_stride = 0;

  const float* row_bias = nullptr;     // [m]
  const float* column_bias = nullptr;  // [n]
  const float* addend = nullptr;       // [m, n], as far apart as the rows of y; may be y
  Activation activation;
};

// How a product is cut into blocks that threads compute apart.
struct Blocking {
  int64_t rows = 0, columns = 0;  // of one block
  int64_t row_blocks = 0, column_blocks = 0;
  int64_t scratch_floats = 0;  // that each thread needs

  int64_t blocks() const { return row_blocks * column_blocks; }
};

// Which factors come in panels.
struct Packed {
  bool left = false, right = false;
};

// `batch` products of the same size are to be spread over `threads`.
Blocking choose_blocking(int64_t m, int64_t n, int64_t k, Packed packed, int64_t batch,
                         int threads);

// All of a product as one block, for who cuts it himself.
Blocking one_block(int64_t m, int64_t n, int64_t k, Packed packed);

// Computes one block of [0, blocking.blocks()).
void multiply(const Product& product, const Blocking& blocking, int64_t block, float* scratch);

}  // namespace shoal::cpu
