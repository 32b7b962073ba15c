// Attention, y = softmax(scale * Q K^T + mask) V, per head and block of queries. Keys come in
// parts, and an online softmax corrects earlier parts, so that only a block of scores exists at a
// time however long the sequence is:
//   for each part of keys: S = Q K^T + mask; (P, f) = softmax_part(S); y = f * y + P V
//   y /= sum
// Both products go through product.h with keys and values packed per part. Memory is kQueries *
// kKeys scores per thread instead of queries * keys; work is 2 * queries * keys * (depth + width)
// FLOP per head.
#include "shoal/model/ops/attention/attention.h"

#include <algorithm>

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/product/product.h"
#include "shoal/engine/cpu/reduce/rows.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

constexpr size_t kMask = 3;
// Queries and keys at a time: 120 KB of scores, in the second-level cache. 240 keys are whole
// panels.
constexpr int64_t kQueries = 128, kKeys = 240;

int64_t round_up_to_line(int64_t floats) { return (floats + 15) / 16 * 16; }

struct Scratch {
  float* scores;    // [queries, keys of a part]
  float* panels;    // of keys, then of values
  float* products;  // what products need themselves
  SoftmaxSoFar* rows;
};

class AttentionKernel : public Kernel {
 public:
  explicit AttentionKernel(const KernelSpec& spec)
      : n_(ops::attention_sizes(spec.node, spec.shape(0), spec.shape(1), spec.shape(2))),
        threads_(spec.pool.threads()),
        scale_(spec.node.real("scale", 1)),
        rows_(rows_per_block(n_.queries, n_.batch * n_.heads, threads_)),
        part_(std::min(n_.keys, kKeys)),
        score_blocking_(one_block(rows_, part_, n_.depth, {.right = true})),
        mix_blocking_(one_block(rows_, n_.width, part_, {.right = true})) {
    if (!spec.given(kMask)) return;
    mask_strides_ = ops::broadcast_strides(spec.shape(kMask), n_.scores());
  }

  void run(const KernelArgs& args) const override {
    const int64_t blocks = (n_.queries + rows_ - 1) / rows_;
    args.pool.parallel_for(n_.batch * n_.heads * blocks, [&](int64_t index, int slot) {
      attend(args, index / blocks, index % blocks * rows_, scratch_of(args, slot));
    });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(floats_per_thread() * threads_) * sizeof(float);
  }

 private:
  // Queries per block: fewer if threads would otherwise have nothing to do.
  static int64_t rows_per_block(int64_t queries, int64_t heads, int threads) {
    constexpr int64_t kBlocksPerThread = 4, kFewRows = 32;
    int64_t rows = std::clamp<int64_t>(queries, 1, kQueries);
    while (threads > 1 && heads * ((queries + rows - 1) / rows) < kBlocksPerThread * threads &&
           rows >= 2 * kFewRows) {
      rows = (rows + 1) / 2;
    }
    return rows;
  }

  int64_t score_floats() const { return round_up_to_line(rows_ * part_); }
  int64_t panel_floats() const {
    return round_up_to_line(
        std::max(packed_columns_size(n_.depth, part_), packed_columns_size(part_, n_.width)));
  }
  int64_t product_floats() const {
    return std::max(score_blocking_.scratch_floats, mix_blocking_.scratch_floats);
  }
  int64_t floats_per_thread() const {
    const auto row = static_cast<int64_t>(sizeof(SoftmaxSoFar) / sizeof(float));
    return score_floats() + panel_floats() + product_floats() + round_up_to_line(rows_ * row);
  }
  Scratch scratch_of(const KernelArgs& args, int slot) const {
    float* first = reinterpret_cast<float*>(args.scratch) + slot * floats_per_thread();
    float* panels = first + score_floats();
    float* products = panels + panel_floats();
    return {first, panels, products, reinterpret_cast<SoftmaxSoFar*>(products + product_floats())};
  }

  // `head` counts the heads of all images of the batch.
  void attend(const KernelArgs& args, int64_t head, int64_t query, const Scratch& scratch) const {
    const int64_t rows = std::min(rows_, n_.queries - query), step = n_.step(n_.width);
    float* y = args.output(0) + n_.begin(head, n_.queries, n_.width) + query * step;
    std::fill(scratch.rows, scratch.rows + rows, SoftmaxSoFar());
    for (int64_t i = 0; i < rows; ++i) std::fill_n(y + i * step, n_.width, 0.0f);
    for (int64_t key = 0; key < n_.keys; key += part_) {
      const int64_t keys = std::min(part_, n_.keys - key);
      score(args, head, query, rows, key, keys, scratch);
      for (int64_t i = 0; i < rows; ++i) {
        float* row = scratch.scores + i * keys;
        if (args.has(kMask)) add_mask(args.input(kMask), head, query + i, key, keys, row);
        const float factor = softmax_part(row, keys, scratch.rows[i]);
        // The maximum rarely changes after a few parts, so that most rows need no correction.
        if (key > 0 && factor != 1) scale_row(factor, y + i * step, n_.width);
      }
      mix(args, head, rows, key, keys, scratch, y);
    }
    for (int64_t i = 0; n_.keys > 0 && i < rows; ++i) {
      // One division per row at the end instead of one per score.
      scale_row(static_cast<float>(1 / scratch.rows[i].sum), y + i * step, n_.width);
    }
  }

  void score(const KernelArgs& args, int64_t head, int64_t query, int64_t rows, int64_t key,
             int64_t keys, const Scratch& scratch) const {
    const int64_t depth = n_.depth, step = n_.step(depth);
    const float* k = args.input(1) + n_.begin(head, n_.keys, depth) + key * step;
    RightMatrix({k, 1, step}, scale_).pack(0, depth, 0, keys, scratch.panels);
    Product product;
    product.m = rows;
    product.n = product.y_stride = keys;
    product.k = depth;
    product.left = {args.input(0) + n_.begin(head, n_.queries, depth) + query * step, step, 1};
    product.packed_right = scratch.panels;
    product.y = scratch.scores;
    multiply(product, score_blocking_, 0, scratch.products);
  }

  // y += scores * values
  void mix(const KernelArgs& args, int64_t head, int64_t rows, int64_t key, int64_t keys,
           const Scratch& scratch, float* y) const {
    const int64_t width = n_.width, step = n_.step(width);
    const float* v = args.input(2) + n_.begin(head, n_.keys, width) + key * step;
    pack_columns({v, step, 1}, keys, width, scratch.panels);
    Product product;
    product.m = rows;
    product.n = width;
    product.k = keys;
    product.left = {scratch.scores, keys, 1};
    product.packed_right = scratch.panels;
    product.addend = product.y = y;
    product.y_stride = step;
    multiply(product, mix_blocking_, 0, scratch.products);
  }

  void add_mask(const float* mask, int64_t head, int64_t query, int64_t key, int64_t keys,
                float* row) const {
    const ops::Strides& at = mask_strides_;
    const float* from =
        mask + head / n_.heads * at[0] + head % n_.heads * at[1] + query * at[2] + key * at[3];
    for (int64_t j = 0; j < keys; ++j) row[j] += from[j * at[3]];
  }

  const ops::AttentionSizes n_;
  const int threads_;
  const float scale_;
  const int64_t rows_;  // queries per block
  const int64_t part_;  // keys at a time
  const Blocking score_blocking_, mix_blocking_;
  ops::Strides mask_strides_;
};

std::unique_ptr<Kernel> make_attention(const KernelSpec& spec) {
  if (!spec.all_of_type(DType::kF32)) return nullptr;
  return std::make_unique<AttentionKernel>(spec);
}

}  // namespace

std::vector<Provider> attention_kernels() { return {{&ops::attention, "gemm", make_attention}}; }

}  // namespace shoal::cpu
