// Slice of floats, in runs as long as its steps allow.
#include "shoal/model/ops/array/slice.h"

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/movement/movement.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

class SliceKernel : public Kernel {
 public:
  SliceKernel(const Shape& shape, const ops::SliceSource& source)
      : first_(source.first),
        walk_(make_walk<2>(shape, {ops::strides_of(shape), source.strides})) {}

  void run(const KernelArgs& args) const override {
    copy_runs(walk_, args.pool, args.input(0) + first_, args.output(0));
  }

 private:
  const int64_t first_;
  const Walk<2> walk_;  // y, x
};

std::unique_ptr<Kernel> make_slice(const KernelSpec& spec) {
  const Shape& shape = spec.outputs[0].shape;
  if (spec.inputs[0].type.dtype != DType::kF32 || shape.count() == 0) return nullptr;
  return std::make_unique<SliceKernel>(shape, ops::slice_source(spec.inputs));
}

}  // namespace

std::vector<Provider> slice_kernels() { return {{&ops::slice, "runs", make_slice}}; }

}  // namespace shoal::cpu
