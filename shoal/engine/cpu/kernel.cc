// The table of kernels, collected from list.inc, and the reference kernel.
#include "shoal/engine/cpu/kernel.h"

#include <algorithm>

namespace shoal::cpu {
namespace {

class ReferenceKernel : public Kernel {
 public:
  explicit ReferenceKernel(const Node& node) : node_(node) {}
  void run(const KernelArgs& args) const override {
    node_.op->reference(node_, args.inputs, args.outputs);
  }

 private:
  const Node& node_;  // the executable keeps the graph
};

std::vector<Provider> collect() {
  std::vector<Provider> all;
  auto append = [&](const std::vector<Provider>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
#define SHOAL_KERNELS(family) append(family##_kernels());
#include "shoal/engine/cpu/list.inc"
#undef SHOAL_KERNELS
  return all;
}

}  // namespace

bool KernelSpec::all_of_type(DType dtype) const {
  return std::ranges::all_of(inputs,
                             [&](const Operand& o) { return !o.given || o.type.dtype == dtype; }) &&
         std::ranges::all_of(outputs, [&](const TensorType& t) { return t.dtype == dtype; });
}

std::span<const Provider> providers() {
  static const std::vector<Provider> all = collect();
  return all;
}

std::unique_ptr<Kernel> make_reference_kernel(const KernelSpec& spec) {
  return std::make_unique<ReferenceKernel>(spec.node);
}

}  // namespace shoal::cpu
