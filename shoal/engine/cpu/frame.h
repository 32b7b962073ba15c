// Frame: the memory of one run of a compiled graph. Runs at the same time have a frame each.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/memory_plan.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::cpu {

// Memory aligned to kHostAlignment. It is not cleared: kernels write before they read.
struct FreeAligned {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{kHostAlignment}); }
};
using Bytes = std::unique_ptr<std::byte[], FreeAligned>;

struct Frame {
  Bytes arena, scratch;
  std::vector<Tensor> tensors;  // of all steps: see CpuExecutable
  std::vector<Tensor> moved;    // inputs of this run that lay across element boundaries
};

// Allocates arena and scratch; tensors are left to the executable. Fails with kExhausted.
Result<std::unique_ptr<Frame>> make_frame(size_t arena_bytes, size_t scratch_bytes);

// Frames that no run uses. As many are kept as runs were ever in progress at once, so that a run
// neither allocates memory nor touches new pages once that many frames exist. Thread-safe.
class FreeFrames {
 public:
  std::unique_ptr<Frame> take() {  // null: all are in use
    const std::scoped_lock lock(mutex_);
    if (frames_.empty()) return nullptr;
    std::unique_ptr<Frame> frame = std::move(frames_.back());
    frames_.pop_back();
    return frame;
  }
  void give(std::unique_ptr<Frame> frame) {
    const std::scoped_lock lock(mutex_);
    frames_.push_back(std::move(frame));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> frames_;  // the one used last at the back, warm in caches
};

}  // namespace shoal::cpu
