// Gather: slices of the data, which are contiguous, in the order of the indices.
#include <algorithm>
#include <cstring>

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/movement/movement.h"
#include "shoal/model/ops/index/index.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::cpu {
namespace {

template <class Index>
class GatherKernel : public Kernel {
 public:
  explicit GatherKernel(const KernelSpec& spec) {
    const Shape& x = spec.shape(0);
    const size_t axis = ops::axis_in(spec.node.integer("axis", 0), x.rank());
    outer_ = x.count(0, axis);
    length_ = x[axis];
    bytes_ = x.count(axis + 1, x.rank()) * static_cast<int64_t>(size_of(spec.inputs[0].type.dtype));
  }

  void run(const KernelArgs& args) const override {
    const std::span<const Index> indices = args.inputs[1].data<Index>();
    const std::byte* x = args.inputs[0].bytes().data();
    std::byte* y = args.outputs[0].bytes().data();
    const int64_t taken = std::ssize(indices);
    args.pool.parallel_ranges(
        outer_ * taken, kCopyBytes / std::max<int64_t>(bytes_, 1) + 1,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const Index index = indices[static_cast<size_t>(i % taken)];
            const int64_t from = i / taken * length_ + ops::index_in(index, length_);
            std::memcpy(y + i * bytes_, x + from * bytes_, static_cast<size_t>(bytes_));
          }
        });
  }

 private:
  int64_t outer_, length_, bytes_;
};

std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  if (spec.outputs[0].shape.count() == 0) return nullptr;
  if (spec.inputs[1].type.dtype == DType::kI32)
    return std::make_unique<GatherKernel<int32_t>>(spec);
  return std::make_unique<GatherKernel<int64_t>>(spec);
}

}  // namespace

std::vector<Provider> gather_kernels() { return {{&ops::gather, "rows", make}}; }

}  // namespace shoal::cpu
