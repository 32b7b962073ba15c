// SoftmaxCrossEntropyLoss of [samples, classes] with reduction "mean":
//   loss = mean over samples of (log(sum of exp(x - top)) + top - x[target]), top = max(x)
#include <algorithm>
#include <cmath>
#include <optional>

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/reduce/rows.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

class CrossEntropyKernel : public Kernel {
 public:
  explicit CrossEntropyKernel(const KernelSpec& spec)
      : samples_(spec.shape(0)[0]), classes_(spec.shape(0)[1]) {
    if (spec.node.has("ignore_index")) ignored_ = spec.node.integer("ignore_index", 0);
  }

  // On one thread: the loss is little work beside the network before it.
  void run(const KernelArgs& args) const override {
    const auto targets = args.inputs[1].data<int64_t>();
    auto* row = reinterpret_cast<float*>(args.scratch);
    double loss = 0, counted = 0;
    for (int64_t i = 0; i < samples_; ++i) {
      const int64_t target = targets[static_cast<size_t>(i)];
      // Samples with the index to ignore, or without a valid class, do not count.
      if (target == ignored_ || target < 0 || target >= classes_) continue;
      loss += loss_of(args.input(0) + i * classes_, target, row);
      counted += 1;
    }
    *args.output(0) = static_cast<float>(loss / counted);
  }

  size_t scratch_bytes() const override { return static_cast<size_t>(classes_) * sizeof(float); }

 private:
  // -log(exp(x[target]) / sum of exp(x)). Measured from the largest element, it does not overflow.
  double loss_of(const float* x, int64_t target, float* row) const {
    SoftmaxSoFar softmax;
    std::copy_n(x, classes_, row);
    softmax_part(row, classes_, softmax);
    return std::log(softmax.sum) + double{softmax.top} - double{x[target]};
  }

  const int64_t samples_, classes_;
  std::optional<int64_t> ignored_;
};

std::unique_ptr<Kernel> make_cross_entropy(const KernelSpec& spec) {
  const bool fits = spec.inputs[0].type.dtype == DType::kF32 && spec.shape(0).rank() == 2 &&
                    spec.inputs[1].type.dtype == DType::kI64 && !spec.given(2) &&
                    spec.outputs.size() == 1 && spec.node.text("reduction", "mean") == "mean";
  return fits ? std::make_unique<CrossEntropyKernel>(spec) : nullptr;
}

}  // namespace

std::vector<Provider> loss_kernels() {
  return {{&ops::softmax_cross_entropy_loss, "rows", make_cross_entropy}};
}

}  // namespace shoal::cpu
