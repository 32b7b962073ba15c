// Concat and Split. Along the axis that is joined or split, a part of the whole is a row: all axes
// after it are contiguous, and all axes before it count rows.
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/movement/movement.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::cpu {
namespace {

// The rows of the whole, and of each of its parts.
class JoinKernel : public Kernel {
 public:
  explicit JoinKernel(const KernelSpec& spec, const TensorType& whole)
      : axis_(ops::axis_in(spec.node.integer("axis", 0), whole.shape.rank())),
        rows_(whole.shape.count(0, axis_)),
        stride_(row_bytes(whole)) {}

 protected:
  int64_t row_bytes(const TensorType& type) const {
    return type.shape.count(axis_, type.shape.rank()) * static_cast<int64_t>(size_of(type.dtype));
  }

  const size_t axis_;
  const int64_t rows_, stride_;
};

class ConcatKernel : public JoinKernel {
 public:
  explicit ConcatKernel(const KernelSpec& spec) : JoinKernel(spec, spec.outputs[0]) {}

  void run(const KernelArgs& args) const override {
    std::byte* to = args.outputs[0].bytes().data();
    for (const Tensor& part : args.inputs) {
      const int64_t bytes = row_bytes(part.type());
      copy_rows({part.bytes().data(), bytes}, {to, stride_}, rows_, bytes, args.pool);
      to += bytes;
    }
  }
};

class SplitKernel : public JoinKernel {
 public:
  explicit SplitKernel(const KernelSpec& spec) : JoinKernel(spec, spec.inputs[0].type) {}

  void run(const KernelArgs& args) const override {
    const std::byte* from = args.inputs[0].bytes().data();
    for (Tensor& part : args.outputs) {
      const int64_t bytes = row_bytes(part.type());
      copy_rows({from, stride_}, {part.bytes().data(), bytes}, rows_, bytes, args.pool);
      from += bytes;
    }
  }
};

template <class K>
std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  return std::make_unique<K>(spec);
}

}  // namespace

std::vector<Provider> join_kernels() {
  return {{&ops::concat, "rows", make<ConcatKernel>}, {&ops::split_, "rows", make<SplitKernel>}};
}

}  // namespace shoal::cpu
