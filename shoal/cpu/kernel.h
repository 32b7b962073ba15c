// Kernel: how the CPU computes one node. The table lists who can make one for which operator.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "shoal/base/thread_pool.h"
#include "shoal/cpu/cpu.h"
#include "shoal/graph/graph.h"

namespace shoal::cpu {

class PackedCache;

// What a kernel gets when it runs. Inputs not given are undefined; constants are there too, even
// if the kernel has packed them.
struct KernelArgs {
  std::span<const Tensor> inputs;
  std::span<Tensor> outputs;
  std::byte* scratch;  // scratch_bytes() of it, aligned to a cache line
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

// Where operators say `in_place`, output 0 may lie where input 0 lies.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const KernelArgs& call) const = 0;
  virtual size_t scratch_bytes() const { return 0; }
};

// What is known of a node when its kernel is made.
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
  std::unique_ptr<Kernel> (*make)(const KernelSpec&);  // gives null: not for this node
  // About how many products the kernel takes as long as; infinite where make() gives null. Those
  // who say so compete with each other.
  double (*cost)(const KernelSpec&) = nullptr;
};

// Several may offer the same operator: those that compete are measured (tune.h); where none does,
// the first that makes a kernel wins.
std::span<const Provider> providers();

// The fallback that every operator has.
std::unique_ptr<Kernel> make_reference_kernel(const KernelSpec& site);

#define SHOAL_KERNELS(family) std::vector<Provider> family##_kernels();
#include "shoal/cpu/list.inc"
#undef SHOAL_KERNELS

}  // namespace shoal::cpu
