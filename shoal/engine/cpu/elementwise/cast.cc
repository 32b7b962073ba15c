// Cast between floats and bfloat16, in which training may keep activations.
#include "shoal/model/ops/elementwise/cast.h"

#include "shoal/engine/cpu/elementwise/elementwise.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

// From and To are types of the size of the elements: bfloat16 is handled as bits.
template <class From, class To>
class CastKernel : public Kernel {
 public:
  using Loop = void (*)(const From* x, To* y, int64_t n);
  explicit CastKernel(Loop loop) : loop_(loop) {}

  void run(const KernelArgs& args) const override {
    constexpr int64_t kElements = 16384;  // worth waking a thread for
    const auto* x = reinterpret_cast<const From*>(args.inputs[0].bytes().data());
    auto* y = reinterpret_cast<To*>(args.outputs[0].bytes().data());
    args.pool.parallel_ranges(args.outputs[0].count(), kElements, [&](int64_t begin, int64_t end) {
      loop_(x + begin, y + begin, end - begin);
    });
  }

 private:
  const Loop loop_;
};

std::unique_ptr<Kernel> make_cast(const KernelSpec& spec) {
  const DType from = spec.inputs[0].type.dtype, to = spec.outputs[0].dtype;
  if (from == DType::kF32 && to == DType::kBF16) {
    return std::make_unique<CastKernel<float, uint16_t>>(
        ops::rounds_to_nearest(spec.node) ? round_to_bfloat16() : truncate_to_bfloat16());
  }
  if (from == DType::kBF16 && to == DType::kF32) {
    return std::make_unique<CastKernel<uint16_t, float>>(widen_bfloat16());
  }
  return nullptr;
}

}  // namespace

std::vector<Provider> cast_kernels() { return {{&ops::cast, "vector", make_cast}}; }

}  // namespace shoal::cpu
