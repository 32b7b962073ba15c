// Filters: packed weights and bias of a convolution in the blocked layout. Constants are packed
// when the kernel is made. Weights that change from run to run, as in training, are packed at the
// beginning of each run into the kernel's scratch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "shoal/base/round_up.h"
#include "shoal/engine/cpu/conv/blocked_spec.h"
#include "shoal/engine/cpu/conv_loops/conv_tile.h"
#include "shoal/engine/cpu/packed_weights.h"

namespace shoal::cpu {

class Filters {
 public:
  // Memory that one run reads.
  struct View {
    const float* packed;
    const float* bias;  // [out_blocks][block]
  };

  // Writes all packed floats of weights w to `to`.
  using Pack = std::function<void(const float* w, ThreadPool& pool, float* to)>;

  Filters() = default;
  // `count` is the number of packed floats. Weights are input 1, bias is input 2.
  Filters(const KernelSpec& spec, const PackedForm& form, int64_t count, int64_t out_blocks,
          const Pack& pack)
      : count_(count), bias_count_(out_blocks * block_size()) {
    if (!has_constant_filters(spec)) return;
    bias_ = blocked_bias(spec, out_blocks, block_size());
    const float* w = spec.constant(1)->data<float>().data();
    packed_ = packed_weights(spec, form, count, [&](float* to) { pack(w, spec.pool, to); });
    spec.constant(1)->release_pages();
  }

  int64_t scratch_floats() const {
    return packed_ ? 0 : round_up(count_, kLine) + round_up(bias_count_, kLine);
  }

  // Packs variable weights into `scratch`, which has scratch_floats(). Call once per run.
  View view(const KernelArgs& args, float* scratch, const Pack& pack) const {
    if (packed_) return {packed_.get(), bias_.data()};
    pack(args.input(1), args.pool, scratch);
    float* bias = scratch + round_up(count_, kLine);
    std::fill_n(bias, bias_count_, 0.0f);
    if (args.has(2)) std::ranges::copy(args.inputs[2].data<float>(), bias);
    return {scratch, bias};
  }

 private:
  static constexpr int64_t kLine = 16;  // floats of a cache line: tiles use aligned loads

  int64_t count_ = 0, bias_count_ = 0;
  PackedFloats packed_;  // null: at each run
  AlignedFloats bias_;
};

}  // namespace shoal::cpu
