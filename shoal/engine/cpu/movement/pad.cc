// Pad with a constant. The output is filled, then the elements that are kept are copied in runs as
// long as both sides allow. Runs may be strided, because the gradient of a Slice with steps sets
// single elements apart. Negative pads cut elements off.
#include <algorithm>

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/movement/movement.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

// The box of x that y keeps, and where it begins in both.
struct Kept {
  Shape shape;
  int64_t from = 0, to = 0;
};

Kept kept_of(const Shape& x, const Shape& y, std::span<const int64_t> pads) {
  const ops::Strides x_strides = ops::strides_of(x), y_strides = ops::strides_of(y);
  Kept kept;
  for (size_t d = 0; d < x.rank(); ++d) {
    const int64_t begin = pads[d], end = pads[x.rank() + d];
    kept.shape.push_back(x[d] + std::min<int64_t>(begin, 0) + std::min<int64_t>(end, 0));
    kept.from += std::max<int64_t>(-begin, 0) * x_strides[d];
    kept.to += std::max<int64_t>(begin, 0) * y_strides[d];
  }
  return kept;
}

class PadKernel : public Kernel {
 public:
  PadKernel(const KernelSpec& spec, const Kept& kept)
      : kept_(kept),
        fills_(kept.shape.count() < spec.outputs[0].shape.count()),
        walk_(make_walk<2>(
            kept.shape, {ops::strides_of(spec.outputs[0].shape), ops::strides_of(spec.shape(0))})) {
  }

  void run(const KernelArgs& args) const override {
    constexpr int64_t kElements = 16384;  // worth waking a thread for
    float* y = args.output(0);
    if (fills_) {
      const float value = args.has(2) ? *args.input(2) : 0;
      args.pool.parallel_ranges(
          args.outputs[0].count(), kElements,
          [&](int64_t begin, int64_t end) { std::fill(y + begin, y + end, value); });
    }
    copy_runs(walk_, args.pool, args.input(0) + kept_.from, y + kept_.to);
  }

 private:
  const Kept kept_;
  const bool fills_;
  const Walk<2> walk_;  // y, x
};

std::unique_ptr<Kernel> make_pad(const KernelSpec& spec) {
  constexpr size_t kPads = 1, kAxes = 3;
  const bool fits = spec.inputs[0].type.dtype == DType::kF32 && spec.constant(kPads) != nullptr &&
                    spec.constant(kPads)->dtype() == DType::kI64 && !spec.given(kAxes) &&
                    spec.node.text("mode", "constant") == "constant";
  if (!fits) return nullptr;
  const Kept kept =
      kept_of(spec.shape(0), spec.outputs[0].shape, spec.constant(kPads)->data<int64_t>());
  const bool some = std::ranges::all_of(kept.shape, [](int64_t size) { return size > 0; });
  return some ? std::make_unique<PadKernel>(spec, kept) : nullptr;
}

}  // namespace

std::vector<Provider> pad_kernels() { return {{&ops::pad_, "runs", make_pad}}; }

}  // namespace shoal::cpu
