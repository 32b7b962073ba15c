// Kernel: how the CPU computes one node, and the table of providers that make kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "shoal/base/threads/thread_pool.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/cpu/rectangle.h"
#include "shoal/model/graph/graph.h"

namespace shoal::cpu {

class PackedCache;

// Arguments of a run. Inputs that the node does not have are undefined. Constants are passed too,
// even if the kernel has packed them; reading them then may fault pages back in from the model
// file.
struct KernelArgs {
  std::span<const Tensor> inputs;
  std::span<Tensor> outputs;
  std::byte* scratch;  // scratch_bytes() long, aligned to a cache line, contents unspecified
  ThreadPool& pool;

  bool has(size_t i) const { return i < inputs.size() && inputs[i].defined(); }
  template <class T = float>
  const T* input(size_t i) const {
    return has(i) ? inputs[i].data<T>().data() : nullptr;
  }
  template <class T = float>
  T* output(size_t i) const {
    return outputs[i].data<T>().data();
  }
};

// A kernel is immutable: run() is called by several threads at once, each with its own scratch.
// Output 0 may share memory with input 0 if the operator is `in_place`. Kernels do not outlive the
// graph and the constants of their executable.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const KernelArgs& args) const = 0;
  virtual size_t scratch_bytes() const { return 0; }
};

// A node as seen by providers. Valid only while the kernel is made.
struct KernelSpec {
  const Node& node;
  std::span<const Operand> inputs;
  std::span<const TensorType> outputs;
  ThreadPool& pool;
  Memory memory = Memory::kPlenty;
  PackedCache* cache = nullptr;  // of packed weights; null: none

  bool given(size_t i) const { return i < inputs.size() && inputs[i].given; }
  const Tensor* constant(size_t i) const { return given(i) ? inputs[i].value : nullptr; }
  const Shape& shape(size_t i) const { return inputs[i].type.shape; }
  // True if every input given and every output has elements of this type.
  bool all_of_type(DType dtype) const;
};

struct Provider {
  const Operator* op;
  std::string_view name;
  std::unique_ptr<Kernel> (*make)(const KernelSpec&);  // null: does not fit the node
  // Estimated cost in multiply-accumulates; infinity if make() would return null. Providers with a
  // cost compete with each other (tune.h).
  double (*cost)(const KernelSpec&) = nullptr;
};

// All providers, in the order of list.inc. Providers with a cost for a node compete; if there is
// none, the first that makes a kernel wins. Thread-safe.
std::span<const Provider> providers();

// Fallback that every operator has: its reference function, on one thread.
std::unique_ptr<Kernel> make_reference_kernel(const KernelSpec& spec);

#define SHOAL_KERNELS(family) std::vector<Provider> family##_kernels();
#include "shoal/engine/cpu/list.inc"
#undef SHOAL_KERNELS

// RectangleKernel: a kernel that can leave out parts of its output.
class RectangleKernel : public Kernel {
 public:
  // Rows and columns of the output that are computed together.
  virtual int64_t granule() const { return 1; }
  // Computes only the pixels in these rectangles of output 0; the others do not change. Results are
  // run()'s bit by bit if rectangles begin and end at multiples of granule() or at the end of the
  // plane; otherwise pixels may be rounded differently. A rectangle costs as much as one rounded up
  // to multiples of granule(). REQUIRES: rectangles are disjoint and not empty.
  virtual void run_in(const KernelArgs& args, std::span<const Rectangle> where) const = 0;
};

}  // namespace shoal::cpu
