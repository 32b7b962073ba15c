// Element-wise operators of one input.
#include "shoal/cpu/elementwise/function.h"
#include "shoal/cpu/kernel.h"
#include "shoal/ops/ops.h"

namespace shoal::cpu {
namespace {

class UnaryKernel : public Kernel {
 public:
  explicit UnaryKernel(const Function& function) : function_(function) {}

  void run(const KernelArgs& call) const override {
    constexpr int64_t kElements = 16384;  // that are worth waking a thread
    call.pool.parallel_ranges(call.outputs[0].count(), kElements, [&](int64_t begin, int64_t end) {
      function_(call.input(0) + begin, call.output(0) + begin, end - begin);
    });
  }

 private:
  const Function function_;
};

template <Function (*kFunction)()>
std::unique_ptr<Kernel> make(const KernelSpec& site) {
  if (!site.all_of_type(DType::kF32)) return nullptr;
  return std::make_unique<UnaryKernel>(kFunction());
}

std::unique_ptr<Kernel> make_activation(const KernelSpec& site) {
  if (!site.all_of_type(DType::kF32)) return nullptr;
  const auto activation = ops::as_activation(site.node, site.inputs);
  return activation ? std::make_unique<UnaryKernel>(function_of(*activation)) : nullptr;
}

}  // namespace

std::vector<Provider> unary_kernels() {
  std::vector<Provider> all = {{&ops::abs, "vector", make<abs_function>},
                               {&ops::erf, "vector", make<erf_function>},
                               {&ops::exp, "vector", make<exp_function>},
                               {&ops::neg, "vector", make<neg_function>},
                               {&ops::sqrt, "vector", make<sqrt_function>}};
  for (const Operator* op :
       {&ops::clip, &ops::gelu, &ops::hard_sigmoid, &ops::hard_swish, &ops::leaky_relu, &ops::relu,
        &ops::sigmoid, &ops::swish, &ops::tanh}) {
    all.push_back({op, "vector", make_activation});
  }
  return all;
}

}  // namespace shoal::cpu
