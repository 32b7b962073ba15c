// KeptValues: the values of a network on a CPU, kept between runs, so that nodes can be run one by
// one.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/cpu/executable.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::delta {

// Elements are unspecified, except those of constants.
class KeptValues {
 public:
  Tensor& at(ValueId id) { return values_[static_cast<size_t>(id)]; }

  // Binds a value to this tensor's memory: inputs are read from it, other values written to it.
  // REQUIRES: the tensor has the value's type and outlives the steps that use it.
  void bind(ValueId id, const Tensor& tensor);

  // What the kernel of a step reads and writes.
  cpu::KernelArgs args_of(const cpu::CpuExecutable::Step& step);

 private:
  friend Result<KeptValues> keep_values(const cpu::CpuExecutable& executable);

  std::vector<Tensor> values_;         // by id
  std::unique_ptr<cpu::Frame> frame_;  // their memory, and the tensors of all steps
  std::vector<ValueId> ids_;           // of these tensors
};

// Allocates all values, one after the other. Fails with kExhausted. REQUIRES: `executable` outlives
// the result.
Result<KeptValues> keep_values(const cpu::CpuExecutable& executable);

}  // namespace shoal::delta
