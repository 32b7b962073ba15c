// Element-wise operators with one input.
#include "shoal/engine/cpu/elementwise/elementwise.h"
#include "shoal/engine/cpu/kernel.h"

namespace shoal::cpu {
namespace {

class UnaryKernel : public RectangleKernel {
 public:
  explicit UnaryKernel(const Function& function) : function_(function) {}

  void run(const KernelArgs& args) const override {
    constexpr int64_t kElements = 16384;  // worth waking a thread for
    args.pool.parallel_ranges(args.outputs[0].count(), kElements, [&](int64_t begin, int64_t end) {
      function_(args.input(0) + begin, args.output(0) + begin, end - begin);
    });
  }

  void run_in(const KernelArgs& args, std::span<const Rectangle> where) const override {
    const Shape& shape = args.outputs[0].shape();
    const int64_t width = shape[3], inner = shape.count(4, shape.rank());
    args.pool.parallel_for(shape.count(0, 2), [&](int64_t plane, int) {
      const int64_t at = plane * shape[2] * width * inner;
      for (const Rectangle& one : where) {
        for_each_line(one, width, [&](int64_t first, int64_t count) {
          const int64_t place = at + first * inner;
          function_(args.input(0) + place, args.output(0) + place, count * inner);
        });
      }
    });
  }

 private:
  const Function function_;
};

std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  if (!spec.all_of_type(DType::kF32)) return nullptr;
  const auto activation = ops::as_activation(spec.node, spec.inputs);
  return activation ? std::make_unique<UnaryKernel>(function_of(*activation)) : nullptr;
}

}  // namespace

std::vector<Provider> unary_kernels() {
  std::vector<Provider> all;
  for (const Operator* op : vector_functions()) all.push_back({op, "vector", make});
  return all;
}

}  // namespace shoal::cpu
