// Trial: made-up tensors for a node, and the times that kernels take with them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/engine/cpu/kernel.h"

namespace shoal::cpu {

// A tensor to time kernels with. Times do not depend on elements, as long as those are neither all
// zero nor denormal.
Tensor made_up(const TensorType& type);

// Not thread-safe.
class Trial {
 public:
  // Touches `others` before each run, as the other nodes of the network touch their memory between
  // two runs of this one. REQUIRES: others is not empty; it outlives the trial.
  Trial(const KernelSpec& spec, std::span<uint8_t> others);

  // The time of one run.
  double microseconds(const Kernel& kernel, ThreadPool& pool);

 private:
  void prepare_caches();

  ThreadPool& all_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<bool> is_constant_;
  std::vector<std::byte> scratch_;
  std::span<uint8_t> others_;
};

}  // namespace shoal::cpu
