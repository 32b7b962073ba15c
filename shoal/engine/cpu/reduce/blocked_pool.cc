// Pools in the blocked layout. Lowering makes them pools over three axes: rows, columns, and the
// channels of a block, on which the window is one wide. Threads share planes; the loop over rows is
// in blocked_rows.cc.
#include <algorithm>
#include <vector>

#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

class BlockedPoolKernel : public RectangleKernel {
 public:
  using PoolRows = void (*)(const BlockedRows& rows, float* line);

  BlockedPoolKernel(const KernelSpec& spec, PoolRows pool_rows)
      : window_(ops::window_of(spec.node, spec.shape(0))),
        planes_(spec.shape(0)[0] * spec.shape(0)[1]),
        block_(spec.shape(0)[4]),
        threads_(spec.pool.threads()),
        pool_rows_(pool_rows) {}

  void run(const KernelArgs& args) const override {
    const Rectangle all{{0, rows().output}, {0, columns().output}};
    run_in(args, std::span(&all, 1));
  }

  void run_in(const KernelArgs& args, std::span<const Rectangle> where) const override {
    const int64_t in = rows().input * line();
    const int64_t out = rows().output * columns().output * block_;
    args.pool.parallel_for(pieces(), [&](int64_t piece, int slot) {
      float* sums = reinterpret_cast<float*>(args.scratch) + slot * line();
      const int64_t end = planes_ * (piece + 1) / pieces();
      for (int64_t i = planes_ * piece / pieces(); i < end; ++i) {
        float* y = args.output(0) + i * out;
        for (const Rectangle& one : where) {
          pool_rows_({&rows(), &columns(), args.input(0) + i * in, y, one}, sums);
          finish(y, one);
        }
      }
    });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(threads_ * line()) * sizeof(float);
  }

 protected:
  const ops::WindowAxis& rows() const { return window_.axes[0]; }
  const ops::WindowAxis& columns() const { return window_.axes[1]; }
  int64_t block() const { return block_; }

 private:
  virtual void finish(float*, const Rectangle&) const {}  // of a plane

  int64_t line() const { return columns().input * block_; }

  // Planes that are taken at once are worth waking a thread for.
  int64_t pieces() const {
    constexpr int64_t kElements = 4096;
    const int64_t pixels = rows().output * columns().output;
    const int64_t work = pixels * block_ * rows().kernel * columns().kernel;
    return std::max<int64_t>(planes_ / (kElements / work + 1), 1);
  }

  const ops::Window window_;
  const int64_t planes_, block_, threads_;
  const PoolRows pool_rows_;
};

class BlockedAverageKernel : public BlockedPoolKernel {
 public:
  explicit BlockedAverageKernel(const KernelSpec& spec) : BlockedPoolKernel(spec, sum_rows) {
    const bool with_padding = spec.node.integer("count_include_pad", 0) != 0;
    for (int64_t h = 0; h < rows().output; ++h) {
      for (int64_t w = 0; w < columns().output; ++w) {
        counts_.push_back(static_cast<float>(taps(rows(), h, with_padding)) *
                          static_cast<float>(taps(columns(), w, with_padding)));
      }
    }
  }

 private:
  static int64_t taps(const ops::WindowAxis& axis, int64_t o, bool with_padding) {
    return with_padding ? axis.padded_taps(o) : axis.taps(o).count();
  }

  void finish(float* plane, const Rectangle& where) const override {
    for (int64_t row = where.rows.begin; row < where.rows.end; ++row) {
      for (int64_t column = where.columns.begin; column < where.columns.end; ++column) {
        const int64_t pixel = row * columns().output + column;
        const float count = counts_[static_cast<size_t>(pixel)];
        float* y = plane + pixel * block();
        // A window may lie in the padding entirely; its average is zero.
        for (int64_t c = 0; c < block(); ++c) y[c] = count == 0 ? 0 : y[c] / count;
      }
    }
  }

  std::vector<float> counts_;  // of taps, by pixel of the output
};

// True if the third spatial axis is the channels of a block. A 3-D pool of plain images whose last
// axis happens to be as long passes as well, and is computed correctly: its window is one wide
// there.
bool is_blocked(const KernelSpec& spec) {
  if (!spec.all_of_type(DType::kF32) || spec.outputs.size() > 1) return false;
  const Shape& x = spec.shape(0);
  if (x.rank() != 5 || x[4] != block_size() || spec.outputs[0].shape.count() == 0) return false;
  const ops::WindowAxis lanes = ops::window_of(spec.node, x).axes[2];
  return lanes.kernel == 1 && lanes.stride == 1 && lanes.pad_begin == 0 && lanes.pad_end == 0;
}

std::unique_ptr<Kernel> make_max(const KernelSpec& spec) {
  return is_blocked(spec) ? std::make_unique<BlockedPoolKernel>(spec, max_rows) : nullptr;
}

std::unique_ptr<Kernel> make_average(const KernelSpec& spec) {
  return is_blocked(spec) ? std::make_unique<BlockedAverageKernel>(spec) : nullptr;
}

}  // namespace

std::vector<Provider> blocked_pool_kernels() {
  return {{&ops::average_pool, "blocked", make_average}, {&ops::max_pool, "blocked", make_max}};
}

}  // namespace shoal::cpu
