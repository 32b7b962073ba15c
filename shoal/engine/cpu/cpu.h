// The CPU as a Device: fast kernels where they exist, reference functions for the rest. SIMD code
// is dispatched for the processor that the program runs on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/engine/device/device.h"

#pragma GCC visibility push(default)

namespace shoal {

// Autotuning: how one of several kernels that can compute a node is chosen.
enum class Tune : uint8_t {
  kOff,   // by estimate
  kFast,  // by measuring those whose estimates are close
  kFull,  // by measuring all
};

// Whether weights may be kept in a faster form that is larger than the model's.
enum class Memory : uint8_t { kPlenty, kLow };

// How to use the CPU.
struct CpuOptions {
  int threads = 0;   // including the caller's; 0: one per core
  bool pin = false;  // pin each thread but the caller's to a core
  // Below 1, each run uses a single thread that rests between nodes: a device as fast as this part
  // of a core.
  double share = 1;
  Tune tune = Tune::kOff;           // how kernels are chosen
  Memory memory = Memory::kPlenty;  // for packed weights
  bool remember = false;            // keep timings in a file of the user's cache folder
  // File that keeps the packed weights of one model for the next start. Empty: none. If it cannot
  // be read or written, weights are packed at every start.
  std::filesystem::path packed = {};
  std::string prefer = {};  // kernel to use wherever it fits; for tests and benchmarks
};

// A CPU with its own threads, which wait while nothing runs. Its executables may outlive it.
// REQUIRES: threads >= 0, 0 < share <= 1.
//
// Thread-safe. Several threads may compile at once, but kernels are chosen by one of them at a
// time: two kernels that are timed at once would slow each other down.
//
// The threads are shared by all runs of all its executables: a run that finds them busy computes on
// its caller's thread alone, so that N callers keep N cores busy without waiting for each other.
// Each run in progress has its own arena (Executable::memory()), kept for the next run.
std::unique_ptr<Device> make_cpu_device(const CpuOptions& options = {});

// Names of the kernels for an operator ("gemv", "gemm"), without the reference, in order of
// preference if costs do not decide.
std::vector<std::string_view> cpu_kernels_of(const Operator& op);

}  // namespace shoal

#pragma GCC visibility pop
