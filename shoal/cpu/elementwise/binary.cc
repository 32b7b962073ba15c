// Element-wise operators with two inputs that broadcast: runs of a Walk, in which each operand is
// contiguous or a single repeated element.
#include "shoal/cpu/elementwise/binary.h"

#include "shoal/cpu/kernel.h"
#include "shoal/cpu/movement/strided.h"

namespace shoal::cpu {
namespace {

class BinaryKernel : public Kernel {
 public:
  BinaryKernel(const KernelSpec& site, BinaryLoop loop)
      : loop_(loop),
        walk_(make_walk<3>(site.outputs[0].shape,
                           {ops::strides_of(site.outputs[0].shape),
                            ops::broadcast_strides(site.shape(0), site.outputs[0].shape),
                            ops::broadcast_strides(site.shape(1), site.outputs[0].shape)})) {}

  void run(const KernelArgs& call) const override {
    const float *a = call.input(0), *b = call.input(1);
    float* y = call.output(0);
    const auto steps = walk_.steps();
    for_each_run(walk_, call.pool, [&](const std::array<int64_t, 3>& at, int64_t n) {
      loop_(a + at[1], steps[1], b + at[2], steps[2], y + at[0], n);
    });
  }

 private:
  const BinaryLoop loop_;
  const Walk<3> walk_;  // output, a, b
};

std::unique_ptr<Kernel> make(const KernelSpec& site) {
  // Max and Min take any number of inputs.
  if (!site.all_of_type(DType::kF32) || site.inputs.size() != 2) return nullptr;
  return std::make_unique<BinaryKernel>(site, binary_loop(site.node.op));
}

}  // namespace

std::vector<Provider> binary_kernels() {
  std::vector<Provider> all;
  for (const Operator* op : vector_pairs()) all.push_back({op, "vector", make});
  return all;
}

}  // namespace shoal::cpu
