// Element-wise operators with two inputs that broadcast: runs of a Walk, in which each operand is
// contiguous or a single repeated element.
#include "shoal/engine/cpu/elementwise/elementwise.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/movement/movement.h"

namespace shoal::cpu {
namespace {

class BinaryKernel : public RectangleKernel {
 public:
  BinaryKernel(const KernelSpec& spec, BinaryLoop loop)
      : loop_(loop),
        shape_(spec.outputs[0].shape),
        strides_{ops::strides_of(shape_), ops::broadcast_strides(spec.shape(0), shape_),
                 ops::broadcast_strides(spec.shape(1), shape_)},
        all_{make_walk<3>(shape_, strides_), {}} {}

  void run(const KernelArgs& args) const override { run_part(args, all_); }

  void run_in(const KernelArgs& args, std::span<const Rectangle> where) const override {
    for (const Rectangle& one : where) run_part(args, part_in<3>(one, shape_, strides_));
  }

 private:
  void run_part(const KernelArgs& args, const Part<3>& part) const {
    const float *a = args.input(0) + part.first[1], *b = args.input(1) + part.first[2];
    float* y = args.output(0) + part.first[0];
    const auto steps = part.walk.steps();
    for_each_run(part.walk, args.pool, [&](const std::array<int64_t, 3>& at, int64_t n) {
      loop_(a + at[1], steps[1], b + at[2], steps[2], y + at[0], n);
    });
  }

  const BinaryLoop loop_;
  const Shape shape_;
  const std::array<ops::Strides, 3> strides_;  // output, a, b
  const Part<3> all_;
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
