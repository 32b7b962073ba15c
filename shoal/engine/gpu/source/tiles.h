// Products by tiles in local memory, for matrices and for convolutions alike.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "shoal/engine/gpu/work.h"

namespace shoal::gpu {

// How an item loads an element of an operand.
struct TileOperand {
  std::string setup;     // statements of `row` (of a) or `column` (of b), and of z
  std::string step;      // statements of `at`, the first k of a step, computed once per step
  std::string load;      // statements of `k` as well, that set `v` by $load(buffer, place)
  bool along_k = false;  // neighbours in memory differ in k, not in row or column
  // `v` is a float4 of four rows, from `row` on, which exist.
  bool in_fours = false;
  // Of b, for matrix.h: `load` is the place, in x_last, of the bits of eight k from `k` on, which
  // exist. Of the variables of `setup`, only the int `from` is kept.
  bool in_eights = false;
};

// y[row, column] = sum_k a[row, k] b[k, column], of z = 0 ... batch - 1.
struct TileProduct {
  int64_t rows = 0, columns = 0, k = 0, batch = 1;
  TileOperand a, b;
  std::string column_setup;  // statements of `j`, a column, before its rows are stored
  std::string at;            // the place in y of row `r` and column `j`
  // Statements that turn the float `value` of row `r` and column `j` into the element of y at `at`.
  std::string finish;
  bool in_fours = false;       // four columns, from a multiple of four on, are neighbours in y
  int64_t scratch = 0;         // elements of scratch memory, from its first on, that others use
  std::string is_stored = {};  // whether column `j` is in y at all; empty: all are
};

// Runs of k that a step must not cross: a step takes a divisor of this many k, if k is a multiple
// of it.
inline constexpr int64_t kMostDepth = 32;

// The left side of a product as [batch, k, rows], the rows in fours, so that neighbours in memory
// are rows. `element` gives that of z, row and k.
Tensor tile_table(const TileProduct& product,
                  const std::function<float(int64_t z, int64_t row, int64_t k)>& element);

// Statements that store neighbours of row `r`, from column `j` on: one value, or four where they
// are neighbours in y.
std::string store_text(const TileProduct& product, std::span<const std::string> values);

// Estimated cycles of a product on all units; infinity if make_tiles() would return nullopt.
double tile_cycles(const TileProduct& product, const Capabilities& device, size_t rank = 0);

// One of the arguments is `y`. nullopt if the device has no local memory, the product is too small
// to be cut, or there are at most `rank` ways to cut it. Lower ranks have lower estimated costs.
std::optional<Work> make_tiles(const TileProduct& product, std::vector<Argument> arguments,
                               const Capabilities& device, size_t rank = 0);

// Products in half precision, by the units of a device that multiply small matrices.

// The left side of a product, padded with zeros to whole tiles, in the order in which the items of
// a group load it. `element` gives that of z, row and k.
Tensor matrix_table(const TileProduct& product,
                    const std::function<float(int64_t z, int64_t row, int64_t k)>& element);

enum class MatrixWay : uint8_t {
  kNarrow,  // a warp computes 32 columns
  kWide,    // 64: fewer reads of local memory per product, twice the sums in registers
  // Wide, if there are more than 64 rows, and elements go to local memory two steps ahead, without
  // passing through registers. Where product.b.in_eights.
  kAhead,
};

// Table 0 of the work is a matrix_table(); product.a is not read. nullopt if the device has no such
// units, or the product is too small or unsuitable for this way.
std::optional<Work> make_matrix(const TileProduct& product, std::vector<Argument> arguments,
                                const Capabilities& device, MatrixWay way);

}  // namespace shoal::gpu
