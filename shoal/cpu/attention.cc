// Attention: for a block of queries of one head, two products with a softmax between them. Scores
// exist for one block at a time only.
#include <algorithm>

#include "shoal/cpu/kernel.h"
#include "shoal/cpu/product.h"
#include "shoal/cpu/rows.h"
#include "shoal/ops/broadcast.h"
#include "shoal/ops/ops.h"

namespace shoal::cpu {
namespace {

constexpr size_t kMask = 3;
constexpr int64_t kQueries = 64;  // per block

class AttentionKernel : public Kernel {
 public:
  explicit AttentionKernel(const Site& site)
      : heads_(site.shape(0)[1]),
        queries_(site.shape(0)[2]),
        keys_(site.shape(1)[2]),
        depth_(site.shape(1)[3]),
        width_(site.shape(2)[3]),
        all_heads_(site.shape(0)[0] * heads_),
        threads_(site.pool.threads()),
        scale_(site.node.real("scale", 1)),
        score_blocking_(choose_blocking(std::min(queries_, kQueries), keys_, depth_, {}, 1, 1)),
        mix_blocking_(choose_blocking(std::min(queries_, kQueries), width_, keys_, {}, 1, 1)) {
    if (!site.given(kMask)) return;
    const Shape scores{site.shape(0)[0], heads_, queries_, keys_};
    mask_strides_ = ops::broadcast_strides(site.shape(kMask), scores);
  }

  void run(const Call& call) const override {
    auto* scratch = reinterpret_cast<float*>(call.scratch);
    const int64_t blocks = (queries_ + kQueries - 1) / kQueries;
    call.pool.parallel_for(all_heads_ * blocks, [&](int64_t index, int slot) {
      attend(call, index / blocks, index % blocks * kQueries, scratch + slot * scratch_floats());
    });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(scratch_floats() * threads_) * sizeof(float);
  }

 private:
  int64_t score_floats() const { return (std::min(queries_, kQueries) * keys_ + 15) / 16 * 16; }
  int64_t scratch_floats() const {
    return score_floats() + std::max(score_blocking_.scratch_floats, mix_blocking_.scratch_floats);
  }

  // `head` counts the heads of all images of the batch.
  void attend(const Call& call, int64_t head, int64_t query, float* scratch) const {
    float* scores = scratch;
    const int64_t rows = std::min(kQueries, queries_ - query);
    Product score;
    score.m = rows;
    score.n = score.y_stride = keys_;
    score.k = depth_;
    score.left = {call.input(0) + (head * queries_ + query) * depth_, depth_, 1};
    const RightMatrix keys({call.input(1) + head * keys_ * depth_, 1, depth_}, scale_);
    score.right = &keys;
    score.y = scores;
    multiply_all(score, score_blocking_, scratch + score_floats());

    for (int64_t i = 0; i < rows; ++i) {
      float* row = scores + i * keys_;
      if (call.has(kMask)) add_mask(call.input(kMask), head, query + i, row);
      softmax_row(row, row, keys_);
    }

    Product mix;
    mix.m = rows;
    mix.n = mix.y_stride = width_;
    mix.k = keys_;
    mix.left = {scores, keys_, 1};
    const RightMatrix values({call.input(2) + head * keys_ * width_, width_, 1});
    mix.right = &values;
    mix.y = call.output(0) + (head * queries_ + query) * width_;
    multiply_all(mix, mix_blocking_, scratch + score_floats());
  }

  static void multiply_all(const Product& product, const Blocking& blocking, float* scratch) {
    for (int64_t block = 0; block < blocking.blocks(); ++block) {
      multiply(product, blocking, block, scratch);
    }
  }

  void add_mask(const float* mask, int64_t head, int64_t query, float* row) const {
    const ops::Strides& at = mask_strides_;
    const float* from = mask + head / heads_ * at[0] + head % heads_ * at[1] + query * at[2];
    for (int64_t j = 0; j < keys_; ++j) row[j] += from[j * at[3]];
  }

  const int64_t heads_, queries_, keys_, depth_, width_, all_heads_;
  const int threads_;
  const float scale_;
  const Blocking score_blocking_, mix_blocking_;
  ops::Strides mask_strides_;
};

std::unique_ptr<Kernel> make_attention(const Site& site) {
  if (!site.all_of_type(DType::kF32)) return nullptr;
  return std::make_unique<AttentionKernel>(site);
}

}  // namespace

std::vector<Provider> attention_kernels() { return {{&ops::attention, "gemm", make_attention}}; }

}  // namespace shoal::cpu
