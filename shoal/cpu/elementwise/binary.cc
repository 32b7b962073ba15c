// Element-wise operators with two inputs that broadcast: runs of a Walk, in which each operand is
// contiguous or a single repeated element.
#include "shoal/cpu/elementwise/binary.h"

#include "shoal/cpu/kernel.h"
#include "shoal/cpu/movement/strided.h"

namespace shoal::cpu {
namespace {

class BinaryKernel : public Kernel {
 public:
  BinaryKernel(const KernelSpec& spec, BinaryLoop loop)
      : loop_(loop),
        walk_(make_walk<3>(spec.outputs[0].shape,
                           {ops::strides_of(spec.outputs[0].shape),
                            ops::broadcast_strides(spec.shape(0), spec.outputs[0].shape),
                            ops::broadcast_strides(spec.shape(1), spec.outputs[0].shape)})) {}

  void run(const KernelArgs& args) const override {
    const float *a = args.input(0), *b = args.input(1);
    float* y = args.output(0);
    const auto steps = walk_.steps();
    for_each_run(walk_, args.pool, [&](const std::array<int64_t, 3>& at, int64_t n) {
      loop_(a + at[1], steps[1], b + at[2], steps[2], y + at[0], n);
    });
  }

 private:
  const BinaryLoop loop_;
  const Walk<3> walk_;  // output, a, b
};

std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  // Max and Min take any number of inputs.
  if (!spec.all_of_type(DType::kF32) || spec.inputs.size() != 2) return nullptr;
  return std::make_unique<BinaryKernel>(spec, binary_loop(spec.node.op));
}

}  // namespace

std::vector<Provider> binary_kernels() {
  std::vector<Provider> all;
  for (const Operator* op : vector_pairs()) all.push_back({op, "vector", make});
  return all;
}

}  // namespace shoal::cpu
