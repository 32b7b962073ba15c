// Softmax along the last axis, row by row. Along another one it is left to the reference.
#include "shoal/cpu/kernel.h"
#include "shoal/cpu/rows.h"
#include "shoal/ops/ops.h"
#include "shoal/ops/require.h"

namespace shoal::cpu {
namespace {

class SoftmaxKernel : public Kernel {
 public:
  SoftmaxKernel(int64_t rows, int64_t n) : rows_(rows), n_(n) {}

  void run(const Call& call) const override {
    constexpr int64_t kElements = 4096;  // that are worth waking a thread
    call.pool.parallel_ranges(rows_, kElements / n_ + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        softmax_row(call.input(0) + i * n_, call.output(0) + i * n_, n_);
      }
    });
  }

 private:
  const int64_t rows_, n_;
};

std::unique_ptr<Kernel> make_softmax(const Site& site) {
  const Shape& shape = site.shape(0);
  if (!site.all_of_type(DType::kF32) || shape.count() == 0) return nullptr;
  const size_t axis = ops::axis_in(site.node.integer("axis", -1), shape.rank());
  if (shape.count(axis + 1, shape.rank()) != 1) return nullptr;
  return std::make_unique<SoftmaxKernel>(shape.count(0, axis), shape[axis]);
}

}  // namespace

std::vector<Provider> softmax_kernels() { return {{&ops::softmax, "rows", make_softmax}}; }

}  // namespace shoal::cpu
