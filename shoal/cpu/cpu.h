// The CPU as a Device: fast kernels where there are some, reference functions for the rest. SIMD
// code is chosen for the processor the program runs on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/device/device.h"

#pragma GCC visibility push(default)

namespace shoal {

// How kernels that compete for a node are chosen.
enum class Tune : uint8_t {
  kOff,   // by estimate
  kFast,  // by measuring those whose estimates are close
  kFull,  // by measuring all
};

// Whether weights may be kept in a form that is faster but larger than the model's.
enum class Memory : uint8_t { kPlenty, kLow };

// How to use the CPU.
struct CpuOptions {
  int threads = 0;   // including the caller's; 0: one per core
  bool pin = false;  // keep each thread but the caller's on a core of its own
  // Below 1, each run uses a single thread that rests between nodes: a device as fast as this part
  // of a core.
  double share = 1;
  Tune tune = Tune::kOff;           // how kernels are chosen
  Memory memory = Memory::kPlenty;  // what weights may take
  bool remember = false;            // what was measured, in a file of the user's cache folder
  // Where packed weights are kept for the next start: a file for one model. Empty: nowhere.
  std::filesystem::path packed = {};
  std::string prefer =
      {};  // the kernel of this name wherever there is one; for tests and comparisons
};

// A CPU with threads of its own, which wait while nothing runs. What it compiles may outlive it.
// REQUIRES: threads >= 0, 0 < share <= 1.
//
// The threads are shared by all runs of all its executables: a run that finds them busy computes on
// its caller's thread alone, so that N callers keep N cores busy without waiting for each other.
// Each run in progress has an arena of its own (Executable::memory()), kept for the next one.
std::unique_ptr<Device> make_cpu_device(const CpuOptions& options = {});

// What was measured of a kernel and of the next best when it was chosen.
struct KernelTiming {
  double microseconds = 0;
  std::string runner_up = {};
  double runner_up_microseconds = 0;
};

// Of a node of an executable's graph(). Null where nothing was measured, or where no CPU device
// has compiled the executable.
const KernelTiming* cpu_timing_of(const Executable& executable, size_t node);

// The kernels there are for an operator, best first, without the reference: "gemv", "gemm".
std::vector<std::string_view> cpu_kernels_of(const Operator& op);

}  // namespace shoal

#pragma GCC visibility pop
