// Array: a weight-stationary systolic array of multipliers, modelled cycle by cycle
// [Hadidi 2021, 5.1]. It computes C[M,L] = S[M,K] X[K,L] in integers: S is stationary, the columns
// of X stream through.
//
// S is cut into blocks of `rows` x `width`; row r of the array holds a row of the block. A column
// of X enters the first row, which alone is connected to memory, and moves down a row per cycle.
// The products of a row are added by a pipeline: a tree of ceil(log2(width)) stages, or a chain of
// `width` stages. Each column carries its index, so that a sum finds its place in C, where the sums
// of blocks of K are added up, and so that the last column ends the block.
//
// Every cell keeps the weights of the last `buffers` blocks. A block in a buffer is not loaded
// again; a new one replaces the least recently used.
//
// Cycles [Hadidi 2021, 5.1], with blocks = ceil(K / width) ceil(M / rows):
//   sum over blocks of max(L, bytes streamed / bytes_per_cycle) + rows + stages,  + rows per load
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::systolic {

// How the products of a row are added.
enum class Adder : uint8_t { kTree, kChain };

// The default is the thesis' array. Memory gives a byte per column and cycle.
struct ArrayOptions {
  int64_t width = 32;
  int64_t rows = 64;
  Adder adder = Adder::kTree;
  int64_t buffers = 8;  // blocks of weights that the cells keep
  int64_t bytes_per_cycle = 32;
};

// Refuses sizes that are not 1 to 1,024, and more than 2^26 weights in all buffers.
Status check(const ArrayOptions& options);

struct ProductSizes {
  int64_t m = 0, k = 0, l = 0;
};

struct Counts {
  int64_t cycles = 0;
  int64_t loads = 0;           // of stationary blocks
  int64_t streamed_bytes = 0;  // one per element of X and block that reads it
  friend bool operator==(const Counts&, const Counts&) = default;
};

// The pipeline stages of a row's adder.
int64_t count_stages(const ArrayOptions& options);

// The stationary blocks of a product; 0 if there is nothing to add.
int64_t count_blocks(const ArrayOptions& options, const ProductSizes& sizes);

// The cycles of a product by the formula above, if `loads` of its blocks are loaded.
int64_t count_cycles(const ArrayOptions& options, const ProductSizes& sizes, int64_t loads);

// The array with its registers. Not thread-safe.
class Array {
 public:
  // REQUIRES: check(options).ok().
  explicit Array(const ArrayOptions& options);

  // Adds the product to `sums`, [L,M], modulo 2^32. `stationary` is [M,K], `stream` is [L,K]: 8-bit
  // integers less their zero points. `operand` names the stationary operand: blocks in the buffers
  // are found by it. REQUIRES: the same name always comes with the same elements.
  void multiply(uint64_t operand, const ProductSizes& sizes, std::span<const int16_t> stationary,
                std::span<const int16_t> stream, std::span<int32_t> sums);

  const Counts& counts() const { return counts_; }

 private:
  static constexpr int64_t kNone = -1;  // the index of no column: a register without data

  // The weights of one block, in all cells.
  struct Buffer {
    std::vector<int16_t> weights;  // [rows, width]
    uint64_t operand = 0;
    int64_t block = kNone;
    int64_t last_use = 0;
  };

  // The part of a product that one block computes.
  struct Block {
    ProductSizes sizes;      // of the product
    int64_t first_m, ms;     // rows of S
    int64_t ks;              // columns of S, which are rows of X
    const int16_t* weights;  // the first of S
    const int16_t* stream;   // the first of X
    int32_t* sums;
  };

  const Buffer& find_or_load(uint64_t operand, int64_t index, const Block& block);
  void load(const Block& block, Buffer& buffer);
  void stream(const Block& block, const Buffer& buffer);
  bool clock(int64_t entering, const Block& block, const Buffer& buffer);
  void enter();
  void add_stage(size_t row, size_t stage, const Buffer& buffer);
  uint32_t product(size_t row, size_t column, const Buffer& buffer) const;
  bool collect(size_t row, const Block& block, const Buffer& buffer);

  const ArrayOptions options_;
  const size_t width_, rows_, stages_;
  std::vector<Buffer> buffers_;
  std::vector<size_t> stage_begin_;  // of each adder stage, in the sums of a row; last: the end

  std::vector<int16_t> input_;   // input from memory in this cycle, [width]
  std::vector<int16_t> skew_;    // chain: column c is late by c registers
  std::vector<int16_t> data_;    // [rows, width]
  std::vector<uint32_t> adder_;  // [rows, registers of all stages]
  std::vector<int64_t> index_;   // [rows, 1 + stages]: the columns of X that are there
  Counts counts_;
  int64_t uses_ = 0;  // of buffers
};

}  // namespace shoal::systolic
