// Operators that give the same elements another shape. Mostly they run in place and have nothing to
// do; they copy where the elements are an input of the graph, or are read again.
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/movement/movement.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

class CopyKernel : public Kernel {
 public:
  void run(const KernelArgs& args) const override {
    const std::span<const std::byte> x = args.inputs[0].bytes();
    std::byte* y = args.outputs[0].bytes().data();
    if (x.data() != y) copy_rows({x.data(), 0}, {y, 0}, 1, std::ssize(x), args.pool);
  }
};

std::unique_ptr<Kernel> make(const KernelSpec&) { return std::make_unique<CopyKernel>(); }

}  // namespace

std::vector<Provider> reshape_kernels() {
  std::vector<Provider> all;
  for (const Operator* op : {&ops::reshape, &ops::flatten, &ops::squeeze, &ops::unsqueeze}) {
    all.push_back({op, "copy", make});
  }
  return all;
}

}  // namespace shoal::cpu
